// A training step shared by ranks, and its differences from a step of one process.
#ifndef COMPILER_IMPORT_JOB_DISTRIBUTION_H
#define COMPILER_IMPORT_JOB_DISTRIBUTION_H

#include "compiler/import/spec/TrainingSpec.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace gradc {

/// Whether ranks share the rows of each batch.
bool sharesRows(const spec::Distribution &distribution);

/// Reports errors in the block and returns false if there are any. `batch`: rows of a step.
bool checkDistribution(const SpecFile &spec, int64_t batch);

/// Tells the passes that ranks share the function's batch or its products, where the spec says so.
void setRanks(mlir::func::FuncOp function, const SpecFile &spec);

/// Emits remarks, at the block, on results of a finished step that differ from those of one
/// process.
void remarkOnRanks(mlir::func::FuncOp function, const SpecFile &spec);

} // namespace gradc

#endif
