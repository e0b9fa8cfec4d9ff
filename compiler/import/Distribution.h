// A training step that ranks share, and how it differs from that of one process.
#ifndef COMPILER_IMPORT_DISTRIBUTION_H
#define COMPILER_IMPORT_DISTRIBUTION_H

#include "compiler/import/spec/TrainingSpec.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace gradc {

/// Reports what the block has wrong; false then. `batch`: rows of a step.
bool checkDistribution(const SpecFile &spec, int64_t batch);

/// Tells the passes that ranks share the function's batch, where the spec says so.
void setRanks(mlir::func::FuncOp function, const SpecFile &spec);

/// Remarks, at the block, on what a finished step computes otherwise than one process would.
void remarkOnRanks(mlir::func::FuncOp function, const SpecFile &spec);

} // namespace gradc

#endif
