// Imports the nodes that an entry needs, in an order in which operands are known before their uses.
#include "dialects/Pch.h"

#include "compiler/import/onnx/ImportGraph.h"
#include "compiler/import/onnx/model/GraphOrder.h"
#include "compiler/import/onnx/model/Narrow.h"
#include "dialects/grad/EntryAttributes.h"
#include "passes/entry/Coupling.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

const OpTable &gradc::onnxOps() {
  static const OpTable table = [] {
    OpTable ops;
#define GRADC_ADD_FAMILY(NAME) add##NAME##Ops(ops);
    GRADC_ONNX_FAMILIES(GRADC_ADD_FAMILY)
#undef GRADC_ADD_FAMILY
    return ops;
  }();
  return table;
}

EntryImport::EntryImport(const OnnxModel &model, States &states, const ImportOptions &options,
                         StringRef name, int64_t batch, bool training)
    : model(model), states(states), options(options), batch(batch), training(training),
      builder(model.fileLoc().getContext()) {
  function = func::FuncOp::create(model.fileLoc(), name, builder.getFunctionType({}, {}));
  function->setAttr("grad.entry", builder.getStringAttr(name));
  function->setAttr(batchName, builder.getI64IntegerAttr(batch));
  states.add(function);
  builder.setInsertionPointToStart(function.addEntryBlock());
  modelScope = std::make_unique<Scope>(model.graph(), function.front());
  scope = modelScope.get();
  unsigned positions = 0;
  numberNodes(model.graph(), positions);
}

LogicalResult EntryImport::importNodes(ArrayRef<std::string> outputs, BindInput bindInput,
                                       bool takesSequences) {
  llvm::StringSet<> inputs;
  FailureOr<SmallVector<unsigned>> order =
      orderNodes(model, model.graph(), outputs, inputs, [](StringRef) { return false; });
  if (failed(order))
    return failure();
  for (const onnx::NodeProto &node : model.graph().node())
    if (node.op_type() == "Gradient")
      for (const onnx::AttributeProto &attribute : node.attribute())
        if (attribute.name() == "xs")
          gradientTargets.insert(attribute.strings().begin(), attribute.strings().end());
  bool ok = true;
  for (const onnx::ValueInfoProto &input : model.graph().input())
    if (inputs.contains(input.name()))
      ok &= succeeded(bindGraphInput(input, bindInput));
  for (unsigned index : *order)
    ok &= succeeded(importNode(index));
  for (const std::string &name : outputs) {
    if (takesSequences && (findSequence(name) || isAbsent(name)))
      continue;
    ok &= bool(value(name));
    if (findSequence(name))
      emitError(model.nameLoc(name))
          << "output \"" << name << "\" is a sequence; only tensors can be outputs";
  }
  return success(ok);
}

LogicalResult EntryImport::importNode(unsigned index) {
  const onnx::NodeProto &proto = scope->graph.node(int(index));
  SmallVector<Value> operands;
  bool poisoned = false;
  for (const std::string &name : proto.input()) {
    Value operand = name.empty() ? Value() : value(name);
    poisoned |= !name.empty() && !operand && !findSequence(name) && !isAbsent(name);
    if (!operand && reportHiddenSequence(name, model.nodeLoc(proto)))
      return failure();
    operands.push_back(operand);
  }
  while (!operands.empty() && proto.input(int(operands.size()) - 1).empty())
    operands.pop_back();
  for (const std::string &name : proto.output())
    if (!name.empty())
      scope->values[name] = Value();
  // An error in an operand's node is not repeated for the nodes that depend on it.
  bool standard = proto.domain().empty() || proto.domain() == "ai.onnx";
  std::string named = (standard ? "" : proto.domain() + "::") + proto.op_type();
  auto found = onnxOps().find(named);
  if (poisoned && found != onnxOps().end())
    return failure();

  Node node(*this, proto, firstPositions.lookup(&scope->graph) + index, operands);
  if (found == onnxOps().end()) {
    auto error = node.error();
    if (proto.domain() == "com.microsoft.nchwc")
      return error << "is in the layout of one machine: save the model at ORT_ENABLE_EXTENDED, "
                      "not ORT_ENABLE_ALL";
    error << "is not supported: " << model.describeOpset(proto.domain()) << ", operands (";
    llvm::interleaveComma(operands, error, [&](Value v) {
      error << (v ? describe(v.getType()) : std::string("unknown"));
    });
    error << ")";
    if (standard && model.producer() == "tf2onnx")
      error << "; tf2onnx leaves what it cannot translate as operators of TensorFlow, so a newer "
               "opset may help";
    return error;
  }
  const OnnxOp &op = found->second;
  if (operands.size() < op.minOperands || operands.size() > op.maxOperands)
    return node.error() << "expected " << op.minOperands
                        << (op.maxOperands == op.minOperands ? std::string()
                            : op.maxOperands == OnnxOp::any
                                ? std::string(" or more")
                                : " to " + std::to_string(op.maxOperands))
                        << (op.maxOperands == 1 ? " operand" : " operands") << ", found "
                        << operands.size();
  for (unsigned i = 0; i < operands.size(); ++i) {
    if (node.isSequence(i) && i >= op.sequences)
      return node.error() << "expected a tensor as operand " << i << ", found the sequence \""
                          << proto.input(int(i)) << "\"";
    if (i < op.minOperands && !operands[i] && !node.isSequence(i))
      return node.error() << "operand " << i << " is missing";
  }
  if (failed(expectExtents(node, op.extents)))
    return failure();
  for (unsigned i = 0; i < operands.size(); ++i)
    if (node.isText(i) && !op.strings)
      return node.error() << "cannot take strings, found " << node.describeOperand(i);
  if (failed(expectNarrow(node, op)))
    return failure();
  EffectCount before = countEffects();
  if (failed(op.import(node)) || failed(node.finish()) || failed(followExtents(node, op.extents))) {
    (void)takeEffects(before); // a region that is no more may have had them
    return failure();
  }
  if (op.narrow == TakesNarrow::moved)
    followNarrow(node);
  for (auto [name, result] : llvm::zip(proto.output(), node.getResults()))
    if (!name.empty())
      scope->values[name] = valueOfOutput(name, storeInBuffer(node, name, result));
  followRowNumbers(operands, node.getResults(), nodeName(node.loc()));
  if (llvm::all_of(node.getResults(), [](Value v) { return !v || matchPattern(v, m_Constant()); }))
    foldedNodes.insert(nodeName(node.loc()));
  return success();
}

Value EntryImport::valueOfOutput(StringRef name, Value result) {
  bool isTarget = !scope->outer && gradientTargets.contains(name) && result;
  if (!isTarget || !isa<FloatType>(getElementTypeOrSelf(result)) || findExtent(result))
    return result;
  return OptimizationBarrierOp::create(builder, model.nameLoc(name), name, result);
}

Value EntryImport::storeInBuffer(Node &node, StringRef name, Value result) {
  StringRef buffer = scope->outer || !result || !training ? "" : states.updatedBuffer(name);
  if (buffer.empty() || !isa<FloatType>(getElementTypeOrSelf(result)))
    return result;
  Value old = model.initializer(buffer) ? value(buffer) : nullptr; // null: no node reads it
  bool fits = old && old.getType() == result.getType() && !states.isFrozen(old);
  if (fits && states.makeStatistic(old, node.loc()))
    setStatistic(old.getDefiningOp<ReadOp>(), result, node.loc());
  return node.detached(node.expr(result));
}

Value EntryImport::latestStatistic(ReadOp state) {
  StringAttr name = state.getStateAttr().getAttr();
  auto last = llvm::find_if(llvm::reverse(updates),
                            [&](const Update &update) { return update.state == name; });
  return last == updates.rend() ? state.getResult() : last->value;
}

void EntryImport::setStatistic(ReadOp state, Value value, Location node) {
  updates.push_back({state.getStateAttr().getAttr(), value, node});
}

EntryImport::Effects EntryImport::takeEffects(EffectCount behind) {
  auto take = [](auto &all, size_t from) {
    std::remove_reference_t<decltype(all)> taken(std::make_move_iterator(all.begin() + from),
                                                 std::make_move_iterator(all.end()));
    all.truncate(from);
    return taken;
  };
  return {take(indexChecks, behind.checks), take(updates, behind.updates)};
}

void EntryImport::addEffects(Effects effects) {
  llvm::append_range(indexChecks, std::move(effects.indexChecks));
  llvm::append_range(updates, std::move(effects.updates));
}

void EntryImport::judgeRows() {
  if (std::exchange(isJudged, true))
    return;
  int64_t rows = function->getAttrOfType<IntegerAttr>(batchName).getInt();
  auto checks =
      llvm::map_to_vector(indexChecks, [](const IndexCheck &check) { return check.largest; });
  RowDependence found = findDependence(
      function.getBody().front(), rows, [&](BlockArgument argument) { return isBatched(argument); },
      checks);
  if (found.coupling)
    function->setAttr("grad.coupling_node", builder.getStringAttr(nodeName(found.coupling)));
  if (found.onNumber)
    function->setAttr("grad.numbers_rows", builder.getUnitAttr());
}

void EntryImport::addResult(Value value, StringRef name, gradc_role role,
                            ArrayRef<NamedAttribute> more) {
  results.push_back(value);
  NamedAttrList &attributes = resultAttributes.emplace_back();
  attributes.set(portName, builder.getStringAttr(name));
  attributes.set(roleName, builder.getStringAttr(gradc_role_name(role)));
  for (NamedAttribute a : more)
    attributes.set(a.getName(), a.getValue());
}

// An index out of range, of either sign, becomes larger than 2 limit - 1.
void EntryImport::requireIndices(Value indices, int64_t limit, Location node) {
  // Repeated indices are checked once. They may be repeated for each row, as often as the run says.
  if (cast<RankedTensorType>(indices.getType()).getNumElements() > 0)
    while (auto broadcast = indices.getDefiningOp<BroadcastOp>())
      indices = broadcast.getOperand();
  Expr x = Expr(builder, node, indices).cast(builder.getI64Type()) + double(limit);
  x = x.cast(builder.getIntegerType(64, /*isSigned=*/false));
  auto dims = llvm::to_vector(llvm::seq<int64_t>(0, x.type().getRank()));
  if (x.type().getNumElements() == 0)
    return;
  Value largest = dims.empty() ? x.get() : builder.createOrFold<ReduceMaxOp>(node, x, dims);
  indexChecks.push_back({largest, limit, nodeName(node)});
}

// Takes the largest value, since the runtime reads results of that role this way.
void EntryImport::requireText(Value isWrong, Location node) {
  Expr x = Expr(builder, node, isWrong).cast(builder.getIntegerType(64, /*isSigned=*/false));
  Value largest = builder.createOrFold<ReduceMaxOp>(
      node, x, llvm::to_vector(llvm::seq<int64_t>(0, x.type().getRank())));
  indexChecks.push_back({largest, GRADC_LIMIT_TEXT, nodeName(node)});
}

void EntryImport::requireEnd(Value goesOn, Location node) {
  Expr x = Expr(builder, node, goesOn).cast(builder.getIntegerType(64, /*isSigned=*/false));
  indexChecks.push_back({x, GRADC_LIMIT_TRIPS, nodeName(node)});
}

void EntryImport::finish() {
  for (size_t i = 0, count = results.size(); i < count; ++i)
    if (auto extent = findExtent(results[i])) {
      auto name = cast<StringAttr>(resultAttributes[i].get(portName));
      addResult(extent->count, name.getValue().str() + ".extent", GRADC_ROLE_EXTENT,
                {builder.getNamedAttr(fieldName, name),
                 builder.getNamedAttr("grad.classes", builder.getI64IntegerAttr(extent->dim))});
    }
  for (const IndexCheck &check : indexChecks) {
    addResult(check.largest, check.node, GRADC_ROLE_INDICES);
    resultAttributes.back().set(fieldName, builder.getStringAttr(check.node));
    resultAttributes.back().set("grad.classes", builder.getI64IntegerAttr(check.limit));
  }
  llvm::MapVector<StringAttr, const Update *> last;
  for (const Update &update : updates)
    last[update.state] = &update;
  for (auto &[state, update] : last)
    WriteOp::create(builder, update->node, FlatSymbolRefAttr::get(state), update->value);
  auto exit = func::ReturnOp::create(builder, model.fileLoc(), results);
  bindArguments();
  Block &body = function.getBody().front();
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
    if (!op.hasTrait<OpTrait::IsTerminator>() && op.use_empty() && !isJudgedLater(op) &&
        (isMemoryEffectFree(&op) || isa<ReadOp>(op)))
      op.erase();
  judgeRows();
  function.setType(builder.getFunctionType(body.getArgumentTypes(), exit.getOperandTypes()));
  for (auto [i, attributes] : llvm::enumerate(argumentAttributes))
    function.setArgAttrs(i, attributes.getAttrs());
  for (auto [i, attributes] : llvm::enumerate(resultAttributes))
    function.setResultAttrs(i, attributes.getAttrs());
}
