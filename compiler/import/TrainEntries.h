// The training entries of a job: each kind of step in each of its phases, and what they train.
#ifndef COMPILER_IMPORT_TRAINENTRIES_H
#define COMPILER_IMPORT_TRAINENTRIES_H

#include "compiler/import/Groups.h"

namespace gradc {

struct TrainEntry {
  StepSpec step;
  /// It is for steps up to this one, in which groups are frozen that are so for as many or more. 0:
  /// nothing is frozen any more.
  int64_t until = 0;

  /// "train", "train.critic", "train.critic.until.1000"
  std::string name() const;
};

/// The entry for batches of rows of up to this length: "train.length.16".
std::string lengthTwin(llvm::StringRef entry, int64_t length);

/// In the order of steps and phases. `groups` have been resolved.
llvm::SmallVector<TrainEntry> trainEntries(const SpecFile &spec, const OnnxModel &model,
                                           const Groups &groups);

/// Reports patterns of `trains` that name no initializer.
mlir::LogicalResult checkTrains(const SpecFile &spec, const OnnxModel &model);

/// Tells the passes how a step limits gradients, updates parameters and averages them.
void describeUpdate(mlir::func::FuncOp train, const spec::Training &training, const StepSpec &step);

/// Whether steps have a twin that returns gradients of what is watched, "train.watch".
bool watchesGradients(const spec::Training &training);

/// Decides which parameters train, those that the losses of a step depend on which trains them, and
/// tells the entries and the verdicts. Fails where an entry is left with none.
mlir::LogicalResult decideTraining(Imported &imported, const States &states, const SpecFile &spec,
                                   const Groups &groups, llvm::ArrayRef<TrainEntry> entries);

} // namespace gradc

#endif
