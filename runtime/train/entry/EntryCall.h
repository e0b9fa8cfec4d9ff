// An entry of the artifact with bound ports: data from a batch, scalars, and memory for results.
#ifndef RUNTIME_TRAIN_ENTRY_ENTRYCALL_H
#define RUNTIME_TRAIN_ENTRY_ENTRYCALL_H

#include "runtime/core/NonFinite.h"
#include "runtime/core/Session.h"
#include "runtime/data/Dataset.h"
#include "runtime/train/entry/EntryMetrics.h"
#include "runtime/train/entry/StepPorts.h"

namespace gradc::runtime {

/// The entry's requirements on the data set, one demand per data input.
std::vector<Demand> demandsOf(const Artifact &artifact, const gradc_artifact_entry &entry);

/// The address of a scalar input of the step; null if the port is data or the session's.
const void *scalarInput(const Artifact &artifact, const gradc_artifact_entry &entry,
                        const gradc_artifact_port &port, StepPorts &ports);

class EntryCall {
public:
  /// The gradient of a parameter.
  struct Gradient {
    std::string_view parameter;
    std::vector<float> values;
  };

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
  /// The two halves of a run, as in a session. The batch must stay until `finish` has returned.
  /// `prefetched`: the inputs of this batch that were copied ahead.
  Status start(const Batch &batch, const StepScalars &scalars, PrefetchedInputs prefetched);
  Status finish();
  /// Called between the halves: copies the inputs of the next run ahead.
  Result<PrefetchedInputs> prefetch(const Batch &next);
  /// Replays the last run.
  Result<NonFinite> findNonFinite() {
    return gradc::runtime::findNonFinite(session, entry, inputs, rows);
  }

  float loss() const { return ports.loss; }
  std::optional<float> gradientNorm() const { return ports.gradientNorm(); }
  std::span<const Metric> metrics() const { return results.metrics(); }
  const EntryMetrics &metricResults() const { return results; }
  /// The gradients that a watching entry returns; empty for other entries.
  std::span<const Gradient> gradients() const { return theGradients; }
  /// False if the loss or gradient is not finite, so that the update was skipped.
  bool proceeded() const { return ports.proceeded(); }

private:
  EntryCall(Session &session, const gradc_artifact_entry &entry)
      : session(session), entry(entry), results(session.artifact(), entry) {}

  struct DataInput {
    size_t port, field;
  };

  Session &session;
  const gradc_artifact_entry &entry;
  std::vector<const void *> inputs, nextInputs;
  int64_t rows = 0; ///< of the last run
  std::vector<void *> outputs;
  std::vector<DataInput> dataInputs;
  StepPorts ports;
  EntryMetrics results;
  std::vector<Gradient> theGradients;
};

} // namespace gradc::runtime

#endif
