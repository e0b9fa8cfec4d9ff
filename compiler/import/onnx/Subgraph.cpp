// Subgraphs of nodes: names are looked up from the inside out, and a region receives outside values
// as arguments.
#include "dialects/Pch.h"

#include "compiler/import/onnx/ImportGraph.h"
#include "compiler/import/onnx/model/GraphOrder.h"
#include "compiler/import/onnx/model/Narrow.h"
#include "dialects/grad/control/Control.h"
#include "llvm/ADT/ScopeExit.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

/// The initializer of that name in a subgraph, or null.
static const onnx::TensorProto *initializerOf(const onnx::GraphProto &graph, StringRef name) {
  for (const onnx::TensorProto &tensor : graph.initializer())
    if (tensor.name() == name)
      return &tensor;
  return nullptr;
}

Value EntryImport::valueIn(Scope &at, StringRef name) {
  if (auto known = at.values.find(name); known != at.values.end())
    return known->second;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(&at.block);
  if (!at.outer) {
    const onnx::TensorProto *initializer = model.initializer(name);
    Value value = initializer ? states.read(builder, *initializer) : nullptr;
    if (value)
      markInitializer(value, *initializer);
    return at.values[name] = value;
  }
  // Only initializers of the model's own graph train and are in checkpoints.
  if (const onnx::TensorProto *initializer = initializerOf(at.graph, name)) {
    FailureOr<ElementsAttr> held = model.value(*initializer, model.nameLoc(name));
    if (failed(held))
      return at.values[name] = Value();
    Value value = ConstantOp::create(builder, model.nameLoc(name),
                                     cast<RankedTensorType>(held->getType()), *held);
    markInitializer(value, *initializer);
    return at.values[name] = value;
  }
  Value around = valueIn(*at.outer, name);
  return around && at.isRegion() ? capture(at, around) : around;
}

void EntryImport::forgetFailures() {
  for (Scope *at = scope; at; at = at->outer)
    for (auto known = at->values.begin(); known != at->values.end();)
      if (auto here = known++; !here->second)
        at->values.erase(here);
}

void EntryImport::markInitializer(Value value, const onnx::TensorProto &initializer) {
  if (const NarrowType *narrow = gradc::findNarrow(initializer.data_type()))
    markNarrow(value, narrow);
}

Value EntryImport::capture(Scope &at, Value value) {
  if (findExtent(value)) {
    emitError(value.getLoc()) << "is read by a graph of a node, which cannot take "
                              << describe(value.getType()) << ": only a run knows its extent";
    return nullptr;
  }
  if (isText(value)) {
    emitError(value.getLoc()) << "is read by a graph of a node, which cannot take strings";
    return nullptr;
  }
  if (matchPattern(value, m_Constant())) { // a region has its own constants
    Value own = builder.clone(*value.getDefiningOp())->getResult(0);
    if (const NarrowType *narrow = findNarrow(value))
      markNarrow(own, narrow);
    return own;
  }
  BlockArgument &argument = at.captured[value];
  if (!argument) {
    argument = at.block.addArgument(value.getType(), value.getLoc());
    outside[argument] = value;
    if (const NarrowType *narrow = findNarrow(value))
      markNarrow(argument, narrow);
  }
  return argument;
}

Value EntryImport::visible(Scope &at, Value value) {
  if (!at.outer)
    return value;
  Value around = visible(*at.outer, value);
  return at.isRegion() ? capture(at, around) : around;
}

/// Whether a node of the graph computes the name.
static bool computes(const onnx::GraphProto &graph, StringRef name) {
  return llvm::any_of(graph.node(), [&](const onnx::NodeProto &node) {
    return llvm::any_of(node.output(),
                        [&](const std::string &output) { return StringRef(output) == name; });
  });
}

/// Whether an enclosing graph defines the name. A node that has failed counts: its error has been
/// reported.
bool EntryImport::isKnownName(StringRef name) const {
  for (const Scope *at = scope->outer; at; at = at->outer)
    if (at->values.contains(name) || at->sequences.contains(name) ||
        initializerOf(at->graph, name) || computes(at->graph, name))
      return true;
  return model.initializer(name);
}

bool EntryImport::reportHiddenSequence(StringRef name, Location reader) const {
  if (name.empty() || findSequence(name))
    return false;
  for (const Scope *at = scope->outer; at; at = at->outer)
    if (at->sequences.contains(name)) {
      emitError(reader) << "reads the sequence \"" << name
                        << "\" of a graph around its own, where only a run knows whether, or how "
                           "often, it is read";
      return true;
    }
  return false;
}

void EntryImport::numberNodes(const onnx::GraphProto &graph, unsigned &positions) {
  firstPositions[&graph] = positions;
  positions += unsigned(graph.node_size());
  for (const onnx::NodeProto &node : graph.node())
    for (const onnx::AttributeProto &attribute : node.attribute())
      if (attribute.has_g())
        numberNodes(attribute.g(), positions);
}

static FailureOr<std::vector<std::string>> outputNames(const onnx::GraphProto &graph,
                                                       Location where) {
  std::vector<std::string> names;
  for (const onnx::ValueInfoProto &output : graph.output()) {
    if (output.name().empty())
      return emitError(where) << "found an output without a name in a graph of a node";
    names.push_back(output.name());
  }
  return names;
}

template <typename Map> static void eraseValuesOf(Block &block, Map &map) {
  for (auto it = map.begin(); it != map.end();)
    if (auto at = it++; at->first.getParentBlock() == &block)
      map.erase(at);
}

FailureOr<SmallVector<GraphValue>> EntryImport::importSubgraph(const onnx::GraphProto &graph,
                                                               Block &block,
                                                               ArrayRef<GraphValue> inputs,
                                                               SmallVectorImpl<Value> *captured) {
  Scope inner(graph, block, scope);
  if (depth == maxGraphDepth)
    return emitError(model.fileLoc())
           << "expected graphs at most " << maxGraphDepth << " deep in each other";
  for (auto [input, value] : llvm::zip_equal(graph.input(), inputs)) {
    inner.values[input.name()] = value.tensor;
    if (value.narrow)
      markNarrow(value.tensor, value.narrow);
    if (value.sequence)
      inner.sequences[input.name()] = *value.sequence;
    else if (!value.tensor)
      inner.absent.insert(input.name());
  }
  OpBuilder::InsertionGuard guard(builder);
  OpBuilder around(builder);
  builder.setInsertionPointToEnd(&block);
  scope = &inner;
  ++depth;
  llvm::scope_exit leave([&] {
    scope = inner.outer;
    --depth;
    // The caller may discard the region, and other values may then reuse its memory.
    for (auto &[value, argument] : inner.captured)
      outside.erase(argument);
    if (inner.isRegion()) {
      eraseValuesOf(block, extents);
      llvm::erase_if(counts, [&](auto &count) { return count.first.getParentBlock() == &block; });
      eraseValuesOf(block, narrows);
    }
  });

  FailureOr<std::vector<std::string>> outputs = outputNames(graph, model.fileLoc());
  if (failed(outputs))
    return failure();
  llvm::StringSet<> read;
  FailureOr<SmallVector<unsigned>> order =
      orderNodes(model, graph, *outputs, read,
                 [&](StringRef name) { return isKnownName(name) || initializerOf(graph, name); });
  if (failed(order))
    return failure();
  bool ok = true;
  auto importNodes = [&] {
    for (unsigned index : *order)
      ok &= succeeded(importNode(index));
  };
  if (inner.isRegion())
    buildRegion(around, block, importNodes);
  else
    importNodes();
  SmallVector<GraphValue> results;
  for (const std::string &name : *outputs) {
    GraphValue result{value(name), std::nullopt};
    result.narrow = result.tensor ? findNarrow(result.tensor) : nullptr;
    if (const SmallVector<Value> *sequence = findSequence(name))
      result.sequence = *sequence;
    if (inner.isRegion() && result.tensor)
      ok &= succeeded(expectNoExtent(name, result.tensor, model.nameLoc(name)));
    bool isAbsent = this->isAbsent(name);
    if (isAbsent && inner.isRegion()) // a region returns only tensors
      result.sequence.emplace();
    if (!result.tensor && !result.sequence && !isAbsent) {
      reportHiddenSequence(name, model.nameLoc(name));
      ok = false;
    }
    results.push_back(std::move(result));
  }
  if (captured)
    for (auto &[value, argument] : inner.captured)
      captured->push_back(value);
  if (!ok)
    return failure();
  return results;
}

FailureOr<SmallVector<GraphValue>> EntryImport::importUnused(const onnx::GraphProto &graph,
                                                             ArrayRef<GraphValue> inputs) {
  EffectCount before = countEffects();
  auto results = importSubgraph(graph, *builder.getInsertionBlock(), inputs);
  (void)takeEffects(before);
  return results;
}

SmallVector<Value> EntryImport::indexChecksIn(const Block &region) const {
  SmallVector<Value> values;
  for (const IndexCheck &check : indexChecks)
    if (Value(check.largest).getParentBlock() == &region)
      values.push_back(check.largest);
  return values;
}

void EntryImport::replaceIndexCheck(Value inRegion, Value outside) {
  for (IndexCheck &check : indexChecks)
    if (check.largest == inRegion)
      check.largest = outside;
}

void EntryImport::checkIndicesIf(Value condition, EffectCount before) {
  for (IndexCheck &check : llvm::drop_begin(indexChecks, before.checks)) {
    Expr largest(builder, check.largest.getLoc(), check.largest);
    Expr isTaken =
        largest.with(condition).broadcastScalar(largest.type().clone(builder.getI1Type()));
    check.largest = isTaken.select(largest, largest.splat(0));
  }
}

FailureOr<const onnx::GraphProto *> gradc::findGraph(Node &n, StringRef name) {
  const onnx::AttributeProto *attribute = n.attribute(name, AttributeType::graph);
  if (!attribute || !attribute->has_g())
    return n.error() << "expected a graph as " << name;
  return &attribute->g();
}

LogicalResult gradc::expectCounts(Node &n, const onnx::GraphProto &graph, int inputs, int outputs) {
  if (graph.input_size() == inputs && graph.output_size() == outputs)
    return success();
  return n.error() << "expected a graph of " << inputs << " inputs and " << outputs
                   << " outputs, found " << graph.input_size() << " and " << graph.output_size();
}

void gradc::handOnIndexChecks(Node &n, ArrayRef<Value> inRegion, ValueRange stacks) {
  for (auto [check, stack] : llvm::zip_equal(inRegion, stacks)) {
    Expr all = n.expr(stack);
    Value largest = all.type().getNumElements() == 0
                        ? splat(n.builder(), n.loc(), stepType(stack.getType()), 0)
                        : n.builder().createOrFold<ReduceMaxOp>(n.loc(), all, ArrayRef<int64_t>{0});
    n.getEntry().replaceIndexCheck(check, largest);
  }
}

bool GraphValue::hasTypeOf(const GraphValue &other) const {
  return !sequence && !other.sequence && tensor && other.tensor &&
         tensor.getType() == other.tensor.getType() && narrow == other.narrow;
}

std::string GraphValue::describe() const {
  return tensor ? describeNarrow(cast<RankedTensorType>(tensor.getType()), narrow)
                : std::string("a sequence");
}

LogicalResult gradc::setGraphValues(Node &n, ArrayRef<GraphValue> values) {
  for (auto [i, value] : llvm::enumerate(values)) {
    if (!n.wants(i))
      continue;
    LogicalResult set = value.sequence ? n.setSequence(unsigned(i), *value.sequence)
                        : value.tensor ? n.setNarrow(unsigned(i), value.tensor, value.narrow)
                                       : n.setAbsent(unsigned(i));
    if (failed(set))
      return failure();
  }
  return success();
}

LogicalResult gradc::expectCarriedResults(Node &n, unsigned carried) {
  if (n.resultCount() >= carried)
    return success();
  return n.error() << "expected a result for each of " << carried << " carried values, found "
                   << n.resultCount() << " results";
}

LogicalResult gradc::expectNothingRandom(Node &n, const onnx::GraphProto &graph) {
  static const llvm::StringSet<> always = {"RandomNormal",      "RandomNormalLike", "RandomUniform",
                                           "RandomUniformLike", "Bernoulli",        "Multinomial"};
  for (const onnx::NodeProto &node : graph.node()) {
    if (always.contains(node.op_type()) || (node.op_type() == "Dropout" && n.training()))
      return n.error() << "\"" << (node.name().empty() ? node.op_type() : node.name())
                       << "\" is random; random nodes in loops are not supported";
    for (const onnx::AttributeProto &attribute : node.attribute())
      if (attribute.has_g() && failed(expectNothingRandom(n, attribute.g())))
        return failure();
  }
  return success();
}
