// Quotients by constants that are rounded to integers, without a division.
#ifndef COMPILER_CODEGEN_LOWER_QUOTIENT_H
#define COMPILER_CODEGEN_LOWER_QUOTIENT_H

#include "mlir/IR/PatternMatch.h"

#include <optional>

namespace gradc::lower {

/// 1 / divisor as a sum of two floats of the same sign, the first of which is the larger.
struct Reciprocal {
  float high;
  float low; ///< 0 for powers of two
};

/// The reciprocal with which fma(x, high, x * low) is x / divisor, rounded as a division is, for
/// all x whose quotient is not below 2^-100 (or 0), infinities and NaN among them. Nothing if there
/// is none.
std::optional<Reciprocal> findReciprocal(float divisor);

/// The nearest integer of x / constant, for f32, becomes that of two products: same bits.
void populateQuotientPatterns(mlir::RewritePatternSet &patterns);

} // namespace gradc::lower

#endif
