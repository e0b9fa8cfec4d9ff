// How a Fourier transform of any length is composed of products and of transforms that are kernels.
#ifndef COMPILER_IMPORT_ONNX_OPS_SIGNAL_FOURIERTRANSFORM_H
#define COMPILER_IMPORT_ONNX_OPS_SIGNAL_FOURIERTRANSFORM_H

#include "dialects/grad/math/Fourier.h"

namespace gradc {

/// The first `wanted` sums over k of x[k] e^(-2 pi i j k / n) (`inverse`: e^(2 pi i j k / n)), one
/// per j, as [rows, wanted, 2]. x is [rows, n, 1] of real or [rows, n, 2] of complex numbers.
mlir::grad::Expr fourierTransform(mlir::grad::Expr x, int64_t wanted, bool inverse);

/// The inverse transform, not divided by `length`, of the spectrum of `length` real numbers, of
/// which x [rows, length / 2 + 1, 1 or 2] is the first half. Returns [rows, length, 1].
mlir::grad::Expr fourierOfHalf(mlir::grad::Expr x, int64_t length);

} // namespace gradc

#endif
