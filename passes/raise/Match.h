// Queries on values for raising: numbers, means, repetition, and polynomials in one value.
#ifndef PASSES_RAISE_MATCH_H
#define PASSES_RAISE_MATCH_H

#include "dialects/grad/Build.h"
#include "passes/entry/Extents.h"

namespace gradc {

/// The float that fills a constant tensor.
std::optional<double> numberOf(mlir::Value value);

/// Whether `a` is `b`, or, where the elements of `type` cannot hold `b`, within a few roundings of
/// it: exporters round constants, and multiply some of them.
bool isNear(double a, double b, mlir::Type type);

/// The value's defining op, if it has that type and the value has one use.
template <typename Op> Op ownedBy(mlir::Value value) {
  return value.hasOneUse() ? value.getDefiningOp<Op>() : Op();
}

/// The mean of `operand` over `dims`, written as a mean or as a sum over its count.
struct MeanForm {
  mlir::Value operand;
  llvm::SmallVector<int64_t> dims;
};
std::optional<MeanForm> meanForm(mlir::Value value);

/// [..] where `value` repeats it over `dims` of a tensor of its rank.
mlir::Value repeatedOver(mlir::Value value, llvm::ArrayRef<int64_t> dims);

/// The operand of a binary op that is not `known`; null: neither or both are.
mlir::Value otherOperand(mlir::Operation *op, mlir::Value known);

/// The coefficients of `value` as a polynomial in `x`, 1 first, up to x^3; none: it is none, or an
/// op between them is read from elsewhere.
using Polynomial = std::array<double, 4>;
std::optional<Polynomial> polynomialIn(mlir::Value x, mlir::Value value);

void populateRaiseActivations(mlir::RewritePatternSet &patterns);
void populateRaiseRotary(mlir::RewritePatternSet &patterns);
/// Leaves dead ops behind, so that `extents` stays about the values it knows.
void raiseNormalizations(mlir::func::FuncOp function, ExtentAnalysis &extents);

} // namespace gradc

#endif
