// Finds patterns in a list of indices: runs of equal stride, or a repeating period.
#include "dialects/Pch.h"

#include "compiler/import/onnx/ops/Pick.h"
#include "dialects/grad/indexing/Index.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

/// The end of the run of equal stride that starts at `begin`.
static size_t runEnd(ArrayRef<int64_t> indices, size_t begin) {
  size_t end = std::min(begin + 1, indices.size());
  if (end == indices.size())
    return end;
  int64_t stride = indices[end] - indices[begin];
  while (end < indices.size() && indices[end] - indices[end - 1] == stride)
    ++end;
  return end;
}

/// The number of consecutive slices that `indices` select: runs of equal stride.
static int64_t countRuns(ArrayRef<int64_t> indices) {
  int64_t runs = 0;
  for (size_t begin = 0; begin < indices.size(); begin = runEnd(indices, begin))
    ++runs;
  return runs;
}

/// The smallest period after which the indices repeat, all shifted by the same step.
static int64_t findPeriod(ArrayRef<int64_t> indices) {
  int64_t size = indices.size();
  for (int64_t period = 1; period < std::min(size, maxPieces + 1); ++period) {
    if (size % period != 0)
      continue;
    int64_t step = indices[period] - indices[0];
    if (llvm::all_of(llvm::seq(period, size),
                     [&](int64_t i) { return indices[i] - indices[i - period] == step; }))
      return period;
  }
  return size;
}

/// `count` elements from `start` on, `stride` apart; a stride of 0 repeats one element.
static Expr strided(Expr x, int64_t dim, int64_t start, int64_t count, int64_t stride) {
  if (int64_t size = stride ? count : 1; size != x.shape()[dim] || stride < 0)
    x = x.slice(dim, start, size, stride ? stride : 1);
  if (stride || count == 1)
    return x;
  SmallVector<int64_t> without(x.shape()), wide(x.shape());
  without.erase(without.begin() + dim);
  wide[dim] = count;
  return x.reshape(without).broadcast(x.type().clone(wide), otherDims(int64_t(wide.size()), {dim}));
}

static Expr concatenate(ArrayRef<Value> pieces, Expr like, int64_t dim) {
  return like.with(grad::concatenate(like.getBuilder(), like.getLoc(), pieces, dim));
}

/// Each piece is strided; the pieces interleave when joined along a new dim.
static Expr interleave(Expr x, int64_t dim, ArrayRef<int64_t> indices, int64_t period) {
  int64_t count = int64_t(indices.size()) / period;
  int64_t step = count > 1 ? indices[period] - indices[0] : 0;
  SmallVector<int64_t> apart(x.shape()), result(x.shape());
  apart[dim] = count;
  apart.insert(apart.begin() + dim + 1, 1);
  result[dim] = indices.size();
  SmallVector<Value> pieces;
  for (int64_t first : indices.take_front(period)) {
    if (first == indices[0] && !pieces.empty())
      pieces.push_back(pieces.front());
    else
      pieces.push_back(strided(x, dim, first, count, step).reshape(apart));
  }
  if (!llvm::all_equal(pieces))
    return concatenate(pieces, x, dim + 1).reshape(result);
  // One repeated element becomes a broadcast, which a kernel reads without a copy.
  SmallVector<int64_t> thin(apart), wide(apart);
  thin.erase(thin.begin() + dim + 1);
  wide[dim + 1] = period;
  return x.with(pieces.front())
      .reshape(thin)
      .broadcast(x.type().clone(wide), otherDims(wide.size(), {dim + 1}))
      .reshape(result);
}

Value gradc::pick(Expr x, int64_t dim, ArrayRef<int64_t> indices, int64_t mostSlices) {
  if (indices.empty())
    return strided(x, dim, 0, 0, 1);
  int64_t runs = countRuns(indices), period = findPeriod(indices);
  if (std::min(runs, period) > maxPieces)
    return nullptr;
  std::set<int64_t> firsts(indices.begin(), indices.begin() + period);
  if (std::min(runs, int64_t(firsts.size())) > mostSlices)
    return nullptr;
  if (period < runs)
    return interleave(x, dim, indices, period);
  SmallVector<Value> pieces;
  for (size_t begin = 0, end; begin < indices.size(); begin = end) {
    end = runEnd(indices, begin);
    int64_t stride = end - begin > 1 ? indices[begin + 1] - indices[begin] : 1;
    pieces.push_back(strided(x, dim, indices[begin], end - begin, stride));
  }
  return concatenate(pieces, x, dim);
}

int64_t gradc::mostSlicesWithGradient(ArrayRef<int64_t> indices, int64_t size) {
  constexpr int64_t alwaysCheap = 3; // estimate: of 2, a step takes as long as with gathers
  return std::max(alwaysCheap, mostReaders(indices, size));
}

Expr gradc::padAround(Expr x, ArrayRef<int64_t> low, ArrayRef<int64_t> high, double value) {
  OpBuilder &b = x.getBuilder();
  SmallVector<int64_t> none(low.size(), 0);
  if (low == ArrayRef(none) && high == ArrayRef(none))
    return x;
  return x.with(b.createOrFold<PadOp>(x.getLoc(), x, b.getDenseI64ArrayAttr(low),
                                      b.getDenseI64ArrayAttr(high), b.getDenseI64ArrayAttr(none),
                                      b.getF64FloatAttr(value)));
}
