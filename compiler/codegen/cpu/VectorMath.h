// Math functions as polynomials on scalars and vectors of f32 and f64: no library is called.
#ifndef COMPILER_CODEGEN_CPU_VECTORMATH_H
#define COMPILER_CODEGEN_CPU_VECTORMATH_H

#include "dialects/Pch.h"

namespace gradc::cpu {

/// Expands math.exp, expm1, log, log1p, tanh, erf, sin, cos, powf and rsqrt. f16 and bf16 are
/// computed in f32.
void populateVectorMathPatterns(mlir::RewritePatternSet &patterns);

} // namespace gradc::cpu

#endif
