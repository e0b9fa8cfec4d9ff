// Training or evaluation: a data set, and the entries for its batches.
#ifndef RUNTIME_TRAIN_LOOP_PHASE_H
#define RUNTIME_TRAIN_LOOP_PHASE_H

#include "runtime/train/entry/EntryCall.h"
#include "runtime/train/job/Job.h"

namespace gradc::runtime {

struct Phase {
  /// An entry and, if it does not accept smaller batches, the one for the last batch.
  struct Calls {
    std::unique_ptr<EntryCall> whole, tail; ///< null: there is no smaller batch
    /// For batches of each length except the longest, if batches are made by length.
    std::vector<std::unique_ptr<EntryCall>> shorter;
  };

  Session *session = nullptr; ///< outlives it
  std::shared_ptr<const Dataset> dataset;
  std::vector<Calls> entries;
  std::string set; ///< of the evaluation, whose data these are; "": none

  /// `data`: the job's block for training or for evaluations. All entries use the same batches.
  /// `set`: the set of the evaluation that has the data; "": none.
  static Result<Phase> make(Session &session, std::span<const std::string> names, Config data,
                            const Job &job, std::string_view set = {});
  /// The entry that takes the batches of a set; null if the artifact has none.
  static const gradc_artifact_entry *entryOf(const Session &session, const std::string &name,
                                             std::string_view set);
  EntryCall &callFor(const Batch &batch, size_t entry) const {
    const auto &[whole, tail, shorter] = entries[entry];
    if (batch.bucket < shorter.size())
      return *shorter[batch.bucket];
    return tail && batch.rows != whole->batchSize() ? *tail : *whole;
  }
};

/// Makes the data of a block for the use described by its context.
Result<std::shared_ptr<const Dataset>> makeData(Session &session, Config data, DataContext context);

/// The first non-finite number of a batch: "row 3 of 'x.npy', field 'x', has nan"; "" if all are
/// finite.
std::string findNonFiniteData(const Dataset &dataset, const Batch &batch);

/// The rows that an epoch leaves out: "3 of 43 rows, which fill no batch of 8"; "" if there are
/// none. `data`: the block of the data set.
std::string rowsLeftOut(const Dataset &dataset, Config data);

/// Evaluates all rows of a data set: the loss first, then the metrics; those of a set are named
/// "SET/loss" and so on. Fails for non-finite data.
/// Random ops draw other numbers for each batch, and the same in each evaluation.
/// `ranks`: those that share the batches; null if this process has all of them. `interrupt` may be
/// null; if it becomes a signal's number, the evaluation stops between batches, without metrics.
Result<std::vector<Metric>> evaluate(const Phase &phase, uint64_t seed, Communicator *ranks,
                                     const std::atomic<int> *interrupt);

} // namespace gradc::runtime

#endif
