// Few numbers are one product. More are an op, which a kernel computes, or, if these are too many
// for it or rows are few, two shorter transforms. A length with a large prime factor is transformed
// by a convolution with a chirp (Bluestein), which takes transforms of another length.
#include "dialects/Pch.h"

#include "compiler/import/onnx/ops/signal/FourierTransform.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

/// The most multiplications for each row and part of a product that takes less time than an op.
static constexpr int64_t maxProduct = 1'024;
/// The same of a length with a large prime factor, whose convolution takes several ops.
static constexpr int64_t maxPrimeProduct = 10'000;

static bool isOneProduct(int64_t length, int64_t wanted, int64_t parts) {
  int64_t most = hasSmallFactors(length) ? maxProduct : maxPrimeProduct;
  return length * wanted * parts <= most;
}

/// Whether one op transforms the rows. Of fewer rows most lanes of its vectors would be empty: two
/// shorter transforms of many rows take less time.
static bool isOneOp(int64_t rows, int64_t numbers) {
  constexpr int64_t enoughRows = 6, longRow = 256;
  return isShortFourier(numbers) && (rows >= enoughRows || numbers < longRow);
}

static Expr transformOp(Expr x, ArrayRef<int64_t> shape, bool inverse) {
  return x.with(
      x.getBuilder().createOrFold<FourierOp>(x.getLoc(), x.type().clone(shape), x.get(), inverse));
}

/// [rows, n, 1] as complex numbers without imaginary parts; complex ones stay.
static Expr toComplex(Expr x) {
  if (x.shape()[2] == 2)
    return x;
  return x.with(x.getBuilder().createOrFold<PadOp>(x.getLoc(), x.get(), ArrayRef<int64_t>{0, 0, 0},
                                                   ArrayRef<int64_t>{0, 0, 1},
                                                   ArrayRef<int64_t>{0, 0, 0}, APFloat(0.0)));
}

static Expr realParts(Expr x) {
  return x.with(x.getBuilder().createOrFold<SliceOp>(
      x.getLoc(), x.get(), ArrayRef<int64_t>{0, 0, 0},
      ArrayRef<int64_t>{x.shape()[0], x.shape()[1], 1}, ArrayRef<int64_t>{1, 1, 1}));
}

/// x times `factors` along dim `dim`.
static Expr scaleAlong(Expr x, int64_t dim, ArrayRef<double> factors) {
  HostTensor table(RankedTensorType::get({int64_t(factors.size())}, x.element()));
  for (auto [i, factor] : llvm::enumerate(factors))
    table.setFloat(int64_t(i), factor);
  Expr along = x.with(constant(x.getBuilder(), x.getLoc(), table));
  return x * along.broadcast(x.type(), {dim});
}
static Expr conjugate(Expr x) { return scaleAlong(x, 2, {1, -1}); }

static Expr transformComplex(Expr x, bool inverse);

/// j k = (j^2 + k^2 - (j - k)^2) / 2, so with the chirp c[k] = e^(pi i k^2 / n) the transform is
/// c[j] times the convolution of c x with the conjugate of c. The convolution is a product of
/// spectra, of any length that holds it without wrapping around.
static Expr transformByChirp(Expr x, bool inverse) {
  int64_t n = x.shape()[1], size = 2 * n - 1;
  while (!hasSmallFactors(size))
    ++size;
  SmallVector<std::complex<double>> chirp, filter(size);
  for (int64_t k = 0; k < n; ++k) {
    chirp.push_back(fourierWave(k * k, 2 * n, inverse));
    filter[k] = filter[(size - k) % size] = std::conj(chirp.back()) / double(size);
  }
  Expr spectrum = transformComplex(fitNumbers(multiplyComplex(x, chirp), size), false);
  Expr product = multiplyComplex(spectrum, fourierOf(filter, false));
  return multiplyComplex(fitNumbers(transformComplex(product, true), n), chirp);
}

/// x is [rows, n, 2].
static Expr transformComplex(Expr x, bool inverse) {
  int64_t n = x.shape()[1];
  if (isOneOp(x.shape()[0], n))
    return transformOp(x, x.shape(), inverse);
  if (!hasSmallFactors(n))
    return transformByChirp(x, inverse);
  return fourierInParts(x, middleFactor(n), inverse, [&](Expr part) {
    return fourierTransform(part, part.shape()[1], inverse);
  });
}

/// The first `wanted` numbers of the spectrum of a real row from its first half.
static Expr fromHalf(Expr x, int64_t wanted) {
  int64_t half = x.shape()[1], missing = wanted - half;
  if (missing <= 0)
    return fitNumbers(x, wanted);
  OpBuilder &b = x.getBuilder();
  // The first number has no counterpart, nor has the last one of an even length.
  Expr mirrored = x.with(b.createOrFold<SliceOp>(
      x.getLoc(), x.get(), ArrayRef<int64_t>{0, half - 2, 0},
      ArrayRef<int64_t>{x.shape()[0], missing, 2}, ArrayRef<int64_t>{1, -1, 1}));
  return x.with(
      b.createOrFold<ConcatenateOp>(x.getLoc(), ValueRange{x.get(), conjugate(mirrored).get()}, 1));
}

Expr gradc::fourierTransform(Expr x, int64_t wanted, bool inverse) {
  int64_t rows = x.shape()[0], n = x.shape()[1], parts = x.shape()[2];
  if (isOneProduct(n, wanted, parts))
    return fourierProduct(x, wanted, inverse);
  if (parts == 1 && n % 2 == 0 && isOneOp(rows, n / 2)) {
    Expr half = transformOp(x, {rows, n / 2 + 1, 2}, /*inverse=*/false);
    return fromHalf(inverse ? conjugate(half) : half, wanted);
  }
  return fitNumbers(transformComplex(toComplex(x), inverse), wanted);
}

Expr gradc::fourierOfHalf(Expr x, int64_t length) {
  int64_t rows = x.shape()[0], half = x.shape()[1];
  x = toComplex(x);
  // A number and its conjugate in the other half are twice its real part.
  SmallVector<double> counts(half, 2);
  counts.front() = 1;
  if (length % 2 == 0)
    counts.back() = 1;
  x = scaleAlong(x, 1, counts);
  if (length % 2 == 0 && !isOneProduct(length, half, 2) && isOneOp(rows, length / 2))
    return transformOp(x, {rows, length, 1}, /*inverse=*/true);
  return realParts(fourierTransform(fitNumbers(x, length), length, /*inverse=*/true));
}
