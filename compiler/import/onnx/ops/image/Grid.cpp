// AffineGrid, and Col2Im, which sums the columns of a picture's windows.
#include "dialects/Pch.h"

#include "compiler/import/onnx/ops/window/Fold.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

/// Positions of `sizes` pixels in [-1, 1], x first, and a 1: [pixels, dims + 1].
static HostTensor baseGrid(ArrayRef<int64_t> sizes, bool alignCorners, Type element) {
  int64_t dims = sizes.size(), pixels = 1;
  for (int64_t size : sizes)
    pixels *= size;
  HostTensor grid(RankedTensorType::get({pixels, dims + 1}, element));
  int64_t to = 0;
  forEachIndex(sizes, [&](ArrayRef<int64_t> index) {
    for (int64_t d = dims - 1; d >= 0; --d) {
      double size = double(sizes[d]), i = double(index[d]);
      double corner = size > 1 ? -1 + 2 * i / (size - 1) : -1;
      grid.setFloat(to++, alignCorners ? corner : -1 + (2 * i + 1) / size);
    }
    grid.setFloat(to++, 1);
  });
  return grid;
}

/// Multiplies theta [N, d, d + 1] by every position of a picture: [N, pixels..., d].
static LogicalResult importAffineGrid(Node &n) {
  bool alignCorners = n.integer("align_corners", 0);
  auto size = n.knownInts(1, "the size");
  if (failed(n.expect(0, Kind::Float)) || failed(n.expectRank(0, 3)) || failed(size))
    return failure();
  int64_t dims = int64_t(size->size()) - 2;
  ArrayRef<int64_t> s = n.shape(0);
  if ((dims != 2 && dims != 3) || s[0] != size->front() || s[1] != dims || s[2] != dims + 1)
    return n.error() << "expected a size [N, C, H, W] or [N, C, D, H, W] and theta [N, 2, 3] or "
                        "[N, 3, 4], found "
                     << formatDims(*size) << " and " << n.describeOperand(0);
  ArrayRef<int64_t> pixels = ArrayRef(*size).drop_front(2);
  int64_t count = 1;
  for (int64_t p : pixels)
    if (p < 1 || llvm::MulOverflow(count, p, count) || count > 1 << 24)
      return n.error() << "expected pictures of 1 to 2^24 pixels, found " << formatDims(*size);
  OpBuilder &b = n.builder();
  Expr base = n.expr(n.constant(baseGrid(pixels, alignCorners, n.element(0))));
  Expr theta = n.expr(0u).reshape({s[0] * dims, dims + 1});
  Expr product =
      base.with(b.createOrFold<MatmulOp>(n.loc(), theta, base, UnitAttr(), b.getUnitAttr()));
  SmallVector<int64_t> shape{s[0]};
  llvm::append_range(shape, pixels);
  shape.push_back(dims);
  return n.set(product.reshape({s[0], dims, count}).transpose({0, 2, 1}).reshape(shape));
}

/// [N, C * taps, windows] to [N, C, picture...]: the adjoint of extracting windows.
static LogicalResult importCol2Im(Node &n) {
  auto picture = n.knownInts(1, "the picture's shape"),
       kernel = n.knownInts(2, "the block's shape");
  if (failed(n.expect(0, Kind::Number)) || failed(n.expectRank(0, 3)) || failed(picture) ||
      failed(kernel) || failed(expectNumbers(n, "image_shape", *picture, kernel->size(), 1)) ||
      failed(expectNumbers(n, "block_shape", *kernel, kernel->size(), 1)))
    return failure();
  FailureOr<Window> window = readWindow(n, *kernel);
  if (failed(window))
    return failure();
  Columns columns{*window, 0, {}, *picture};
  int64_t taps = 1, windows = 1;
  for (int64_t d = 0; d < window->rank(); ++d) {
    columns.positions.push_back(window->positions(d, (*picture)[d]));
    if (llvm::MulOverflow(taps, window->kernel[d], taps) ||
        llvm::MulOverflow(windows, columns.positions[d], windows))
      return n.error() << "expected a sensible picture, found " << formatDims(*picture);
  }
  ArrayRef<int64_t> s = n.shape(0);
  if (taps > 1 << 12 || s[1] % taps != 0 || s[2] != windows || windows == 0)
    return n.error() << "expected [N, C * " << taps << ", " << windows
                     << "] for at most 4096 taps, found " << n.describeOperand(0);
  columns.images = s[0] * (s[1] / taps);
  SmallVector<int64_t> result{s[0], s[1] / taps};
  llvm::append_range(result, *picture);
  return n.set(fold(n, n.expr(0u), columns).reshape(result));
}

void gradc::addGridOps(OpTable &ops) {
  ops["AffineGrid"] = {importAffineGrid, 2, 2};
  ops["Col2Im"] = {importCol2Im, 3, 3};
}
