// Losses of a training spec as grad IR.
#ifndef COMPILER_IMPORT_OBJECTIVE_LOSS_H
#define COMPILER_IMPORT_OBJECTIVE_LOSS_H

#include "compiler/import/objective/SpecValues.h"

namespace gradc {

/// A loss as a quotient of two f32 scalars, so that the mean over several batches is exact: the sum
/// of their numerators over the sum of their denominators.
struct LossTerm {
  mlir::Value numerator;
  /// The number of elements that the mean is over, or the sum of their weights. It depends only on
  /// fields of the data. Null if the model itself computes a mean of unknown weight.
  mlir::Value denominator;
  /// Whether the denominator is a sum of weights, which may be 0 and may differ between batches.
  bool isWeighted = false;
  double weight = 1; ///< in the sum of all terms

  /// The quotient, without `weight`.
  mlir::Value quotient(mlir::OpBuilder &builder) const;
};

/// One loss per element that the mean is over.
struct ElementLosses {
  mlir::grad::Expr losses;
  std::optional<mlir::grad::Expr> denominators; ///< the weights that `losses` contain; else 1 each
  /// The number and order of losses match the elements of these dims of a field.
  mlir::Value counted;
  llvm::SmallVector<int64_t> dims;
};

/// Each of these builds one loss of the spec; `where` is the block of the loss's kind.
mlir::FailureOr<ElementLosses> buildSoftmaxCrossEntropy(SpecValues &v,
                                                        const spec::SoftmaxCrossEntropy &loss,
                                                        mlir::Location where);
mlir::FailureOr<ElementLosses>
buildBinaryCrossEntropy(SpecValues &v, const spec::BinaryCrossEntropy &loss, mlir::Location where);
mlir::FailureOr<ElementLosses> buildFocal(SpecValues &v, const spec::Focal &loss,
                                          mlir::Location where);
mlir::FailureOr<ElementLosses> buildKlDivergence(SpecValues &v, const spec::KlDivergence &loss,
                                                 mlir::Location where);
mlir::FailureOr<ElementLosses> buildHinge(SpecValues &v, const spec::Hinge &loss,
                                          mlir::Location where);
mlir::FailureOr<ElementLosses> buildError(SpecValues &v, const spec::Loss &loss,
                                          mlir::Location where);
mlir::FailureOr<ElementLosses> buildCosine(SpecValues &v, const spec::Cosine &loss,
                                           mlir::Location where);
mlir::FailureOr<ElementLosses> buildTriplet(SpecValues &v, const spec::Triplet &loss,
                                            mlir::Location where);

mlir::FailureOr<ElementLosses> buildCtc(SpecValues &v, const spec::Ctc &loss, mlir::Location where);

/// The terms of the spec's losses, in the spec's order.
mlir::FailureOr<llvm::SmallVector<LossTerm>> buildLosses(SpecValues &values);

/// The weighted sum of the terms, an f32 scalar.
mlir::Value sumTerms(mlir::OpBuilder &builder, llvm::ArrayRef<LossTerm> terms);

} // namespace gradc

#endif
