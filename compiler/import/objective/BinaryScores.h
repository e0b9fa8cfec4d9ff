// Scores that are each a yes or no, for metrics of one score a sample or of several labels.
#ifndef COMPILER_IMPORT_OBJECTIVE_BINARYSCORES_H
#define COMPILER_IMPORT_OBJECTIVE_BINARYSCORES_H

#include "compiler/import/objective/SpecValues.h"

namespace gradc {

/// Scores that are each a yes or no, and whether each belongs to a positive, all of one shape.
struct BinaryScores {
  mlir::grad::Expr scores, isPositive;
  std::optional<mlir::grad::Expr> counts; ///< which labels are not ignored; without it all count

  /// The same with the dim of several labels last.
  BinaryScores labelsLast() const;
  /// The predictions above 0 that count.
  mlir::grad::Expr isTaken() const;
};

/// The scores of `logits` before a final sigmoid, and of `labels` those above 0.5 as positives.
/// Labels equal to `ignore` do not count.
mlir::FailureOr<BinaryScores> binaryScores(SpecValues &v, llvm::StringRef logits,
                                           llvm::StringRef labels, std::optional<int64_t> ignore,
                                           mlir::Location where);

/// Whether each score of an output is a yes or no, as with several labels a sample, or one a pixel:
/// a final sigmoid or a loss says so.
bool areBinary(SpecValues &v, llvm::StringRef logits, mlir::Value output);

/// The type of the labels of scores: the field's, which may have an element per score instead of
/// one per sample.
mlir::FailureOr<mlir::RankedTensorType> typeOfLabels(SpecValues &v, llvm::StringRef labels,
                                                     mlir::RankedTensorType scores,
                                                     mlir::Location where);

/// The dim of several labels: the second one of pictures [batch, labels, height, width], as that of
/// classes, and else the last one. A transpose that moves the second dim of pictures behind the
/// others says that it is the last one.
int64_t labelDim(mlir::Value scores);

/// Whether the type is that of one score a sample.
bool isOneScore(mlir::RankedTensorType type);

/// Whether an output has one score a sample, or one a pixel in a channel of its own: a loss says
/// so, or labels without a dim of classes. More scores are those of classes, even if a loss takes
/// each by itself.
mlir::FailureOr<bool> hasOneScore(SpecValues &v, llvm::StringRef logits, llvm::StringRef labels,
                                  mlir::Value output, mlir::Location where);

/// The label that does not count, if the spec's metric names one.
template <typename Names> std::optional<int64_t> ignored(const Names &names) {
  return names.has_ignore_index() ? std::optional(names.ignore_index()) : std::nullopt;
}

} // namespace gradc

#endif
