// TopK.
#include "dialects/Pch.h"

#include "compiler/import/onnx/ops/Indices.h"
#include "compiler/import/onnx/ops/UpperBound.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

namespace {
struct TopK {
  int64_t dim, count;
  bool largest;
  Value ofRun; ///< k as an i64 scalar, if only a run knows it, and `count` is its maximum
};
} // namespace

/// k, or its maximum.
static LogicalResult readCount(Node &n, int64_t size, TopK &read) {
  if (failed(n.expect(1, Kind::Int)))
    return failure();
  if (n.type(1).getNumElements() != 1 || n.extent(1))
    return n.error() << "expected one k, found " << n.describeOperand(1);
  if (std::optional<HostTensor> known = n.getEntry().known(n.operand(1))) {
    n.fixRows(1);
    read.count = known->getInt(0);
    return success();
  }
  read.ofRun = n.expr(1).cast(n.builder().getI64Type()).reshape({});
  read.count = std::clamp<int64_t>(upperBound(n.operand(1)).value_or(size), 0, size);
  return success();
}

/// The number of results of a run: at most as many as there are elements.
static Value countOfRun(Node &n, const TopK &read) {
  std::optional<RunExtent> extent = n.extent(0);
  Expr most = n.expr(extent ? extent->count : n.constantInts({read.count}, /*scalar=*/true));
  Expr k = n.expr(read.ofRun ? read.ofRun : n.constantInts({read.count}, /*scalar=*/true));
  return k.apply<MinOp>(most).apply<MaxOp>(k.splat(0));
}

static FailureOr<TopK> readTopK(Node &n) {
  FailureOr<int64_t> dim = n.axis(n.integer("axis", -1), n.rank(0));
  TopK read{0, n.integer("k", 0), n.integer("largest", 1) != 0, {}};
  n.ignore("sorted"); // without it, any order is allowed
  if (failed(dim) || failed(n.expect(0, Kind::Number)))
    return failure();
  read.dim = *dim;
  int64_t size = n.shape(0)[*dim];
  if (n.operandCount() > 1 && failed(readCount(n, size, read)))
    return failure();
  if (read.count < 0 || read.count > size)
    return n.error() << "expected k from 0 to " << size << ", the size of dim " << *dim << " of "
                     << n.describeOperand(0) << ", found " << read.count;
  // No kernel sorts the widest unsigned integers.
  int64_t most = n.element(0).isUnsignedInteger(64) ? mostCompared : mostSorted;
  if (size > most)
    return n.error() << "among " << size << " elements is not supported: expected at most " << most;
  return read;
}

Value gradc::argsort(Expr x, int64_t dim, int64_t count, bool descending) {
  OpBuilder &b = x.getBuilder();
  // Kernels sort floats and signed integers. No signed integer is wider than 64 unsigned bits.
  unsigned width = x.element().getIntOrFloatBitWidth();
  if (x.element().isUnsignedInteger() && width < 64)
    x = x.cast(b.getIntegerType(2 * width));
  SmallVector<int64_t> shape(x.shape());
  shape[dim] = count;
  return b.createOrFold<ArgsortOp>(x.getLoc(), RankedTensorType::get(shape, b.getI64Type()), x, dim,
                                   descending);
}

static LogicalResult importTopK(Node &n) {
  FailureOr<TopK> read = readTopK(n);
  if (failed(read))
    return failure();
  OpBuilder &b = n.builder();
  std::optional<RunExtent> extent = n.extent(0);
  bool isAmongExtent = extent && extent->dim == read->dim;
  if (extent && !isAmongExtent && read->ofRun)
    return n.error() << "cannot take " << n.describeOperand(0) << " and " << n.describeOperand(1)
                     << ": only a run knows the extent of dim " << extent->dim << " and k";
  // Elements that the run does not have come last.
  using Limits = std::numeric_limits<double>;
  double last = read->largest                  ? -Limits::infinity()
                : isa<FloatType>(n.element(0)) ? Limits::quiet_NaN() // the largest in this order
                                               : Limits::infinity();
  Expr x = n.neutralBehindExtent(0, n.expr(0u), {read->dim}, last);
  Value indices = argsort(x, read->dim, read->count, read->largest);
  Value values = b.createOrFold<GatherOp>(n.loc(), n.operand(0), indices,
                                          elementDims(n.rank(0), read->dim), allDims(n.rank(0)));
  if (isAmongExtent || read->ofRun)
    extent = RunExtent{read->dim, countOfRun(n, *read)};
  for (auto [i, result] : llvm::enumerate(ArrayRef{values, indices}))
    if (n.wants(i) && failed(extent ? n.set(i, result, *extent) : n.set(i, result)))
      return failure();
  return success();
}

void gradc::addSortOps(OpTable &ops) {
  ops["TopK"] = {importTopK, 1, 2};
  takeExtents(ops, TakesExtents::itself, {"TopK"});
}
