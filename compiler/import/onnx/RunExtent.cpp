// Values whose extent only a run knows: memory is planned for the maximum, and the extent is a
// value.
#include "dialects/Pch.h"

#include "compiler/import/onnx/ImportGraph.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

void gradc::takeExtents(OpTable &ops, TakesExtents how, ArrayRef<StringRef> names) {
  for (StringRef name : names) {
    assert(ops.contains(name));
    ops[name].extents = how;
  }
}

std::optional<RunExtent> EntryImport::findExtent(Value value) const {
  auto found = extents.find(value);
  return found == extents.end() ? std::nullopt : std::optional(found->second);
}

LogicalResult EntryImport::expectNoExtent(StringRef name, Value value, Location where) const {
  if (auto extent = findExtent(value))
    return emitError(where) << "cannot take \"" << name << "\", " << describe(value.getType())
                            << ": only a run knows the extent of dim " << extent->dim;
  return success();
}

LogicalResult EntryImport::expectWhole(StringRef name, Value value, Location where) const {
  if (failed(expectNoExtent(name, value, where)))
    return failure();
  if (findNarrow(value))
    return emitError(where) << "cannot take \"" << name << "\", " << describeValue(value)
                            << ": only graph outputs can be of that type";
  return success();
}

std::optional<RunExtent> Node::extent(unsigned i) const {
  return operand(i) ? entry.findExtent(operand(i)) : std::nullopt;
}

Expr Node::neutralBehindExtent(unsigned i, Expr x, ArrayRef<int64_t> dims, double neutral) {
  std::optional<RunExtent> extent = this->extent(i);
  if (!extent || !llvm::is_contained(dims, extent->dim))
    return x;
  auto numbers = x.type().clone(builder().getI64Type());
  Expr position = expr(IotaOp::create(builder(), location, numbers, extent->dim));
  Expr isThere =
      position.compare(ComparePredicate::lt, expr(extent->count).broadcastScalar(numbers));
  return isThere.select(x, x.splat(neutral));
}

LogicalResult Node::set(unsigned i, Value value, RunExtent extent) {
  ElementsAttr known;
  if (!matchPattern(extent.count, m_Constant(&known))) {
    entry.setExtent(value, extent);
    return set(i, value);
  }
  return set(i, expr(value).slice(extent.dim, 0, HostTensor(known).getInt(0)));
}

LogicalResult Node::setLike(unsigned operand, Value value, int64_t dim) {
  std::optional<RunExtent> extent = this->extent(operand);
  return extent ? set(0, value, {dim, extent->count}) : set(value);
}

// Dims are counted from the back, since numpy's broadcasting aligns them there.
LogicalResult EntryImport::followExtents(Node &node) {
  std::optional<RunExtent> common;
  for (unsigned i = 0; i < node.operandCount(); ++i)
    if (std::optional<RunExtent> extent = node.extent(i)) {
      int64_t dim = extent->dim - node.rank(i);
      if (common && (common->dim != dim || common->count != extent->count))
        return node.error() << "expected one extent that only a run knows, found another of "
                            << node.describeOperand(i);
      common = RunExtent{dim, extent->count};
    }
  if (!common)
    return success();
  for (unsigned i = 0; i < node.operandCount(); ++i)
    if (node.operand(i) && !node.extent(i) && node.rank(i) + common->dim >= 0 &&
        node.shape(i)[node.rank(i) + common->dim] != 1)
      return node.error() << "expected size 1 in dim " << node.rank(i) + common->dim << " of "
                          << node.describeOperand(i)
                          << ", because only a run knows the extent of another operand in that dim";
  for (Value result : node.getResults())
    if (result && cast<RankedTensorType>(result.getType()).getRank() + common->dim >= 0)
      setExtent(result,
                {cast<RankedTensorType>(result.getType()).getRank() + common->dim, common->count});
  return success();
}
