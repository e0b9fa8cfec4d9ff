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

/// The rows of a run: all of the batch, or all but one.
enum class RunRows { all, oneLess };

/// The form of an integer tensor, as far as its constants, counts, broadcasts, reshapes, casts,
/// sums and products tell, along paths of at most `depth` ops. A count that may be of rows is that
/// of a run of `rows`.
std::optional<LinearIndex> findLinear(mlir::Value value, RunRows rows = RunRows::all,
                                      int depth = 10);

/// The first dim from `from` on along which an index counts 0, 1, ..., size - 1, and repeats along
/// all others, in runs of any number of rows.
std::optional<int64_t> dimCountedBy(mlir::Value index, int64_t size, int64_t from);

/// Whether indices count 0, 1, ..., size - 1 in row-major order, in runs of any number of rows.
bool countsInOrder(mlir::Value indices, int64_t size);

} // namespace gradc

#endif
