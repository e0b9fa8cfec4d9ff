// An entry of the artifact with bound ports: data from a batch, scalars, and room for results.
#ifndef RUNTIME_TRAIN_ENTRYCALL_H
#define RUNTIME_TRAIN_ENTRYCALL_H

#include "runtime/core/NonFinite.h"
#include "runtime/core/Session.h"
#include "runtime/data/Dataset.h"
#include "runtime/train/Trainer.h"

#include <cmath>
#include <deque>

namespace gradc::runtime {

/// The step's inputs besides data.
struct StepScalars {
  float learningRate = 0;
  int64_t step = 0; ///< from 1
  uint64_t seed = 0;
};

/// The 32 bits that random ops take as their seed. Seeds 2^32 apart give different ones, and seeds
/// below 2^32 themselves: the upper half is mixed in, 0 as 0 (MurmurHash3's last step).
constexpr int32_t randomSeed(uint64_t seed) {
  uint32_t upper = uint32_t(seed >> 32);
  upper = (upper ^ upper >> 16) * 0x85ebca6b;
  upper = (upper ^ upper >> 13) * 0xc2b2ae35;
  return int32_t(uint32_t(seed) ^ upper ^ upper >> 16);
}

/// The entry's demands on the data set, one per data input.
std::vector<Demand> demandsOf(const Artifact &artifact, const gradc_artifact_entry &entry);

class EntryCall {
public:
  /// `demands` are the fields of the batches, in order.
  static Result<std::unique_ptr<EntryCall>>
  bind(Session &session, const gradc_artifact_entry &entry, std::span<const Demand> demands);
  EntryCall(const EntryCall &) = delete;

  const gradc_artifact_entry &calledEntry() const { return entry; }
  int64_t batchSize() const { return entry.batch; }
  Status run(const Batch &batch, const StepScalars &scalars) {
    Status started = start(batch, scalars, {});
    return started.ok() ? finish() : started;
  }
  /// The two halves of a run, as in a session. The batch stays until `finish` has returned.
  /// `prefetched`: the inputs of this batch copied ahead.
  Status start(const Batch &batch, const StepScalars &scalars, PrefetchedInputs prefetched);
  Status finish();
  /// Between the halves: copies the inputs of the next run ahead.
  Result<PrefetchedInputs> prefetch(const Batch &next);
  /// Replays the last run.
  Result<NonFinite> findNonFinite() {
    return gradc::runtime::findNonFinite(session, entry, inputs, rows);
  }

  float loss() const { return theLoss; }
  std::optional<float> gradientNorm() const {
    return hasNorm ? std::optional(theNorm) : std::nullopt;
  }
  std::span<const Metric> metrics() const { return theMetrics; }
  /// False if the loss or gradient is not finite, so that the update was left out.
  bool proceeded() const { return proceed && std::isfinite(theLoss) && std::isfinite(theNorm); }

private:
  EntryCall(Session &session, const gradc_artifact_entry &entry) : session(session), entry(entry) {}

  /// In a cache line of its own, since a session reads inputs in place.
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
  int64_t rows = 0; ///< of the last run
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
