// The training entries of a job: one per kind of step and phase, each with the parameters it
// trains.
#ifndef COMPILER_IMPORT_JOB_TRAINENTRIES_H
#define COMPILER_IMPORT_JOB_TRAINENTRIES_H

#include "compiler/import/parameters/Groups.h"

namespace gradc {

struct TrainEntry {
  StepSpec step;
  /// The entry runs in steps up to this one. Groups that are frozen for at least this many steps
  /// are frozen in it. 0 if no group is frozen any more.
  int64_t until = 0;

  /// For example "train", "train.critic", or "train.critic.until.1000".
  std::string name() const;
};

/// The name of the entry for batches of rows up to this length: "train.length.16".
std::string lengthTwin(llvm::StringRef entry, int64_t length);

/// The entries in the order of steps and phases. `groups` must have been resolved.
llvm::SmallVector<TrainEntry> trainEntries(const SpecFile &spec, const OnnxModel &model,
                                           const Groups &groups);

/// Reports patterns of `trains` that match no initializer.
mlir::LogicalResult checkTrains(const SpecFile &spec, const OnnxModel &model);

/// Tells the passes how a step clips gradients, updates parameters, and averages them.
void describeUpdate(mlir::func::FuncOp train, const spec::Training &training, const StepSpec &step);

/// Whether steps have a twin that returns watched gradients, "train.watch".
bool watchesGradients(const spec::Training &training);

/// Decides which parameters train: those that the losses of a step that trains them depend on.
/// Records the decision in the entries and verdicts. Fails if an entry has no parameter left.
mlir::LogicalResult decideTraining(Imported &imported, const States &states, const SpecFile &spec,
                                   const Groups &groups, llvm::ArrayRef<TrainEntry> entries);

} // namespace gradc

#endif
