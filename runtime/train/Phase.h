// Training or evaluation: a data set, the entry for its batches and, if that takes no smaller ones,
// the entry for the last batch.
#ifndef RUNTIME_TRAIN_PHASE_H
#define RUNTIME_TRAIN_PHASE_H

#include "runtime/train/EntryCall.h"
#include "runtime/train/Job.h"

namespace gradc::runtime {

struct Phase {
  Session *session = nullptr; ///< outlives it
  std::shared_ptr<const Dataset> dataset;
  std::unique_ptr<EntryCall> whole, tail; ///< null: there is no smaller batch

  /// `name` is "train" or "evaluate".
  static Result<Phase> make(Session &session, std::string_view name, Config data, const Job &job);
  EntryCall &callFor(const Batch &batch) const {
    return tail && batch.rows != whole->batchSize() ? *tail : *whole;
  }
};

/// The first number of a batch that is not finite: "row 3 of 'x.npy', field 'x', has nan"; "": all
/// are.
std::string findNonFiniteData(const Phase &phase, const Batch &batch);

/// Over all rows of a data set: the loss first, then the metrics. Fails for data that are not
/// finite.
Result<std::vector<Metric>> evaluate(const Phase &phase, uint64_t seed);

} // namespace gradc::runtime

#endif
