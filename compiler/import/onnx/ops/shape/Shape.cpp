// Ops that change shapes or move elements, and ops that compute with shapes. All shapes are known
// at compile time, up to extents that only a run knows, so most of the latter become constants.
#include "dialects/Pch.h"

#include "compiler/import/onnx/Node.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

static int64_t count(ArrayRef<int64_t> shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t(1), std::multiplies<>());
}

static LogicalResult wrongSize(Node &n, ArrayRef<int64_t> shape) {
  auto error = n.error() << "expected a shape of " << n.type(0).getNumElements() << " elements for "
                         << n.describeOperand(0) << ", found [";
  llvm::interleaveComma(shape, error);
  return error << "]";
}

/// 0 copies a dim (unless allowzero); -1 takes the remaining elements.
static LogicalResult importReshape(Node &n) {
  bool allowZero = n.integer("allowzero", 0);
  FailureOr<RunShape> given = n.knownShape(1, "the shape");
  if (failed(given))
    return failure();
  n.fixRowsOfSizes(1);
  if (given->extent && !n.extent(0))
    return n.error()
           << "expected the shape to be known at compile time, but only a run knows element "
           << given->extent->dim << " of " << n.describeOperand(1);
  ArrayRef<int64_t> asked = given->sizes;
  SmallVector<int64_t> shape(asked);
  int64_t rest = -1, product = 1;
  for (auto [d, size] : llvm::enumerate(shape)) {
    if (size == 0 && !allowZero) {
      if (int64_t(d) >= n.rank(0))
        return wrongSize(n, asked);
      size = n.shape(0)[d];
    }
    if (size == -1 && rest < 0)
      rest = d;
    else if (size < 0 || llvm::MulOverflow(product, size, product))
      return wrongSize(n, asked);
  }
  int64_t elements = n.type(0).getNumElements();
  if (rest >= 0) {
    if (product == 0 ? elements != 0 : elements % product != 0)
      return wrongSize(n, asked);
    shape[rest] = product == 0 ? 0 : elements / product;
    product *= shape[rest];
  }
  if (product != elements)
    return wrongSize(n, asked);
  return n.setReshaped(shape);
}

static LogicalResult importFlatten(Node &n) {
  int64_t axis = n.integer("axis", 1), rank = n.rank(0);
  if (axis < -rank || axis > rank)
    return n.error() << "expected an axis from " << -rank << " to " << rank << ", found " << axis;
  if (axis < 0)
    axis += rank;
  return n.setReshaped({count(n.shape(0).take_front(axis)), count(n.shape(0).drop_front(axis))});
}

static LogicalResult importTranspose(Node &n) {
  SmallVector<int64_t> order;
  if (auto given = n.integers("perm"))
    order = *given;
  else
    for (int64_t d = n.rank(0) - 1; d >= 0; --d)
      order.push_back(d);
  SmallVector<int64_t> sorted(order);
  llvm::sort(sorted);
  if (sorted != llvm::to_vector(llvm::seq<int64_t>(0, n.rank(0)))) {
    auto error = n.error() << "expected a permutation of the dims of " << n.describeOperand(0)
                           << ", found [";
    llvm::interleaveComma(order, error);
    return error << "]";
  }
  Value turned = n.expr(0u).transpose(order);
  auto extent = n.extent(0);
  return extent ? n.setLike(0, turned, llvm::find(order, extent->dim) - order.begin())
                : n.set(turned);
}

static LogicalResult importSqueeze(Node &n) {
  auto given = n.integersOrOperand("axes", 1);
  if (failed(given))
    return failure();
  SmallVector<int64_t> dims, shape;
  int64_t before = 0; // squeezed dims before the dim whose extent only a run knows
  if (*given) {
    auto checked = n.axes(**given, n.rank(0));
    if (failed(checked))
      return failure();
    dims = *checked;
  }
  for (auto [d, size] : llvm::enumerate(n.shape(0))) {
    bool named = llvm::is_contained(dims, int64_t(d));
    if (named && size != 1)
      return n.error() << "expected dim " << d << " of " << n.describeOperand(0) << " to be 1";
    auto extent = n.extent(0);
    if (!(named || (!*given && size == 1)))
      shape.push_back(size);
    else if (extent && extent->dim == int64_t(d))
      return n.error() << "expected to keep dim " << d << " of " << n.describeOperand(0)
                       << ", whose extent only a run knows";
    else if (extent && extent->dim > int64_t(d))
      ++before;
  }
  auto extent = n.extent(0);
  return n.setLike(0, n.expr(0u).reshape(shape), extent ? extent->dim - before : 0);
}

static LogicalResult importUnsqueeze(Node &n) {
  auto given = n.integersOrOperand("axes", 1);
  if (failed(given))
    return failure();
  if (!*given)
    return n.error() << "axes are missing";
  int64_t rank = n.rank(0) + int64_t((*given)->size());
  auto dims = n.axes(**given, rank);
  if (failed(dims))
    return failure();
  SmallVector<int64_t> shape(rank, 1), kept = otherDims(rank, *dims);
  for (auto [d, size] : llvm::zip_equal(kept, n.shape(0)))
    shape[d] = size;
  auto extent = n.extent(0);
  return n.setLike(0, n.expr(0u).reshape(shape), extent ? kept[extent->dim] : 0);
}

namespace {
struct SliceOperands {
  SmallVector<int64_t> starts, axes, steps;
  RunShape ends; ///< one of which only a run may know
};
} // namespace

/// Attributes up to opset 9, and operands from opset 10 on.
static FailureOr<SliceOperands> readSlice(Node &n) {
  SliceOperands read;
  auto get = [&](StringRef name, unsigned i, SmallVector<int64_t> &to) {
    auto values = n.integersOrOperand(name, i);
    if (failed(values))
      return failure();
    if (*values)
      to = **values;
    return success();
  };
  if (failed(get("starts", 1, read.starts)) || failed(get("axes", 3, read.axes)) ||
      failed(get("steps", 4, read.steps)))
    return failure();
  if (n.operand(2)) {
    FailureOr<RunShape> ends = n.knownShape(2, "ends");
    if (failed(ends))
      return failure();
    read.ends = *ends;
  } else if (failed(get("ends", 2, read.ends.sizes))) {
    return failure();
  }
  auto &[starts, axes, steps, ends] = read;
  if (axes.empty())
    axes = llvm::to_vector(llvm::seq<int64_t>(0, starts.size()));
  if (steps.empty())
    steps.assign(starts.size(), 1);
  if (starts.size() != ends.sizes.size() || starts.size() != axes.size() ||
      starts.size() != steps.size())
    return n.error() << "expected as many starts, ends, axes and steps, found " << starts.size()
                     << ", " << ends.sizes.size() << ", " << axes.size() << " and " << steps.size();
  if (failed(n.axes(axes, n.rank(0))))
    return failure();
  return read;
}

/// Sets the result to the first elements of operand 0 along a dim. If `end` is given, a run has as
/// many as its count, which is at most `most`, as far as it has that many elements.
static LogicalResult setFirst(Node &n, Value slice, std::optional<RunExtent> end, int64_t most) {
  std::optional<RunExtent> extent = n.extent(0);
  int64_t dim = end ? end->dim : extent->dim, whole = n.shape(0)[dim];
  Expr count = n.expr(end ? end->count : extent->count);
  int64_t size = cast<RankedTensorType>(slice.getType()).getDimSize(dim);
  if (end && extent && extent->count != end->count)
    count = count.apply<MinOp>(extent->count);
  else if (end ? !extent && most > whole : size < whole)
    count = count.apply<MinOp>(count.splat(double(size)));
  return n.set(0, slice, {dim, count});
}

/// numpy's slicing.
static LogicalResult importSlice(Node &n) {
  FailureOr<SliceOperands> read = readSlice(n);
  if (failed(read))
    return failure();
  auto &[starts, axes, steps, ends] = *read;
  SmallVector<int64_t> from(n.rank(0), 0), sizes(n.shape(0)), strides(n.rank(0), 1);
  auto extent = n.extent(0);
  std::optional<RunExtent> runEnd;
  int64_t most = 0;
  bool isBeginning = true; // of the dim whose extent only a run knows
  SmallVector<bool> isCut; // of each axis
  for (auto [i, start, end, axis, step] : llvm::enumerate(starts, ends.sizes, axes, steps)) {
    if (step == 0)
      return n.error() << "expected steps that are not 0";
    int64_t dim = *n.axis(axis, n.rank(0)), size = n.shape(0)[dim];
    // Negative positions count from the back. Positions are clamped to the ends; backwards, the
    // start is an element (unlike in numpy), and the end may be one before 0.
    auto position = [&](int64_t p, int64_t first) {
      return std::min(std::max(p < 0 ? p + size : p, first), step < 0 ? size - 1 : size);
    };
    int64_t a = position(start, 0), b = position(end, step < 0 ? -1 : 0);
    int64_t distance = step < 0 ? a - b : b - a;
    // Negating INT64_MIN would overflow; any step larger than the dim takes one element.
    int64_t width = step < -size ? size + 1 : std::min(step < 0 ? -step : step, size + 1);
    sizes[dim] = distance <= 0 ? 0 : (distance - 1) / width + 1;
    from[dim] = sizes[dim] ? a : 0;
    strides[dim] = step < 0 ? -width : width;
    isCut.push_back(sizes[dim] != size || strides[dim] != 1);
    isBeginning &= !extent || extent->dim != dim || (a == 0 && end >= 0 && step == 1);
    if (!ends.extent || ends.extent->dim != int64_t(i))
      continue;
    if (a != 0 || step != 1 || (extent && extent->dim != dim))
      return n.error() << "expected the first elements of dim " << dim << " of "
                       << n.describeOperand(0) << " alone, because only a run knows their end";
    runEnd = RunExtent{dim, ends.extent->count};
    most = end;
  }
  for (unsigned i : {1, 2, 4}) {
    n.fixRowsOfSizes(i); // a dim that is taken whole may be that of the rows
    n.fixRows(i, [&](int64_t axis) { return isCut[axis]; });
  }
  for (auto [i, axis] : llvm::enumerate(axes))
    for (unsigned bound : {1, 2})
      if (!isCut[i])
        n.sizeByRows(n.operand(0), *n.axis(axis, n.rank(0)), bound, int64_t(i));
  if (!isBeginning)
    return n.error() << "expected all or the first elements of dim " << extent->dim << " of "
                     << n.describeOperand(0) << ", whose extent only a run knows";
  if (runEnd) // not folded: the operand, if it has no extent, stays a value without one
    return setFirst(n, SliceOp::create(n.builder(), n.loc(), n.operand(0), from, sizes, strides),
                    runEnd, most);
  Value slice = n.builder().createOrFold<SliceOp>(n.loc(), n.operand(0), from, sizes, strides);
  return extent ? setFirst(n, slice, std::nullopt, 0) : n.set(slice);
}

/// Sets the result to `wide`, operand 0 in a larger shape. Where only a run knows the extent of the
/// operand or an element of the shape, the other one has size 1 or the same extent.
static LogicalResult setExpanded(Node &n, Value wide, const RunShape &shape) {
  int64_t rank = cast<RankedTensorType>(wide.getType()).getRank();
  std::optional<RunExtent> own = n.extent(0), asked = shape.extent;
  auto sizeAt = [&](ArrayRef<int64_t> sizes, int64_t dim) {
    int64_t d = dim - rank + int64_t(sizes.size());
    return d < 0 ? 1 : sizes[d];
  };
  if (!own && !asked)
    return n.set(wide);
  if (own)
    own->dim += rank - n.rank(0);
  if (asked)
    asked->dim += rank - int64_t(shape.sizes.size());
  int64_t other = sizeAt(own ? ArrayRef(shape.sizes) : n.shape(0), own ? own->dim : asked->dim);
  // The shape of operand 0 itself is known if the mask that its extent counts is.
  bool fits = own && asked ? own->dim == asked->dim && own->count == asked->count
                           : other == 1 || (own && n.knownCount(*own) == other);
  if (!fits)
    return n.error() << "expected dim " << (own ? own->dim : asked->dim)
                     << " of the result, whose extent only a run knows, to follow one of "
                     << n.describeOperand(0) << " and " << n.describeOperand(1)
                     << ", found that both determine it";
  if (wide == n.operand(0) && !own) // which stays a value without an extent
    wide = ReshapeOp::create(n.builder(), n.loc(), wide.getType(), wide);
  return n.set(0, wide, own ? *own : *asked);
}

static LogicalResult importExpand(Node &n) {
  FailureOr<RunShape> given = n.knownShape(1, "the shape");
  if (failed(given) || failed(n.expectSensible(given->sizes)))
    return failure();
  n.fixRowsOfSizes(1);
  ArrayRef<int64_t> shape = given->sizes;
  auto common = broadcastShape(n.shape(0), shape);
  if (!common) {
    auto error = n.error() << "expected a shape that " << n.describeOperand(0)
                           << " broadcasts to, found [";
    llvm::interleaveComma(shape, error);
    return error << "]";
  }
  if (failed(n.expectSensible(*common)))
    return failure();
  Value wide = n.broadcast(n.operand(0), *common);
  int64_t rank = int64_t(common->size()), before = rank - int64_t(shape.size());
  for (int64_t i = 0; i < int64_t(shape.size()); ++i)
    if (int64_t own = before + i - (rank - n.rank(0)); own < 0 || n.shape(0)[own] == 1)
      n.sizeByRows(wide, before + i, 1, i);
  return setExpanded(n, wide, *given);
}

/// Tile [n] -> [repeats, n] -> [repeats n], dim by dim.
static LogicalResult importTile(Node &n) {
  auto repeats = n.knownInts(1, "repeats");
  if (failed(repeats))
    return failure();
  n.fixRowsOfSizes(1);
  if (int64_t(repeats->size()) != n.rank(0))
    return n.error() << "expected " << n.rank(0) << " repeats, found " << repeats->size();
  SmallVector<int64_t> wide, dims, shape;
  SmallVector<std::pair<int64_t, int64_t>> repeated; // dims of `wide`, each with its own repeats
  for (auto [i, size, times] : llvm::enumerate(n.shape(0), *repeats)) {
    if (times != 1) {
      repeated.emplace_back(wide.size(), i);
      wide.push_back(times);
    }
    dims.push_back(wide.size());
    wide.push_back(size);
    if (shape.push_back(0); llvm::MulOverflow(size, times, shape.back()))
      return n.error() << "expected repeats below 2^63";
  }
  if (failed(n.expectSensible(wide)))
    return failure();
  Expr tiles = n.expr(0u).broadcast(n.type(0).clone(wide), dims);
  for (auto [dim, i] : repeated)
    n.sizeByRows(tiles.get(), dim, 1, i);
  return n.set(tiles.reshape(shape));
}

/// The number of elements in `dims`, for arithmetic: the size of the batch is a number of the run,
/// as is an extent that only a run knows. As a shape, the batch is known nevertheless.
static Value countOf(Node &n, ArrayRef<int64_t> dims, bool scalar) {
  std::optional<RunExtent> extent = n.extent(0);
  if (extent && llvm::is_contained(dims, extent->dim)) {
    auto others =
        llvm::to_vector(llvm::make_filter_range(dims, [&](int64_t d) { return d != extent->dim; }));
    Expr count = n.expr(countOf(n, others, /*scalar=*/true)) * n.expr(extent->count);
    return scalar ? count : count.reshape({1});
  }
  constexpr int64_t maxCount = 1 << 24; // counts are f32
  int64_t size = 1;
  for (int64_t d : dims)
    size *= n.shape(0)[d];
  if (size > maxCount || !mayHoldBatch(n.builder(), n.type(0), dims))
    return n.constantInts({size}, scalar);
  Expr count = n.expr(CountOp::create(n.builder(), n.loc(), n.operand(0), dims, IntegerAttr()));
  count = count.cast(n.builder().getI64Type());
  return scalar ? count : count.reshape({1});
}

static LogicalResult importShape(Node &n) {
  int64_t rank = n.rank(0), start = n.integer("start", 0), end = n.integer("end", rank);
  start = std::clamp<int64_t>(start < 0 ? start + rank : start, 0, rank);
  end = std::clamp<int64_t>(end < 0 ? end + rank : end, start, rank);
  SmallVector<Value> sizes;
  for (int64_t d = start; d < end; ++d)
    sizes.push_back(countOf(n, {d}, /*scalar=*/false));
  if (llvm::all_of(sizes, [](Value size) { return matchPattern(size, m_Constant()); }))
    return n.set(n.constantInts(n.shape(0).slice(start, end - start)));
  return n.set(n.builder().createOrFold<ConcatenateOp>(n.loc(), sizes, 0));
}

static LogicalResult importSize(Node &n) {
  return n.set(countOf(n, llvm::to_vector(llvm::seq(n.rank(0))), /*scalar=*/true));
}

static LogicalResult expectMode(Node &n, StringRef mode) {
  if (mode == "DCR" || mode == "CRD")
    return success();
  return n.error() << "expected mode \"DCR\" or \"CRD\", found \"" << mode << "\"";
}

/// Channels to squares of pixels, and back: a transposed reshape.
static LogicalResult importDepthToSpace(Node &n) {
  int64_t block = n.integer("blocksize", 0);
  StringRef mode = n.string("mode", "DCR");
  if (failed(n.expectRank(0, 4)) || failed(expectMode(n, mode)))
    return failure();
  ArrayRef<int64_t> s = n.shape(0);
  if (block <= 0 || !fits({block, block}) || s[1] % (block * block) != 0)
    return n.error() << "expected dim 1 of " << n.describeOperand(0)
                     << " to be a multiple of blocksize^2, found blocksize " << block;
  int64_t c = s[1] / (block * block);
  Expr x =
      mode == "DCR"
          ? n.expr(0u).reshape({s[0], block, block, c, s[2], s[3]}).transpose({0, 3, 4, 1, 5, 2})
          : n.expr(0u).reshape({s[0], c, block, block, s[2], s[3]}).transpose({0, 1, 4, 2, 5, 3});
  return n.set(x.reshape({s[0], c, s[2] * block, s[3] * block}));
}

static LogicalResult importSpaceToDepth(Node &n) {
  int64_t block = n.integer("blocksize", 0);
  StringRef mode = n.string("mode", "DCR");
  if (failed(n.expectRank(0, 4)) || failed(expectMode(n, mode)))
    return failure();
  ArrayRef<int64_t> s = n.shape(0);
  if (block <= 0 || s[2] % block || s[3] % block)
    return n.error() << "expected dims 2 and 3 of " << n.describeOperand(0)
                     << " to be multiples of blocksize, found " << block;
  int64_t h = s[2] / block, w = s[3] / block;
  Expr x = n.expr(0u).reshape({s[0], s[1], h, block, w, block});
  x = mode == "DCR" ? x.transpose({0, 3, 5, 1, 2, 4}) : x.transpose({0, 1, 3, 5, 2, 4});
  return n.set(x.reshape({s[0], s[1] * block * block, h, w}));
}

void gradc::addShapeOps(OpTable &ops) {
  ops["Reshape"] = {importReshape, 2, 2};
  ops["Flatten"] = {importFlatten, 1, 1};
  ops["Transpose"] = {importTranspose, 1, 1};
  ops["Squeeze"] = {importSqueeze, 1, 2};
  ops["Unsqueeze"] = {importUnsqueeze, 1, 2};
  ops["Slice"] = {importSlice, 1, 5};
  ops["Expand"] = {importExpand, 2, 2};
  ops["Tile"] = {importTile, 2, 2};
  ops["Shape"] = {importShape, 1, 1};
  ops["Size"] = {importSize, 1, 1};
  takeExtents(ops, TakesExtents::itself,
              {"Reshape", "Flatten", "Transpose", "Squeeze", "Unsqueeze", "Slice", "Expand",
               "Shape", "Size"});
  ops["DepthToSpace"] = {importDepthToSpace, 1, 1};
  ops["SpaceToDepth"] = {importSpaceToDepth, 1, 1};
  takeNarrow(ops, TakesNarrow::moved,
             {"Reshape", "Flatten", "Transpose", "Squeeze", "Unsqueeze", "Slice", "Expand", "Tile",
              "DepthToSpace", "SpaceToDepth"});
  takeNarrow(ops, TakesNarrow::itself, {"Shape", "Size"});
}
