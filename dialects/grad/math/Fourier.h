// The parts of Fourier transforms: products with a matrix, transforms in two parts, and rotations.
#ifndef DIALECTS_GRAD_MATH_FOURIER_H
#define DIALECTS_GRAD_MATH_FOURIER_H

#include "dialects/grad/Build.h"

#include <complex>

namespace mlir::grad {

/// Whether n has prime factors up to 13 only.
bool hasSmallFactors(int64_t n);
/// Whether a CPU kernel transforms rows of `numbers` complex numbers, or of twice as many real
/// ones: few enough for the scratch memory of a vector of rows, with prime factors whose
/// butterflies stay in registers.
bool isShortFourier(int64_t numbers);

/// e^(2 pi i k / n), or its conjugate if not `inverse`.
std::complex<double> fourierWave(int64_t k, int64_t n, bool inverse);
/// The transform of one row.
SmallVector<std::complex<double>> fourierOf(ArrayRef<std::complex<double>> x, bool inverse);

/// The largest factor of n up to its square root.
int64_t middleFactor(int64_t n);

/// x [rows, n, 2] times one complex factor for each of the n numbers.
Expr multiplyComplex(Expr x, ArrayRef<std::complex<double>> factors);
/// x [rows, n, parts] cut, or padded with zeros, to `count` numbers.
Expr fitNumbers(Expr x, int64_t count);

/// The first `wanted` numbers of the transform of x, [rows, n, 1 or 2], as one product.
Expr fourierProduct(Expr x, int64_t wanted, bool inverse);
/// The transform of x, [rows, factor * rest, 1 or 2], by transforms of `factor` and of `rest`
/// numbers, which `transform` builds, with a rotation between them.
Expr fourierInParts(Expr x, int64_t factor, bool inverse, llvm::function_ref<Expr(Expr)> transform);

} // namespace mlir::grad

#endif
