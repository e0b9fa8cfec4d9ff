// Addressing of elements by run-time indices.
#include "dialects/grad/indexing/Index.h"

using namespace mlir;
using namespace mlir::grad;

/// C1: every dim of the data has one coordinate, every index is used once.
static LogicalResult checkDims(const IndexedDims &indexed, int64_t rank, size_t indices,
                               llvm::function_ref<LogicalResult(const Twine &)> fail) {
  if (int64_t(indexed.dims.size()) != rank)
    return fail("expected one entry of dims for each of " + Twine(rank) + " dims, found " +
                formatDims(indexed.dims));
  SmallVector<int64_t> sorted(indexed.dims);
  llvm::sort(sorted);
  bool hasAll = indices > 0 && sorted.size() >= indices;
  for (size_t k = 0; hasAll && k < indices; ++k)
    hasAll = sorted[k] == int64_t(k) - int64_t(indices);
  if (!hasAll || (sorted.size() > indices && sorted[indices] < 0))
    return fail("expected each of -1 to -" + Twine(indices) + " once in dims, found " +
                formatDims(indexed.dims));
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
    return fail("expected distinct dims, found " + formatDims(indexed.dims));
  return success();
}

static std::string formatType(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << '\'' << type << '\'';
  return text;
}

/// C2: all indices have one shape, and each of its dims runs along a distinct dim.
static LogicalResult checkIndices(const IndexedDims &indexed, TypeRange indices,
                                  llvm::function_ref<LogicalResult(const Twine &)> fail) {
  auto first = cast<RankedTensorType>(indices[0]);
  for (Type type : indices) {
    auto index = cast<RankedTensorType>(type);
    Type element = index.getElementType();
    if (!element.isSignlessInteger(32) && !element.isSignlessInteger(64))
      return fail("expected indices of i32 or i64, found " + formatType(element));
    if (index.getShape() != first.getShape())
      return fail("expected indices of one shape, found " + formatDims(first.getShape()) + " and " +
                  formatDims(index.getShape()));
  }
  SmallVector<int64_t> sorted(indexed.indexDims);
  llvm::sort(sorted);
  if (int64_t(sorted.size()) != first.getRank() || (!sorted.empty() && sorted[0] < 0) ||
      std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
    return fail("expected one distinct entry of index_dims for each of " + Twine(first.getRank()) +
                " dims, found " + formatDims(indexed.indexDims));
  return success();
}

LogicalResult IndexedDims::infer(RankedTensorType data, TypeRange indices,
                                 SmallVectorImpl<int64_t> &shape,
                                 llvm::function_ref<LogicalResult(const Twine &)> fail) const {
  if (failed(checkDims(*this, data.getRank(), indices.size(), fail)) ||
      failed(checkIndices(*this, indices, fail)))
    return failure();
  constexpr int64_t unknown = -1;
  const int64_t most = int64_t(dims.size() + indexDims.size());
  int64_t rank = 0;
  for (int64_t d : llvm::concat<const int64_t>(dims, indexDims)) {
    if (d >= most) // C3, before memory for so many dims is allocated
      return fail("expected dims and index_dims below " + Twine(most) + ", found " + Twine(d));
    rank = std::max(rank, d + 1);
  }
  shape.assign(rank, unknown);
  auto set = [&](int64_t dim, int64_t size) {
    bool agrees = shape[dim] == unknown || shape[dim] == size;
    shape[dim] = size;
    return agrees;
  };
  for (auto [d, size] : llvm::zip_equal(dims, data.getShape()))
    if (d >= 0)
      set(d, size);
  for (auto [d, size] : llvm::zip_equal(indexDims, cast<RankedTensorType>(indices[0]).getShape()))
    if (int64_t known = shape[d]; !set(d, size))
      return fail("expected dim " + Twine(d) + " to have one size, found " + Twine(known) +
                  " in the data and " + Twine(size) + " in the indices");
  for (auto [d, size] : llvm::enumerate(shape))
    if (size == unknown)
      return fail("expected dim " + Twine(d) + " in dims or index_dims");
  return success();
}

bool IndexedDims::locate(ArrayRef<int64_t> at, ArrayRef<HostTensor> indices,
                         ArrayRef<int64_t> dataShape, SmallVectorImpl<int64_t> &coordinates) const {
  SmallVector<int64_t> from = llvm::map_to_vector(indexDims, [&](int64_t d) { return at[d]; });
  bool inside = true;
  coordinates.clear();
  for (auto [i, size] : llvm::enumerate(dataShape)) {
    if (!isIndex(i)) {
      coordinates.push_back(at[dims[i]]);
      continue;
    }
    const HostTensor &index = indices[indexOf(i)];
    int64_t c = index.getInt(linearize(from, index.getShape()));
    coordinates.push_back(c < 0 ? c + size : c);
    inside &= coordinates.back() >= 0 && coordinates.back() < size;
  }
  return inside;
}

Scalar grad::wrapIndex(OpBuilder &builder, Location location, Value index, int64_t size) {
  Scalar i(builder, location, index);
  if (!i.type().isInteger(64))
    i = i.to<arith::ExtSIOp>(builder.getI64Type());
  return (i < i.integer(0)).select(i + i.integer(size), i);
}
