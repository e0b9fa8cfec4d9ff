// Losses and metrics of a training job's entry, behind the model.
#ifndef COMPILER_IMPORT_OBJECTIVE_H
#define COMPILER_IMPORT_OBJECTIVE_H

#include "compiler/import/Import.h"
#include "compiler/import/Teachers.h"

namespace gradc {

/// The values of the graph that losses and metrics look at, each with its place in the spec.
struct NamedOutput {
  std::string name;
  mlir::Location where;
};
/// The outputs that a step's losses and metrics read, or an evaluation by the step's losses.
llvm::SmallVector<NamedOutput> outputsOf(const SpecFile &spec, const StepSpec &step);

/// Result 0 is the loss, the metrics follow. A `train` block's steps have none. Teachers are those
/// of training steps by the spec's own losses.
mlir::LogicalResult buildObjective(SpecValues &values, Teachers &teachers);

/// Adds the spec's regularizers to the losses of the training entries. Fails (said) for a pattern
/// that names no parameter.
mlir::LogicalResult addRegularizers(Imported &imported, const States &states, const SpecFile &spec);

} // namespace gradc

#endif
