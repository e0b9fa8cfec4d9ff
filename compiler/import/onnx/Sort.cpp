// TopK.
#include "dialects/Pch.h"

#include "compiler/import/onnx/Indices.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

namespace {
struct TopK {
  int64_t dim, count;
  bool largest;
};
} // namespace

static FailureOr<TopK> readTopK(Node &n) {
  FailureOr<int64_t> dim = n.axis(n.integer("axis", -1), n.rank(0));
  TopK read{0, n.integer("k", 0), n.integer("largest", 1) != 0};
  n.ignore("sorted"); // without it, any order is allowed
  if (failed(dim) || failed(n.expect(0, Kind::Number)))
    return failure();
  read.dim = *dim;
  if (n.operandCount() > 1) {
    auto given = n.knownInts(1, "k");
    if (failed(given))
      return failure();
    if (given->size() != 1)
      return n.error() << "expected one k, found " << n.describeOperand(1);
    read.count = given->front();
  }
  int64_t size = n.shape(0)[*dim];
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
  Value indices = argsort(n.expr(0u), read->dim, read->count, read->largest);
  Value values = b.createOrFold<GatherOp>(n.loc(), n.operand(0), indices,
                                          elementDims(n.rank(0), read->dim), allDims(n.rank(0)));
  return success(succeeded(n.set(0, values)) && (!n.wants(1) || succeeded(n.set(1, indices))));
}

void gradc::addSortOps(OpTable &ops) { ops["TopK"] = {importTopK, 1, 2}; }
