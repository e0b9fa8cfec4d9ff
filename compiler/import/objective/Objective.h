// Losses and metrics of a training job's entry, computed from the model's outputs.
#ifndef COMPILER_IMPORT_OBJECTIVE_OBJECTIVE_H
#define COMPILER_IMPORT_OBJECTIVE_OBJECTIVE_H

#include "compiler/import/Import.h"
#include "compiler/import/objective/Teachers.h"

namespace gradc {

/// A value of the graph that losses or metrics read, with its place in the spec.
struct NamedOutput {
  std::string name;
  mlir::Location where;
};
/// The outputs that a step reads for its losses and metrics, or an evaluation for the step's
/// losses.
llvm::SmallVector<NamedOutput> outputsOf(const SpecFile &spec, const StepSpec &step);

/// Makes the loss result 0, followed by the metrics. The steps of a `train` block have no metrics.
/// Teachers belong to the spec's own losses: in training steps and, if there are no other losses,
/// in evaluations.
mlir::LogicalResult buildObjective(SpecValues &values, Teachers &teachers);

/// Adds the spec's regularizers to the losses of the training entries. Reports a pattern that
/// matches no parameter, and fails.
mlir::LogicalResult addRegularizers(Imported &imported, const States &states, const SpecFile &spec);

} // namespace gradc

#endif
