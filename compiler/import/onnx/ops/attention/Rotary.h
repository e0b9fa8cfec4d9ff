// Rotary position embeddings, as operators of their own and within attention.
#ifndef COMPILER_IMPORT_ONNX_OPS_ATTENTION_ROTARY_H
#define COMPILER_IMPORT_ONNX_OPS_ATTENTION_ROTARY_H

#include "compiler/import/onnx/Node.h"

namespace gradc {

/// Rotates pairs of numbers of x [batch, heads, positions, size], (x[i], x[i + half]) or, if
/// interleaved, (x[2 i], x[2 i + 1]). The cosines and sines of the angles are
/// [batch, positions, half]. Numbers past 2 * half stay unchanged.
mlir::grad::Expr rotate(mlir::grad::Expr x, mlir::grad::Expr cosine, mlir::grad::Expr sine,
                        bool interleaved);

/// Marks both operands as tables of angles: unlike parameters, initializers among them do not train
/// by themselves.
void markTables(Node &n, unsigned cosines, unsigned sines);
/// Rows of the table that is operand `i`, [positions, half], at `ids` (integers
/// [batch, positions]), which are checked.
mlir::FailureOr<mlir::grad::Expr> pickAngles(Node &n, unsigned i, mlir::grad::Expr ids);
/// `count` rows of the table from `first` on, the same for each of `batch` rows.
mlir::FailureOr<mlir::grad::Expr> sliceAngles(Node &n, unsigned i, int64_t first, int64_t count,
                                              int64_t batch);

} // namespace gradc

#endif
