// The largest number that an integer may hold in any run.
#ifndef COMPILER_IMPORT_ONNX_OPS_UPPERBOUND_H
#define COMPILER_IMPORT_ONNX_OPS_UPPERBOUND_H

#include "dialects/grad/Grad.h"

namespace gradc {

/// The largest number that an integer scalar, or the first element of a tensor, may hold, as far as
/// its constants, minima, maxima and clamps tell, along paths of at most `depth` ops: all operands
/// of each minimum are visited.
std::optional<int64_t> upperBound(mlir::Value value, int depth = 8);

} // namespace gradc

#endif
