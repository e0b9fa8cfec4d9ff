// Sequences of tensors, and optional values. Their lengths and contents are known at compile time,
// so the importer handles them as lists of values, and they never reach the compiled code.
#include "dialects/Pch.h"

#include "compiler/import/onnx/ImportGraph.h"
#include "compiler/import/onnx/SequencePorts.h"
#include "compiler/import/onnx/Subgraph.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

static LogicalResult expectSequence(Node &n, unsigned i) {
  if (n.isSequence(i))
    return success();
  return n.error() << "expected a sequence as operand " << i << ", found a tensor";
}

/// A position among `size` tensors; negative positions count from the back.
static FailureOr<int64_t> position(Node &n, unsigned i, int64_t size) {
  auto known = n.knownInts(i, "the position");
  if (failed(known))
    return failure();
  if (known->size() != 1 || known->front() < -size || known->front() >= size)
    return n.error() << "expected a position from " << -size << " to " << size - 1 << ", found "
                     << formatDims(*known);
  return known->front() < 0 ? known->front() + size : known->front();
}

static LogicalResult importConstruct(Node &n) {
  SmallVector<Value> values;
  for (unsigned i = 0; i < n.operandCount(); ++i) {
    if (!n.operand(i))
      return n.error() << "operand " << i << " is missing";
    if (failed(n.expectSameElement(0, i)))
      return failure();
    values.push_back(n.operand(i));
  }
  return n.setSequence(values);
}

static LogicalResult importEmpty(Node &n) {
  n.ignore("dtype");
  return n.setSequence({});
}

/// Inserts before the position, or at the end.
static LogicalResult importInsert(Node &n) {
  if (failed(expectSequence(n, 0)))
    return failure();
  SmallVector<Value> values(n.sequence(0));
  FailureOr<int64_t> at = int64_t(values.size());
  if (n.operand(2)) {
    auto known = n.knownInts(2, "the position");
    bool isEnd = succeeded(known) && known->size() == 1 && known->front() == int64_t(values.size());
    if (!isEnd)
      at = succeeded(known) ? position(n, 2, values.size()) : FailureOr<int64_t>(failure());
  }
  if (failed(at))
    return failure();
  values.insert(values.begin() + *at, n.operand(1));
  return n.setSequence(values);
}

/// Removes the tensor at the position, or the last one.
static LogicalResult importErase(Node &n) {
  if (failed(expectSequence(n, 0)))
    return failure();
  SmallVector<Value> values(n.sequence(0));
  if (values.empty())
    return n.error() << "expected a sequence of tensors, found an empty one";
  FailureOr<int64_t> at = int64_t(values.size()) - 1;
  if (n.operand(1))
    at = position(n, 1, values.size());
  if (failed(at))
    return failure();
  values.erase(values.begin() + *at);
  return n.setSequence(values);
}

static LogicalResult importAt(Node &n) {
  if (failed(expectSequence(n, 0)))
    return failure();
  FailureOr<int64_t> at = position(n, 1, n.sequence(0).size());
  return failed(at) ? failure() : n.set(n.sequence(0)[*at]);
}

static LogicalResult importLength(Node &n) {
  if (failed(expectSequence(n, 0)))
    return failure();
  return n.set(n.constantInts({int64_t(n.sequence(0).size())}, /*scalar=*/true));
}

static LogicalResult importConcatFromSequence(Node &n) {
  bool stacks = n.integer("new_axis", 0);
  if (failed(expectSequence(n, 0)))
    return failure();
  if (n.sequence(0).empty())
    return n.error() << "expected a sequence of tensors, found an empty one";
  auto first = cast<RankedTensorType>(n.sequence(0).front().getType());
  FailureOr<int64_t> dim = n.axis(n.integer("axis", 0), first.getRank() + stacks);
  if (failed(dim))
    return failure();
  SmallVector<Value> parts;
  for (Value value : n.sequence(0)) {
    Expr part = n.expr(value);
    SmallVector<int64_t> shape(part.shape()), expected(first.getShape());
    if (stacks)
      shape.insert(shape.begin() + *dim, 1);
    else if (shape.size() == expected.size())
      expected[*dim] = shape[*dim];
    if (part.type() != first.clone(expected))
      return n.error() << "expected tensors that fit together along dim " << *dim << ", found "
                       << describe(first) << " and " << describe(part.type());
    parts.push_back(part.reshape(shape));
  }
  if (parts.size() == 1)
    return n.set(parts.front());
  return n.set(n.builder().createOrFold<ConcatenateOp>(n.loc(), parts, *dim));
}

/// Splits into parts of one size, the last one smaller, or of given sizes. Without `split`, parts
/// have size 1 in a dim that is removed unless keepdims is set.
static LogicalResult importSplitToSequence(Node &n) {
  FailureOr<int64_t> dim = n.axis(n.integer("axis", 0), n.rank(0));
  bool keep = n.integer("keepdims", 1) || n.operand(1);
  if (failed(dim))
    return failure();
  int64_t size = n.shape(0)[*dim], total = 0;
  SmallVector<int64_t> sizes;
  if (n.operand(1) && n.rank(1) == 1) {
    auto given = n.knownInts(1, "the sizes");
    if (failed(given))
      return failure();
    sizes = *given;
  } else {
    FailureOr<SmallVector<int64_t>> part = SmallVector<int64_t>{1};
    if (n.operand(1))
      part = n.knownInts(1, "the size");
    if (failed(part))
      return failure();
    if (part->size() != 1 || part->front() < 1)
      return n.error() << "expected parts of at least 1, found " << formatDims(*part);
    if (int64_t count = llvm::divideCeil(size, part->front()); count > maxTensors)
      return n.error() << "expected at most " << maxTensors << " parts, found " << count;
    for (int64_t left = size; left > 0; left -= sizes.back())
      sizes.push_back(std::min(left, part->front()));
  }
  for (int64_t s : sizes)
    if (s < 0 || s > size || (total += s) > size)
      return n.error() << "expected parts that add up to " << size << ", found "
                       << formatDims(sizes);
  if (total != size)
    return n.error() << "expected parts that add up to " << size << ", found " << formatDims(sizes);
  SmallVector<int64_t> squeezed(n.shape(0));
  squeezed.erase(squeezed.begin() + *dim);
  SmallVector<Value> parts;
  int64_t from = 0;
  for (int64_t part : sizes) {
    Expr slice = n.expr(0u).slice(*dim, from, part);
    parts.push_back(keep ? slice : slice.reshape(squeezed));
    from += part;
  }
  return n.setSequence(parts);
}

/// An operand that is present has an element; its presence is known at compile time.
static LogicalResult importHasElement(Node &n) {
  HostTensor has(RankedTensorType::get({}, n.builder().getI1Type()));
  has.setInt(0, n.operand(0) || n.isSequence(0));
  return n.set(n.constant(has));
}

static LogicalResult importGetElement(Node &n) {
  return n.isSequence(0) ? n.setSequence(n.sequence(0)) : n.set(n.operand(0));
}

/// An optional without an operand has no element.
static LogicalResult importOptional(Node &n) {
  n.ignore("type");
  if (n.isSequence(0))
    return n.setSequence(n.sequence(0));
  return n.operand(0) ? n.set(n.operand(0)) : n.setAbsent(0);
}

/// Imports the graph once per tensor of the first sequence. Other operands are sequences of the
/// same length, or tensors that every iteration reads.
static LogicalResult importSequenceMap(Node &n) {
  auto graph = findGraph(n, "body");
  if (failed(graph) || failed(expectSequence(n, 0)) ||
      failed(expectCounts(n, **graph, int(n.operandCount()), int(n.resultCount()))))
    return failure();
  size_t length = n.sequence(0).size();
  for (unsigned i = 0; i < n.operandCount(); ++i)
    if (n.isSequence(i) && n.sequence(i).size() != length)
      return n.error() << "expected sequences of one length, found " << length << " and "
                       << n.sequence(i).size() << " tensors";
  std::vector<SmallVector<Value>> results(n.resultCount());
  for (size_t step = 0; step < length; ++step) {
    SmallVector<GraphValue> inputs;
    for (unsigned i = 0; i < n.operandCount(); ++i)
      inputs.push_back({n.isSequence(i) ? n.sequence(i)[step] : n.operand(i), std::nullopt});
    auto values = n.getEntry().importSubgraph(**graph, *n.builder().getInsertionBlock(), inputs);
    if (failed(values))
      return failure();
    for (auto [result, value] : llvm::zip_equal(results, *values)) {
      if (!value.tensor)
        return n.error() << "expected a graph that makes tensors, found a sequence or an optional";
      result.push_back(value.tensor);
    }
  }
  for (auto [i, result] : llvm::enumerate(results))
    (void)n.setSequence(unsigned(i), result);
  return success();
}

void gradc::addSequenceOps(OpTable &ops) {
  ops["SequenceConstruct"] = {importConstruct, 1, OnnxOp::any};
  ops["SequenceEmpty"] = {importEmpty, 0, 0};
  ops["SequenceInsert"] = {importInsert, 2, 3, /*sequences=*/1};
  ops["SequenceErase"] = {importErase, 1, 2, /*sequences=*/1};
  ops["SequenceAt"] = {importAt, 2, 2, /*sequences=*/1};
  ops["SequenceLength"] = {importLength, 1, 1, /*sequences=*/1};
  ops["ConcatFromSequence"] = {importConcatFromSequence, 1, 1, /*sequences=*/1};
  ops["OptionalHasElement"] = {importHasElement, 0, 1, /*sequences=*/1};
  ops["OptionalGetElement"] = {importGetElement, 1, 1, /*sequences=*/1};
  ops["Optional"] = {importOptional, 0, 1, /*sequences=*/1};
  ops["SequenceMap"] = {importSequenceMap, 1, OnnxOp::any, /*sequences=*/OnnxOp::any};
  ops["SplitToSequence"] = {importSplitToSequence, 1, 2};
}
