// Fourier transforms of signals and of their frames, windows, and the mel scale.
#include "dialects/Pch.h"

#include "compiler/import/onnx/Node.h"
#include "compiler/import/onnx/ops/Pick.h"
#include "compiler/import/onnx/ops/signal/FourierTransform.h"

#include <numbers>

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

/// Part of the last dim: `count` elements from `start` on, `stride` apart.
static Expr sliceLast(Expr x, int64_t start, int64_t count, int64_t stride = 1) {
  SmallVector<int64_t> starts(x.type().getRank(), 0), sizes(x.shape()),
      strides(x.type().getRank(), 1);
  starts.back() = start;
  sizes.back() = count;
  strides.back() = stride;
  return x.with(x.getBuilder().createOrFold<SliceOp>(x.getLoc(), x, starts, sizes, strides));
}

/// The last dim, cut or zero-padded to `length`.
static Expr fitLast(Expr x, int64_t length) {
  int64_t rank = x.type().getRank(), size = x.shape().back();
  if (length <= size)
    return sliceLast(x, 0, length);
  SmallVector<int64_t> none(rank, 0), high(rank, 0);
  high.back() = length - size;
  return padAround(x, none, high);
}

static Expr concatenate(Node &n, ArrayRef<Value> parts, int64_t dim) {
  if (parts.size() == 1)
    return n.expr(parts.front());
  return n.expr(n.builder().createOrFold<ConcatenateOp>(n.loc(), parts, dim));
}

/// Operand `i`, [..., 1] of real or [..., 2] of complex numbers, in at least 32 bits.
static FailureOr<Expr> readNumbers(Node &n, unsigned i) {
  if (failed(n.expect(i, Kind::Float)))
    return failure();
  int64_t parts = n.rank(i) < 2 ? 0 : n.shape(i).back();
  if (parts != 1 && parts != 2)
    return n.error() << "expected a last dim of 1 (real) or 2 (complex), found "
                     << n.describeOperand(i);
  Expr x = n.expr(i);
  bool isNarrow = n.element(i).getIntOrFloatBitWidth() < 32;
  return isNarrow ? x.cast(n.builder().getF32Type()) : x;
}

static FailureOr<int64_t> knownInteger(Node &n, unsigned i, StringRef what) {
  auto values = n.knownInts(i, what);
  if (failed(values))
    return failure();
  if (values->size() == 1)
    return values->front();
  return n.error() << "expected one number as " << what << ", found " << n.describeOperand(i);
}

/// The transformed dim: an attribute up to opset 19, an operand from opset 20 on.
static FailureOr<int64_t> readAxis(Node &n) {
  int64_t axis = n.opset() < 20 ? n.integer("axis", 1) : -2;
  if (n.operand(2)) {
    FailureOr<int64_t> given = knownInteger(n, 2, "the axis");
    if (failed(given))
      return failure();
    axis = *given;
  }
  FailureOr<int64_t> dim = n.axis(axis, n.rank(0));
  if (succeeded(dim) && *dim == n.rank(0) - 1)
    return n.error() << "expected an axis before the last, found " << axis;
  return dim;
}

static LogicalResult importDft(Node &n) {
  bool inverse = n.integer("inverse", 0), onesided = n.integer("onesided", 0);
  FailureOr<Expr> x = readNumbers(n, 0);
  FailureOr<int64_t> dim = readAxis(n);
  if (failed(x) || failed(dim))
    return failure();
  int64_t size = n.shape(0)[*dim];
  FailureOr<int64_t> length = inverse && onesided ? 2 * (size - 1) : size;
  if (n.operand(1))
    length = knownInteger(n, 1, "the length");
  if (failed(length))
    return failure();
  if (*length < 1 || !fits({*length, *length}) || size < 1)
    return n.error() << "expected a length of at least 1 and elements, found " << *length << " and "
                     << n.describeOperand(0);
  int64_t parts = n.shape(0).back();
  if (onesided && !inverse && parts == 2)
    return n.error() << "expected real numbers with onesided, found " << n.describeOperand(0);

  int64_t rank = n.rank(0) - 1, half = *length / 2 + 1;
  SmallVector<int64_t> order = otherDims(rank, {*dim}), back(rank), outer;
  order.push_back(*dim);
  int64_t rows = 1;
  for (auto [i, d] : llvm::enumerate(order)) {
    back[d] = i;
    outer.push_back(x->shape()[d]);
    rows *= int64_t(i) + 1 < rank ? outer.back() : 1;
  }
  order.push_back(rank); // the parts of a number stay together
  back.push_back(rank);
  bool isFromHalf = inverse && onesided;
  Expr signal =
      fitNumbers(x->transpose(order).reshape({rows, size, parts}), isFromHalf ? half : *length);
  Expr y = isFromHalf ? fourierOfHalf(signal, *length)
                      : fourierTransform(signal, onesided ? half : *length, inverse);
  if (inverse)
    y = y * (1 / double(*length));
  outer.back() = y.shape()[1];
  outer.push_back(y.shape()[2]);
  return n.set(y.reshape(outer).transpose(back).cast(n.element(0)));
}

/// [batch, length] as [batch, frames, width], with frames `step` apart. The parts of width `step`
/// of each frame are consecutive in the signal.
static Expr takeFrames(Node &n, Expr x, int64_t frames, int64_t width, int64_t step) {
  int64_t batch = x.shape()[0], parts = llvm::divideCeil(width, step);
  Expr chunks = fitLast(x, (frames + parts - 1) * step).reshape({batch, frames + parts - 1, step});
  SmallVector<Value> pieces;
  for (int64_t i = 0; i < parts; ++i)
    pieces.push_back(n.builder().createOrFold<SliceOp>(
        n.loc(), chunks, ArrayRef<int64_t>{0, i, 0},
        ArrayRef<int64_t>{batch, frames, std::min(step, width - i * step)},
        ArrayRef<int64_t>{1, 1, 1}));
  return concatenate(n, pieces, 2);
}

static LogicalResult importStft(Node &n) {
  bool onesided = n.integer("onesided", 1);
  FailureOr<Expr> x = failure();
  if (succeeded(n.expectRank(0, 3)))
    x = readNumbers(n, 0);
  FailureOr<int64_t> step = knownInteger(n, 1, "the step");
  if (failed(x) || failed(step))
    return failure();
  int64_t batch = n.shape(0)[0], size = n.shape(0)[1];
  FailureOr<int64_t> width = size;
  if (n.operand(3))
    width = knownInteger(n, 3, "the frame length");
  else if (n.operand(2) && n.rank(2) == 1)
    width = n.shape(2)[0];
  if (failed(width))
    return failure();
  if (*step < 1 || *width < 1 || *width > size || !fits({*width, *width}))
    return n.error() << "expected a step of at least 1 and frames that fit " << n.describeOperand(0)
                     << ", of at most 2^20 numbers, found " << *step << " and " << *width;
  if (n.operand(2) && (n.element(2) != n.element(0) || n.rank(2) != 1 || n.shape(2)[0] != *width))
    return n.error() << "expected a window of " << *width << " elements, found "
                     << n.describeOperand(2);
  int64_t parts = n.shape(0)[2];
  if (onesided && parts == 2)
    return n.error() << "expected real numbers with onesided, found " << n.describeOperand(0);
  int64_t frames = (size - *width) / *step + 1, wanted = onesided ? *width / 2 + 1 : *width;
  // The parts of a number stay together, so that frames are pieces of rows of parts.
  Expr taken =
      takeFrames(n, x->reshape({batch, size * parts}), frames, *width * parts, *step * parts)
          .reshape({batch, frames, *width, parts});
  if (n.operand(2))
    taken = taken * n.expr(2).cast(taken.element()).broadcast(taken.type(), {2});
  Expr y = fourierTransform(taken.reshape({batch * frames, *width, parts}), wanted,
                            /*inverse=*/false);
  return n.set(y.reshape({batch, frames, wanted, 2}).cast(n.element(0)));
}

/// Sets the result to the tensor of `values` in the element type given by output_datatype.
static LogicalResult setTable(Node &n, ArrayRef<int64_t> shape, ArrayRef<double> values) {
  int32_t number = int32_t(n.integer("output_datatype", 1));
  Type element = elementType(*n.builder().getContext(), number);
  if (!element)
    return n.error() << "of " << dataTypeName(number) << " is not supported";
  HostTensor table(RankedTensorType::get(shape, element));
  for (auto [i, value] : llvm::enumerate(values))
    table.setFloat(int64_t(i), value);
  return n.set(n.constant(table));
}

/// a - b cos(t) + c cos(2 t) over one period or, if not periodic, up to its end.
template <double (*window)(double)> static LogicalResult importWindow(Node &n) {
  bool periodic = n.integer("periodic", 1);
  FailureOr<int64_t> size = knownInteger(n, 0, "the size");
  if (failed(size))
    return failure();
  if (*size < 0 || *size > 1 << 24)
    return n.error() << "expected a size from 0 to 2^24, found " << *size;
  double period = double(periodic ? *size : *size - 1);
  std::vector<double> values;
  for (int64_t i = 0; i < *size; ++i) // a symmetric window of one element is its peak, 1
    values.push_back(period > 0 ? window(2 * std::numbers::pi * double(i) / period) : 1.0);
  return setTable(n, {*size}, values);
}

static double hann(double t) { return 0.5 - 0.5 * std::cos(t); }
static double hamming(double t) { return 25.0 / 46 - 21.0 / 46 * std::cos(t); }
static double blackman(double t) { return 0.42 - 0.5 * std::cos(t) + 0.08 * std::cos(2 * t); }

/// Triangles evenly spaced on the mel scale, one per column, over the frequencies of a transform.
static LogicalResult importMelWeightMatrix(Node &n) {
  FailureOr<int64_t> bins = knownInteger(n, 0, "the bins"),
                     length = knownInteger(n, 1, "the length"),
                     rate = knownInteger(n, 2, "the sample rate");
  auto low = n.known(3, "the lower edge"), high = n.known(4, "the upper edge");
  if (failed(bins) || failed(length) || failed(rate) || failed(low) || failed(high))
    return failure();
  double from = low->size() == 1 ? low->getFloat(0) : -1,
         to = high->size() == 1 ? high->getFloat(0) : -1;
  if (*bins < 1 || *length < 1 || *rate < 1 ||
      !(0 <= from && from <= to && to <= double(*rate) / 2) || !fits({*length, *bins}) ||
      *length * *bins > 1 << 24)
    return n.error()
           << "expected bins, a length and edges from 0 to half of the sample rate, found " << *bins
           << ", " << *length << ", " << from << ", " << to << " and " << *rate;
  auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  SmallVector<int64_t> points;
  double step = (mel(to) - mel(from)) / double(*bins + 2);
  for (int64_t i = 0; i < *bins + 2; ++i) {
    double hertz = 700 * (std::pow(10.0, (double(i) * step + mel(from)) / 2595) - 1);
    points.push_back(int64_t(std::floor(double(*length + 1) * hertz / double(*rate))));
  }
  int64_t rows = *length / 2 + 1;
  std::vector<double> values(rows * *bins, 0.0);
  auto put = [&](int64_t row, int64_t bin, double value) {
    if (row < rows)
      values[row * *bins + bin] = value;
  };
  for (int64_t bin = 0; bin < *bins; ++bin) {
    int64_t left = points[bin], center = points[bin + 1], right = points[bin + 2];
    if (left == center)
      put(center, bin, 1);
    for (int64_t i = left; left < center && i <= center; ++i)
      put(i, bin, double(i - left) / double(center - left));
    for (int64_t i = center; i < right; ++i)
      put(i, bin, double(right - i) / double(right - center));
  }
  return setTable(n, {rows, *bins}, values);
}

void gradc::addSignalOps(OpTable &ops) {
  ops["DFT"] = {importDft, 1, 3};
  ops["STFT"] = {importStft, 2, 4};
  ops["HannWindow"] = {importWindow<hann>, 1, 1};
  ops["HammingWindow"] = {importWindow<hamming>, 1, 1};
  ops["BlackmanWindow"] = {importWindow<blackman>, 1, 1};
  ops["MelWeightMatrix"] = {importMelWeightMatrix, 5, 5};
}
