// Helpers that the operators of ai.onnx.ml share: rows of features, lists in attributes, scores and
// labels.
#ifndef COMPILER_IMPORT_ONNX_OPS_ML_SCORES_H
#define COMPILER_IMPORT_ONNX_OPS_ML_SCORES_H

#include "compiler/import/onnx/Node.h"

namespace gradc {

/// Numbers as a constant of this shape and element type.
mlir::grad::Expr floatsOf(Node &node, llvm::ArrayRef<float> values, llvm::ArrayRef<int64_t> shape,
                          mlir::Type element);
/// The same as f32.
mlir::grad::Expr floatsOf(Node &node, llvm::ArrayRef<float> values, llvm::ArrayRef<int64_t> shape);

/// Operand `i`, a matrix or one row, as f32 [rows, features].
mlir::FailureOr<mlir::grad::Expr> featureRows(Node &node, unsigned i = 0);

/// x W' + b for x [rows, columns] and W [outputs, columns]; `bias` may be empty.
mlir::grad::Expr affine(Node &node, mlir::grad::Expr x, llvm::ArrayRef<float> weight,
                        llvm::ArrayRef<float> bias);

/// The function that attribute `post_transform` applies to scores.
enum class PostTransform { none, softmax, logistic };
/// Reads the attribute. Of single scores per row, ONNX Runtime ignores most transforms, so these
/// are refused unless the caller defines one (`takesLogistic`).
mlir::FailureOr<PostTransform> readPostTransform(Node &node, int64_t columns,
                                                 bool takesLogistic = false);
mlir::grad::Expr transformed(Node &node, mlir::grad::Expr scores, PostTransform how);

/// Scores of two classes, [rows, 2], from one score [rows, 1] of the second class.
mlir::grad::Expr scoresOfTwo(Node &node, mlir::grad::Expr first, mlir::grad::Expr second);

/// The labels of a classifier's classes: integers or strings.
struct ClassNames {
  llvm::SmallVector<int64_t> integers;
  std::vector<std::string> strings;

  int64_t size() const { return strings.empty() ? integers.size() : strings.size(); }
};
/// From one of two attributes.
mlir::FailureOr<ClassNames> readClassNames(Node &node, llvm::StringRef integers,
                                           llvm::StringRef strings);
/// Sets result 0 to the labels of the classes with these indices, i64 [rows].
mlir::LogicalResult setClasses(Node &node, const ClassNames &names, mlir::grad::Expr indices);
/// The index of the first largest score of each row.
mlir::grad::Expr largestOf(mlir::grad::Expr scores);

} // namespace gradc

#endif
