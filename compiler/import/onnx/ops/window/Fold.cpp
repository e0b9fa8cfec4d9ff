// Adds blocks as long as the stride, or, if there are many, convolves.
#include "dialects/Pch.h"

#include "compiler/import/onnx/ops/Pick.h"
#include "compiler/import/onnx/ops/window/Fold.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

/// Maps taps [taps] to windows [kernel...]: 1 at the tap's own place.
static HostTensor identityTaps(ArrayRef<int64_t> kernel, int64_t taps, Type element) {
  SmallVector<int64_t> shape(kernel);
  shape.append({taps, 1});
  HostTensor filter(RankedTensorType::get(shape, element));
  for (int64_t tap = 0; tap < taps; ++tap)
    filter.setInt(tap * taps + tap, 1);
  return filter;
}

/// The taps [images, taps..., positions...] as blocks: [blocks..., images, strides...,
/// positions...], with all dims of blocks merged. Elements between taps and after the last are 0.
static Expr splitIntoBlocks(Expr x, const Columns &columns) {
  const Window &w = columns.window;
  int64_t rank = w.rank();
  SmallVector<int64_t> taps{columns.images}, low(2 * rank + 1, 0), high(low), interior(low);
  SmallVector<int64_t> split{columns.images}, order, merged{1, columns.images};
  for (int64_t d = 0; d < rank; ++d) {
    taps.push_back(w.kernel[d]);
    interior[d + 1] = w.dilations[d] - 1;
    high[d + 1] = columns.blocks(d) * w.strides[d] - w.extent(d);
    split.append({columns.blocks(d), w.strides[d]});
    order.push_back(1 + 2 * d);
    merged[0] *= columns.blocks(d);
  }
  llvm::append_range(taps, columns.positions);
  llvm::append_range(split, columns.positions);
  llvm::append_range(merged, w.strides);
  llvm::append_range(merged, columns.positions);
  order.push_back(0);
  for (int64_t d = 0; d < rank; ++d)
    order.push_back(2 + 2 * d);
  llvm::append_range(order, llvm::seq<int64_t>(1 + 2 * rank, 1 + 3 * rank));
  x = x.reshape(taps);
  if (high != low || interior != low)
    x = x.with(
        x.getBuilder().createOrFold<PadOp>(x.getLoc(), x, low, high, interior, llvm::APFloat(0.0)));
  return x.reshape(split).transpose(order).reshape(merged);
}

/// The sum of all blocks, each shifted to its place in the picture: [images, strides..., sizes...].
/// A block's gradient is a slice, and the slices of all blocks are joined into one tensor.
static Expr overlapAdd(Expr blocks, const Columns &columns) {
  int64_t rank = columns.window.rank(), block = 0;
  SmallVector<int64_t> counts;
  for (int64_t d = 0; d < rank; ++d)
    counts.push_back(columns.blocks(d));
  std::optional<Expr> sum;
  forEachIndex(counts, [&](ArrayRef<int64_t> index) {
    int64_t own = block++;
    SmallVector<int64_t> low(2 * rank + 1, 0), high(low);
    for (int64_t d = 0; d < rank; ++d) {
      if (!columns.hasTap(d, index[d]))
        return;
      low[rank + 1 + d] = index[d];
      high[rank + 1 + d] = counts[d] - 1 - index[d];
    }
    Expr one = blocks.slice(0, own, 1).reshape(blocks.shape().drop_front());
    one = padAround(one, low, high);
    sum = sum ? *sum + one : one;
  });
  return *sum;
}

/// The same for strides of 1, where a block is a tap, from the taps as they lie in memory: [images,
/// sizes...].
static Expr addTaps(Expr x, const Columns &columns) {
  const Window &w = columns.window;
  int64_t rank = w.rank(), tap = 0;
  SmallVector<int64_t> shape{columns.images, llvm::product_of(w.kernel)};
  llvm::append_range(shape, columns.positions);
  x = x.reshape(shape);
  SmallVector<int64_t> united{columns.images};
  for (int64_t d = 0; d < rank; ++d)
    united.push_back(columns.positions[d] + w.extent(d) - 1);
  std::optional<Expr> sum;
  forEachIndex(w.kernel, [&](ArrayRef<int64_t> index) {
    SmallVector<int64_t> low(rank + 2, 0), high(low);
    for (int64_t d = 0; d < rank; ++d) {
      low[d + 2] = index[d] * w.dilations[d];
      high[d + 2] = w.extent(d) - 1 - low[d + 2];
    }
    Expr one = padAround(x.slice(1, tap++, 1), low, high);
    if (shape[1] > 1)
      one = one.wide();
    sum = sum ? *sum + one : one;
  });
  return sum->reshape(united);
}

/// The part of [images, sizes...], which begins with the window's padding, that is the picture.
/// Elements after the last window are 0.
static Expr cutPicture(Expr x, const Columns &columns) {
  SmallVector<int64_t> starts{0}, sizes{columns.images}, none{0}, high{0}, ones{1};
  for (auto [d, size] : llvm::enumerate(columns.picture)) {
    int64_t start = std::min(columns.window.low[d], x.shape()[d + 1]);
    starts.push_back(start);
    sizes.push_back(std::min(size, x.shape()[d + 1] - start));
    high.push_back(size - sizes.back());
    none.push_back(0);
    ones.push_back(1);
  }
  if (x.shape() != ArrayRef(sizes))
    x = x.with(x.getBuilder().createOrFold<SliceOp>(x.getLoc(), x, starts, sizes, ones));
  return padAround(x, none, high);
}

bool gradc::hasFewBlocks(const Columns &columns) {
  const Window &w = columns.window;
  double blocks = 1, split = 1, given = 1, pixels = 1; // as numbers that do not overflow
  for (int64_t d = 0; d < w.rank(); ++d) {
    blocks *= double(columns.blocks(d));
    split *= double(columns.blocks(d) * w.strides[d]) * double(columns.positions[d]);
    given *= double(w.kernel[d]) * double(columns.positions[d]);
    pixels *= double(columns.picture[d]);
  }
  return blocks <= maxPieces && split <= 8 * (given + pixels);
}

/// For few blocks per window: every tap is added once. 16-bit floats are summed in f32.
static Expr sumBlocks(Expr x, const Columns &columns) {
  int64_t rank = columns.window.rank();
  Type element = x.element();
  if (llvm::all_of(columns.window.strides, [](int64_t stride) { return stride == 1; }))
    return cutPicture(addTaps(x, columns), columns).cast(element);
  Expr blocks = splitIntoBlocks(x, columns);
  Expr sum = overlapAdd(blocks.shape()[0] > 1 ? blocks.wide() : blocks, columns);
  SmallVector<int64_t> order{0}, united{columns.images};
  for (int64_t d = 0; d < rank; ++d) {
    order.append({rank + 1 + d, 1 + d});
    united.push_back(sum.shape()[rank + 1 + d] * sum.shape()[1 + d]);
  }
  return cutPicture(sum.transpose(order).reshape(united), columns).cast(element);
}

/// For many blocks per window: a convolution over the windows' positions spread by the stride,
/// whose filter moves each tap to its place. Each tap is multiplied by the whole filter.
static Expr convolveTaps(Node &n, Expr x, const Columns &columns) {
  const Window &w = columns.window;
  int64_t taps = llvm::product_of(w.kernel), windows = llvm::product_of(columns.positions);
  SmallVector<int64_t> ones(w.rank(), 1), low, high, shape(columns.positions), order{2, 0, 1};
  for (int64_t d = 0; d < w.rank(); ++d) {
    int64_t reach = (columns.positions[d] - 1) * w.strides[d] + w.extent(d);
    low.push_back(w.extent(d) - 1 - w.low[d]);
    high.push_back(w.extent(d) - 1 + columns.picture[d] + w.low[d] - reach);
  }
  shape.append({columns.images, taps});
  x = x.reshape({columns.images, taps, windows}).transpose(order).reshape(shape);
  auto attribute = WindowAttr::get(n.builder().getContext(), w.kernel, ones, low, high, w.strides,
                                   w.dilations, /*reversed=*/true);
  Value filter = n.constant(identityTaps(w.kernel, taps, x.element()));
  Expr y =
      x.with(n.builder().createOrFold<ConvolutionOp>(n.loc(), x, filter, "nc,co->no", attribute));
  return y.reshape({llvm::product_of(columns.picture), columns.images}).transpose({1, 0});
}

Expr gradc::fold(Node &n, Expr x, const Columns &columns) {
  return hasFewBlocks(columns) ? sumBlocks(x, columns) : convolveTaps(n, x, columns);
}
