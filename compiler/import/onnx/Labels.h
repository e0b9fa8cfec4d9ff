// Class labels of rows, as losses pick by them.
#ifndef COMPILER_IMPORT_LABELS_H
#define COMPILER_IMPORT_LABELS_H

#include "dialects/grad/Build.h"

namespace gradc {

/// Whether a class is the row's: i1 of the shape of `x`, [rows, classes]; labels are integers
/// [rows].
mlir::grad::Expr isLabel(mlir::grad::Expr x, mlir::grad::Expr labels);

/// x[i, label[i]] of every row.
mlir::grad::Expr pickLabels(mlir::grad::Expr x, mlir::grad::Expr labels);

} // namespace gradc

#endif
