// Products and convolutions of quantized tensors as those of their codes.
#ifndef PASSES_RAISE_QUANTIZEDPRODUCT_H
#define PASSES_RAISE_QUANTIZEDPRODUCT_H

#include "passes/raise/ConstantCodes.h"

#include "dialects/grad/Grad.h"

namespace gradc {

/// Multiplies codes in place of the factors of a contraction, whose rhs is dequantized, and maybe
/// its lhs. Other contractions stay as they are.
void multiplyQuantized(mlir::OpBuilder &builder, ComputedStates &computed,
                       mlir::grad::ContractionOpInterface op, const std::optional<Dequantized> &lhs,
                       const Dequantized &rhs);

} // namespace gradc

#endif
