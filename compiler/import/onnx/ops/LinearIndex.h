// Indices that count along dims: exporters of PyTorch write masks and x[arange(n), j] with them.
#ifndef COMPILER_IMPORT_ONNX_OPS_LINEARINDEX_H
#define COMPILER_IMPORT_ONNX_OPS_LINEARINDEX_H

#include "dialects/grad/Grad.h"

namespace gradc {

/// index[d] = start + the sum of strides[i] * d[i]. The stride along a dim of size 1 is 0.
struct LinearIndex {
  int64_t start = 0;
  llvm::SmallVector<int64_t> strides;
};

/// The form of an integer tensor, as far as its constants, counts, broadcasts, reshapes, casts,
/// sums and products tell, along paths of at most `depth` ops.
std::optional<LinearIndex> findLinear(mlir::Value value, int depth = 10);

/// The first dim from `from` on along which an index counts 0, 1, ..., size - 1, and repeats along
/// all others.
std::optional<int64_t> dimCountedBy(mlir::Value index, int64_t size, int64_t from);

/// Whether indices count 0, 1, ..., size - 1 in row-major order.
bool countsInOrder(mlir::Value indices, int64_t size);

} // namespace gradc

#endif
