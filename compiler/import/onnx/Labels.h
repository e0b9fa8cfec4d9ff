// Class labels of rows, which losses use to select scores.
#ifndef COMPILER_IMPORT_ONNX_LABELS_H
#define COMPILER_IMPORT_ONNX_LABELS_H

#include "dialects/grad/Build.h"

namespace gradc {

/// Whether a class is the row's label: i1 of the shape of `x`, [rows, classes]; labels are integers
/// [rows].
mlir::grad::Expr isLabel(mlir::grad::Expr x, mlir::grad::Expr labels);

/// x[i, label[i]] for each row.
mlir::grad::Expr pickLabels(mlir::grad::Expr x, mlir::grad::Expr labels);

} // namespace gradc

#endif
