// An entry of the artifact with its ports bound: data from a batch, scalars, and where results go.
#ifndef RUNTIME_TRAIN_ENTRYCALL_H
#define RUNTIME_TRAIN_ENTRYCALL_H

#include "runtime/core/NonFinite.h"
#include "runtime/core/Session.h"
#include "runtime/data/Dataset.h"
#include "runtime/train/Trainer.h"

#include <cmath>
#include <deque>

namespace gradc::runtime {

/// What the step takes besides data.
struct StepScalars {
  float learningRate = 0;
  int64_t step = 0; ///< from 1
  uint64_t seed = 0;
};

/// What an entry asks of the data set, one demand a data input.
std::vector<Demand> demandsOf(const Artifact &artifact, const gradc_artifact_entry &entry);

class EntryCall {
public:
  /// `demands` are the fields of the batches, in their order.
  static Result<std::unique_ptr<EntryCall>>
  bind(Session &session, const gradc_artifact_entry &entry, std::span<const Demand> demands);
  EntryCall(const EntryCall &) = delete;

  const gradc_artifact_entry &calledEntry() const { return entry; }
  int64_t batchSize() const { return entry.batch; }
  Status run(const Batch &batch, const StepScalars &scalars) {
    Status started = start(batch, scalars, {});
    return started.ok() ? finish() : started;
  }
  /// A run in halves, as a session's. The batch stays until `finish` has returned. `prefetched`:
  /// what was brought of this batch.
  Status start(const Batch &batch, const StepScalars &scalars, PrefetchedInputs prefetched);
  Status finish();
  /// Between them: brings what the next run reads of its batch.
  Result<PrefetchedInputs> prefetch(const Batch &next);
  /// Replays the last run.
  Result<NonFinite> findNonFinite() {
    return gradc::runtime::findNonFinite(session, entry, inputs);
  }

  float loss() const { return theLoss; }
  std::optional<float> gradientNorm() const {
    return hasNorm ? std::optional(theNorm) : std::nullopt;
  }
  std::span<const Metric> metrics() const { return theMetrics; }
  /// False when loss or gradient is not finite, and the update therefore was left out.
  bool proceeded() const { return proceed && std::isfinite(theLoss) && std::isfinite(theNorm); }

private:
  EntryCall(Session &session, const gradc_artifact_entry &entry) : session(session), entry(entry) {}

  /// Alone in its cache line, at which a session reads an input in place.
  struct alignas(64) Scalar {
    uint32_t role;
    union alignas(64) {
      float real;
      int32_t integer;
    };
  };
  struct DataInput {
    size_t port, field;
  };

  Session &session;
  const gradc_artifact_entry &entry;
  std::vector<const void *> inputs, nextInputs;
  std::vector<void *> outputs;
  std::vector<DataInput> dataInputs;
  std::deque<Scalar> scalars; // which never moves its elements

  float theLoss = 0, theNorm = 0;
  bool hasNorm = false;
  uint8_t proceed = 1;
  std::vector<float> metricValues;
  std::vector<Metric> theMetrics;
};

} // namespace gradc::runtime

#endif
