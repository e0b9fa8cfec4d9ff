// Math functions as polynomials on scalars and vectors of f32 and f64, without library calls.
#ifndef COMPILER_CODEGEN_LOWER_VECTORMATH_H
#define COMPILER_CODEGEN_LOWER_VECTORMATH_H

#include "dialects/Pch.h"

namespace gradc::lower {

/// Expands math.exp, expm1, log, log1p, tanh, erf, sin, cos, powf and rsqrt, and arith.remf; f16
/// and bf16 through f32. Largest errors in ulp, as test/unit/compiler/codegen/VectorMathTest.cpp
/// measures them:
///
///          f32    f64
///   exp    1.1    1.1    denormal results and overflow are correct
///   expm1  2.5    2.5
///   log    1.0    1.0
///   log1p  2.0    2.0
///   tanh   2.0    3.5
///   erf    2.5    1.5
///   sin    1.0    2.5    |x| <= 1e5; beyond, finite, within [-1, 1], less and less accurate
///   cos    1.0    2.5    as sin
///   powf   1.0    2 + 2 |b ln a|
///   rsqrt  1.5    1.5
///   remf   0      0      one step, and more for quotients above 2^23 (f64: 2^52)
///
/// NaN gives NaN, -0 keeps its sign where the function does, limits are exact. `hasScales`: the
/// machine has AVX-512, whose instructions that scale by powers of two change no bits.
void populateVectorMathPatterns(mlir::RewritePatternSet &patterns, bool hasScales);

} // namespace gradc::lower

#endif
