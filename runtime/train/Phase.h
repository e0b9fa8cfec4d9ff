// Training or evaluation: a data set, and the entries for its batches.
#ifndef RUNTIME_TRAIN_PHASE_H
#define RUNTIME_TRAIN_PHASE_H

#include "runtime/train/EntryCall.h"
#include "runtime/train/Job.h"

namespace gradc::runtime {

struct Phase {
  /// An entry and, if it takes no smaller batches, that for the last one.
  struct Calls {
    std::unique_ptr<EntryCall> whole, tail; ///< null: there is no smaller batch
    /// For batches of each length but the longest, where they are made by length.
    std::vector<std::unique_ptr<EntryCall>> shorter;
  };

  Session *session = nullptr; ///< outlives it
  std::shared_ptr<const Dataset> dataset;
  std::vector<Calls> entries;

  /// `data`: the job's for training or for evaluations. All entries take the same batches.
  static Result<Phase> make(Session &session, std::span<const std::string> names, Config data,
                            const Job &job);
  EntryCall &callFor(const Batch &batch, size_t entry) const {
    const auto &[whole, tail, shorter] = entries[entry];
    if (batch.bucket < shorter.size())
      return *shorter[batch.bucket];
    return tail && batch.rows != whole->batchSize() ? *tail : *whole;
  }
};

/// The data of a block, whose context says what it is made for.
Result<std::shared_ptr<const Dataset>> makeData(Session &session, Config data, DataContext context);

/// The first number of a batch that is not finite: "row 3 of 'x.npy', field 'x', has nan"; "": all
/// are.
std::string findNonFiniteData(const Phase &phase, const Batch &batch);

/// Over all rows of a data set: the loss first, then the metrics. Fails for data that are not
/// finite. `ranks`: which share its batches; null: this process has them alone.
Result<std::vector<Metric>> evaluate(const Phase &phase, uint64_t seed, Communicator *ranks);

} // namespace gradc::runtime

#endif
