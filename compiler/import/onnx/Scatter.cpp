// ScatterElements and ScatterND, with every reduction: updates combined into elements at indices.
#include "dialects/Pch.h"

#include "compiler/import/onnx/Indices.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

static FailureOr<ScatterReduction> expectReduction(Node &n) {
  StringRef name = n.string("reduction", "none");
  static const std::pair<StringRef, ScatterReduction> known[] = {
      {"none", ScatterReduction::replace},
      {"add", ScatterReduction::add},
      {"mul", ScatterReduction::mul},
      {"max", ScatterReduction::max},
      {"min", ScatterReduction::min}};
  for (auto [spelling, reduction] : known)
    if (name == spelling) {
      if (reduction != ScatterReduction::replace && failed(n.expect(0, Kind::Number)))
        return failure();
      return reduction;
    }
  return n.error() << "expected reduction none, add, mul, max or min, found \"" << name << "\"";
}

static LogicalResult expectUpdates(Node &n, ArrayRef<int64_t> shape) {
  if (failed(n.expectSameElement(0, 2)))
    return failure();
  if (n.shape(2) == shape)
    return success();
  return n.error() << "expected updates " << formatDims(shape) << " for " << n.describeOperand(0)
                   << " and " << n.describeOperand(1) << ", found " << n.describeOperand(2);
}

static LogicalResult importScatterElements(Node &n) {
  FailureOr<int64_t> dim = n.axis(n.integer("axis", 0), n.rank(0));
  FailureOr<ScatterReduction> how = expectReduction(n);
  if (failed(dim) || failed(how) || failed(expectElementIndices(n, *dim)) ||
      failed(expectUpdates(n, n.shape(1))))
    return failure();
  FailureOr<Value> indices = expectIndices(n, n.operand(1), *dim);
  if (failed(indices))
    return failure();
  // Where another dim of the data is longer, the elements behind the updates get some of no effect:
  // their index is out of range.
  Value updates = n.operand(2);
  SmallVector<int64_t> high, zeros(n.rank(0), 0);
  for (auto [d, from, to] : llvm::enumerate(n.shape(0), n.shape(1)))
    high.push_back(int64_t(d) == *dim ? 0 : from - to);
  if (high != zeros) {
    auto pad = [&](Value value, double with) {
      return n.builder().createOrFold<PadOp>(n.loc(), value, zeros, high, zeros, APFloat(with));
    };
    indices = pad(*indices, double(n.shape(0)[*dim]));
    updates = pad(updates, 0);
  }
  return n.set(n.builder().createOrFold<ScatterOp>(n.loc(), n.type(0), n.operand(0), *indices,
                                                   updates, *how, elementDims(n.rank(0), *dim),
                                                   allDims(n.rank(0))));
}

static LogicalResult importScatterND(Node &n) {
  FailureOr<ScatterReduction> how = expectReduction(n);
  FailureOr<IndexTuples> tuples = expectTuples(n, /*batchDims=*/0);
  if (failed(how) || failed(tuples))
    return failure();
  ArrayRef<int64_t> outer = n.shape(1).drop_back();
  SmallVector<int64_t> shape(outer);
  llvm::append_range(shape, n.shape(0).drop_front(tuples->indices.size()));
  if (failed(expectUpdates(n, shape)))
    return failure();
  return n.set(n.builder().createOrFold<ScatterOp>(n.loc(), n.type(0), n.operand(0),
                                                   tuples->indices, n.operand(2), *how,
                                                   tuples->dims, allDims(outer.size())));
}

void gradc::addScatterOps(OpTable &ops) {
  ops["Scatter"] = {importScatterElements, 3, 3};
  ops["ScatterElements"] = {importScatterElements, 3, 3};
  ops["ScatterND"] = {importScatterND, 3, 3};
}
