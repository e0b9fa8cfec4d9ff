// Concat and Split: tensors behind each other along a dim, and the parts of one.
#include "dialects/Pch.h"

#include "compiler/import/onnx/ops/Indices.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

/// The elements along `dim` that a run has are moved together: those of each operand are at its
/// beginning.
static LogicalResult moveTogether(Node &n, Value joined, int64_t dim) {
  OpBuilder &b = n.builder();
  SmallVector<Value> areThere;
  for (unsigned i = 0; i < n.operandCount(); ++i) {
    std::optional<RunExtent> extent = n.extent(i);
    int64_t size = n.shape(i)[dim];
    if (size == 0)
      continue;
    auto numbers = RankedTensorType::get({size}, b.getI64Type());
    Expr count = n.expr(extent ? extent->count : n.constantInts({size}, /*scalar=*/true));
    Expr position = n.expr(IotaOp::create(b, n.loc(), numbers, 0));
    areThere.push_back(position.compare(ComparePredicate::lt, count.broadcastScalar(numbers)));
  }
  Expr whole = n.expr(joined);
  Kept kept = keepWhere(n.expr(concatenate(b, n.loc(), areThere, 0)), whole.shape()[dim]);
  return n.set(0, gatherAlong(whole, dim, kept.positions), {dim, kept.count});
}

static LogicalResult setJoined(Node &n, Value joined, int64_t dim) {
  std::optional<RunExtent> common;
  for (unsigned i = 0; i < n.operandCount(); ++i)
    if (auto extent = n.extent(i); extent && !common)
      common = extent;
  if (!common || cast<RankedTensorType>(joined.getType()).getNumElements() == 0)
    return n.set(joined);
  if (n.operandCount() == 1)
    return n.set(0, joined, *common);
  for (unsigned i = 0; i < n.operandCount(); ++i) {
    std::optional<RunExtent> extent = n.extent(i);
    bool fits = common->dim == dim
                    ? !extent || extent->dim == dim
                    : extent && extent->dim == common->dim && extent->count == common->count;
    if (!fits)
      return n.error() << "expected operands with one extent that only a run knows, in dim "
                       << common->dim << ", found " << n.describeOperand(i);
  }
  return common->dim == dim ? moveTogether(n, joined, dim) : n.set(0, joined, *common);
}

static LogicalResult importConcat(Node &n) {
  FailureOr<int64_t> dim = n.axis(n.integer("axis", 1), n.rank(0));
  if (failed(dim))
    return failure();
  SmallVector<Value> operands;
  SmallVector<int64_t> result(n.shape(0));
  result[*dim] = 0;
  for (unsigned i = 0; i < n.operandCount(); ++i) {
    if (!n.operand(i))
      return n.error() << "operand " << i << " is missing";
    if (failed(n.expectSameElement(0, i)) || failed(n.expectRank(i, n.rank(0))))
      return failure();
    for (int64_t d = 0; d < n.rank(0); ++d)
      if (d != *dim && n.shape(i)[d] != n.shape(0)[d])
        return n.error() << "expected shapes that agree but in dim " << *dim << ", found "
                         << n.describeOperand(0) << " and " << n.describeOperand(i);
    result[*dim] += n.shape(i)[*dim];
    operands.push_back(n.operand(i));
  }
  if (failed(n.expectSensible(result)))
    return failure();
  return setJoined(n, concatenate(n.builder(), n.loc(), operands, *dim), *dim);
}

/// Part sizes as an attribute (up to opset 12) or an operand; otherwise equal parts, the last one
/// smaller (from opset 18 on).
static LogicalResult importSplit(Node &n) {
  FailureOr<int64_t> dim = n.axis(n.integer("axis", 0), n.rank(0));
  auto given = n.integersOrOperand("split", 1);
  int64_t parts = n.integer("num_outputs", n.resultCount());
  if (failed(dim) || failed(given))
    return failure();
  std::optional<RunExtent> extent = n.extent(0);
  if (extent && extent->dim == *dim && (*given ? int64_t((*given)->size()) : parts) != 1)
    return n.error() << "expected to split another dim than " << *dim << " of "
                     << n.describeOperand(0) << ", whose extent only a run knows";
  int64_t size = n.shape(0)[*dim];
  SmallVector<int64_t> sizes;
  if (*given) {
    n.fixRows(1);
    sizes = **given;
  } else {
    if (parts != int64_t(n.resultCount()) || (n.opset() < 18 && size % parts != 0))
      return n.error() << "expected " << n.resultCount() << " equal parts of dim " << *dim
                       << ", found " << n.describeOperand(0);
    int64_t part = llvm::divideCeil(size, parts);
    for (int64_t left = size, i = 0; i < parts; ++i, left -= sizes.back())
      sizes.push_back(std::min(part, left));
  }
  int64_t total = 0;
  for (int64_t s : sizes)
    if (s < 0 || s > size || (total += s) > size)
      return n.error() << "expected parts that add up to dim " << *dim << " of "
                       << n.describeOperand(0);
  if (total != size || sizes.size() != n.resultCount())
    return n.error() << "expected " << n.resultCount() << " parts that add up to " << size
                     << ", found " << sizes.size() << " that add up to " << total;
  int64_t from = 0;
  for (auto [i, part] : llvm::enumerate(sizes)) {
    Value slice = n.expr(0u).slice(*dim, from, part);
    if (n.wants(i) && failed(extent ? n.set(i, slice, *extent) : n.set(i, slice)))
      return failure();
    from += part;
  }
  return success();
}

void gradc::addJoinOps(OpTable &ops) {
  ops["Concat"] = {importConcat, 1, OnnxOp::any};
  ops["Split"] = {importSplit, 1, 2};
  takeExtents(ops, TakesExtents::itself, {"Concat", "Split"});
  takeNarrow(ops, TakesNarrow::moved, {"Concat", "Split"});
}
