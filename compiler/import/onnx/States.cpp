// Decides the role of each initializer, and owns the module's states.
#include "dialects/Pch.h"

#include "compiler/import/onnx/ExportSigns.h"
#include "compiler/import/onnx/States.h"
#include "compiler/import/support/Names.h"
#include "dialects/grad/RepeatedDims.h"
#include "passes/training/TrainedStates.h"
#include "runtime/include/gradc/artifact.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

/// Larger constants (in bytes) become states, so that the code does not contain them.
static constexpr int64_t smallBytes = 1024;

/// By this key torch.onnx.export(dynamo=True) records the kind of a value of the module.
static constexpr StringRef kindKey = "pkg.torch.export.graph_signature.InputSpec.kind";

States::States(const OnnxModel &model, SymbolTable &symbols, StringRef prefix)
    : model(model), symbols(symbols), prefix(prefix.str()),
      bufferUpdates(findBufferUpdates(model.graph())) {
  for (const onnx::ValueInfoProto &value : model.graph().value_info())
    for (const onnx::StringStringEntryProto &entry : value.metadata_props()) {
      if (entry.key() == kindKey && entry.value() == "PARAMETER")
        moduleParameters.insert(value.name());
      else if (entry.key() == kindKey && entry.value() == "BUFFER")
        moduleBuffers.insert(value.name());
    }
}

LogicalResult States::setPatterns(ArrayRef<std::string> trainablePatterns,
                                  ArrayRef<std::string> freezePatterns,
                                  llvm::function_ref<Location(int)> trainableLoc,
                                  llvm::function_ref<Location(int)> freezeLoc) {
  PatternScope scope{"trainable", "initializer", model.initializerNames()};
  LogicalResult first = collectMatching(trainablePatterns, scope, trainableLoc, trainable);
  scope.field = "freeze";
  LogicalResult second = collectMatching(freezePatterns, scope, freezeLoc, frozen);
  return success(succeeded(first) && succeeded(second));
}

/// Whether the run finds the initializer's values in the data.
static bool isFitted(StringRef initializer) { return initializer.starts_with(GRADC_FITTED_PREFIX); }

void States::add(func::FuncOp entry) {
  if (Operation *state = symbols.lookup(entry.getSymName()))
    (void)symbols.renameToUnique(state, {});
  getModule().push_back(entry);
}

StateOp States::create(StringRef name, StateKind kind, ElementsAttr value, Location location) {
  Block &body = *getModule().getBody();
  // Entries are functions behind all states, and few.
  Block::iterator entries = body.end();
  while (entries != body.begin() && !isa<StateOp>(*std::prev(entries)))
    --entries;
  auto isTaken = [&](StringRef symbol) {
    return symbols.lookup(symbol) ||
           llvm::any_of(llvm::make_range(entries, body.end()), [&](Operation &entry) {
             return SymbolTable::getSymbolName(&entry).getValue() == symbol;
           });
  };
  std::string symbol = (prefix + name).str();
  for (int i = 1; isTaken(symbol); ++i)
    symbol = (prefix + name + "." + Twine(i)).str();
  OpBuilder builder(&body, entries);
  auto state = StateOp::create(builder, location, symbol, kind,
                               cast<RankedTensorType>(value.getType()), value);
  symbols.insert(state);
  return state;
}

StringRef States::updatedBuffer(StringRef value) const {
  auto found = bufferUpdates.find(value.str());
  return found == bufferUpdates.end() ? StringRef() : StringRef(found->second);
}

/// Exporters write numbers of the graph as scalars, so of these only those are states that are
/// known to be parameters, or that the module updates.
bool States::mayTrain(StringRef initializer, RankedTensorType type) const {
  return isa<FloatType>(type.getElementType()) &&
         (type.getRank() > 0 || trainable.contains(initializer) ||
          moduleParameters.contains(initializer) ||
          llvm::is_contained(llvm::make_second_range(bufferUpdates), initializer));
}

Value States::read(OpBuilder &builder, const onnx::TensorProto &initializer) {
  Location location = model.nameLoc(initializer.name());
  ElementsAttr &value = attributes[initializer.name()];
  if (!value) {
    FailureOr<ElementsAttr> made = model.value(initializer, location);
    if (failed(made))
      return nullptr;
    value = *made;
    names[value] = initializer.name();
  }
  auto type = cast<RankedTensorType>(value.getType());
  if (!mayTrain(initializer.name(), type))
    return ConstantOp::create(builder, location, type, value);
  StateOp &state = states[initializer.name()];
  if (!state) {
    state = create(initializer.name(),
                   isFitted(initializer.name()) ? StateKind::statistic : StateKind::parameter,
                   value, location);
    initializers[state] = initializer.name();
  }
  return ReadOp::create(builder, location, type, state.getSymName());
}

ElementsAttr States::known(Value value) {
  ElementsAttr attribute;
  if (matchPattern(value, m_Constant(&attribute)))
    return attribute;
  if (auto read = value.getDefiningOp<ReadOp>())
    return symbols.lookup<StateOp>(read.getState()).getInitial();
  return nullptr;
}

bool States::makeStatistic(Value value, Location node, StringRef rule) {
  auto read = value.getDefiningOp<ReadOp>();
  if (!read)
    return false;
  auto state = symbols.lookup<StateOp>(read.getState());
  state.setKind(StateKind::statistic);
  if (!rule.empty())
    state->setAttr(slotRuleName, StringAttr::get(state.getContext(), rule));
  statistics[state] = node->findInstanceOf<NameLoc>().getName().str();
  return true;
}

void States::makeScale(Value value, Location node) {
  if (auto read = value.getDefiningOp<ReadOp>())
    scales.try_emplace(symbols.lookup<StateOp>(read.getState()), nodeName(node));
}

void States::makeTable(Value value, Location node) {
  if (auto read = value.getDefiningOp<ReadOp>())
    tables.try_emplace(symbols.lookup<StateOp>(read.getState()), nodeName(node));
}

bool States::isFrozen(Value value) {
  auto read = value.getDefiningOp<ReadOp>();
  return read && frozen.contains(initializers.lookup(symbols.lookup<StateOp>(read.getState())));
}

StringRef States::symbol(StringRef initializer) const {
  StateOp state = states.lookup(initializer);
  return state ? state.getSymName() : StringRef();
}

/// Whether all values of a float tensor satisfy the predicate.
static bool allOf(ElementsAttr value, llvm::function_ref<bool(double)> isRight) {
  if (auto floats =
          dyn_cast<DenseF32ResourceElementsAttr>(value)) // large tensors, which need the fast path
    return llvm::all_of(*floats.tryGetAsArrayRef(), isRight);
  HostTensor host(value);
  for (int64_t i = 0; i < host.size(); ++i)
    if (!isRight(host.getFloat(i)))
      return false;
  return true;
}

/// Whether the tensor holds zeros and one large negative number, which a mask adds to hidden
/// scores. No training produces such a parameter.
static bool isMask(ElementsAttr value) {
  constexpr double leastHiding = -1e4; // the smallest magnitude in use, for f16
  double number = 0;
  return allOf(value,
               [&](double x) {
                 if (number == 0 && x <= leastHiding)
                   number = x;
                 return x == 0 || x == number;
               }) &&
         number != 0;
}

/// The first use that shows a value is not a parameter. Ops that only move elements pass the
/// question on to their users.
static Operation *constantUse(Value value) {
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    auto loops = dyn_cast<LoopsOpInterface>(user);
    if (loops &&
        (loops.getLoopKind() == LoopKind::view || loops.getLoopKind() == LoopKind::movement ||
         loops.getLoopKind() == LoopKind::assembly)) {
      for (Value result : user->getResults())
        if (Operation *found = constantUse(result))
          return found;
      continue;
    }
    auto roles = dyn_cast<OperandRoleOpInterface>(user);
    if (roles && roles.getOperandRole(use.getOperandNumber()) != OperandRole::parameter)
      return user;
  }
  return nullptr;
}

std::string gradc::nodeName(Location location) {
  auto name = location->findInstanceOf<NameLoc>();
  return name ? name.getName().str() : "";
}

std::string gradc::nodeName(Operation *op) {
  std::string name = nodeName(op->getLoc());
  return name.empty() ? op->getName().getStringRef().str() : name;
}

static constexpr StringLiteral frozenReason = "frozen by the training spec";

/// `reads`: of the initializer's state, in all entries.
Verdict States::judge(const onnx::TensorProto &initializer, ArrayRef<ReadOp> reads) {
  StringRef name = initializer.name();
  Type element = elementType(*getModule().getContext(), initializer.data_type());
  SmallVector<int64_t> shape(initializer.dims().begin(), initializer.dims().end());
  Verdict verdict{name.str(),
                  element ? describe(RankedTensorType::get(shape, element))
                          : dataTypeName(initializer.data_type()),
                  false, ""};
  auto no = [&](const Twine &why) {
    verdict.reason = why.str();
    return verdict;
  };
  if (!element || !isa<FloatType>(element))
    return no(attributes.contains(name) ? "not a float" : "not used");
  StateOp state = states.lookup(name);
  if (!state && shape.empty())
    return no(!attributes.contains(name) ? StringRef("not used")
              : frozen.contains(name)    ? StringRef(frozenReason)
                                         : StringRef(scalarReason));
  if (reads.empty())
    return no(state ? "only its shape or value at compile time is used" : "not used");
  if (isFitted(name))
    return no("values that standardize has found in the data");
  if (frozen.contains(name))
    return no(frozenReason);
  if (auto owner = statistics.find(state); owner != statistics.end())
    return no("a running statistic of \"" + owner->second + "\"");
  if (trainable.contains(name)) {
    verdict.trains = true;
    verdict.reason = "named by trainable in the training spec";
    return verdict;
  }
  if (!whyOthersStay.empty())
    return no(whyOthersStay);
  if (moduleBuffers.contains(name))
    return no("a buffer of the PyTorch module, which trains if trainable names it");
  if (auto owner = scales.find(state); owner != scales.end())
    return no("a scale of codes of \"" + owner->second + "\", which trains if trainable names it");
  if (auto owner = tables.find(state); owner != tables.end())
    return no("a table of angles of \"" + owner->second + "\", which trains if trainable names it");
  if (!allOf(state.getInitial(), [](double x) { return std::isfinite(x); }))
    return no("holds values that are not finite");
  if (isMask(state.getInitial()))
    return no("a mask: 0 and one number far below it");
  for (ReadOp read : reads)
    if (Operation *user = constantUse(read))
      return no("used as a constant by \"" + nodeName(user) + "\"");
  verdict.trains = true;
  verdict.reason = "a parameter of \"" + nodeName(*reads.front()->getUsers().begin()) + "\"";
  return verdict;
}

/// Entries that fold equal constants have each a resource of their own.
static bool isSameValue(ElementsAttr a, ElementsAttr b) {
  auto first = dyn_cast<DenseResourceElementsAttr>(a),
       second = dyn_cast<DenseResourceElementsAttr>(b);
  return a == b || (first && second && first.getType() == second.getType() &&
                    first.getData() == second.getData());
}

LogicalResult States::finish(std::vector<Verdict> &verdicts) {
  ModuleOp module = getModule();
  DenseMap<StringAttr, SmallVector<ReadOp>> reads;
  module.walk([&](ReadOp read) { reads[read.getStateAttr().getAttr()].push_back(read); });
  for (const onnx::TensorProto &initializer : model.graph().initializer()) {
    StateOp state = states.lookup(initializer.name());
    verdicts.push_back(
        judge(initializer, state ? reads[state.getSymNameAttr()] : ArrayRef<ReadOp>()));
  }
  for (const Verdict &verdict : verdicts)
    if (StateOp state = states.lookup(verdict.initializer);
        state && !verdict.trains && state.getKind() != StateKind::statistic)
      state.setKind(StateKind::constant);

  module.walk([&](ConstantOp constant) {
    ElementsAttr value = constant.getValue();
    auto type = cast<RankedTensorType>(value.getType());
    auto dense = dyn_cast<DenseElementsAttr>(value);
    if (dense && dense.isSplat())
      return;
    auto initializer = names.find(value);
    SmallVector<int64_t> dims = llvm::to_vector(llvm::seq(type.getRank()));
    if (initializer == names.end())
      value = dropRepeatedDims(value, dims);
    bool isSmall = bytesOf(type) <= smallBytes;
    if (isSmall && int64_t(dims.size()) == type.getRank())
      return;
    std::string name = initializer != names.end() ? initializer->second : nodeName(constant);
    auto &known = constants[name];
    auto found =
        llvm::find_if(known, [&](StateOp state) { return isSameValue(state.getInitial(), value); });
    StateOp state =
        found == known.end()
            ? known.emplace_back(create(name, StateKind::constant, value, constant.getLoc()))
            : *found;
    OpBuilder builder(constant);
    Value read =
        ReadOp::create(builder, constant.getLoc(), value.getType(), state.getSymName()).getResult();
    constant.replaceAllUsesWith(
        builder.createOrFold<BroadcastOp>(constant.getLoc(), type, read, dims));
    constant.erase();
  });

  llvm::StringSet<> used;
  module.walk([&](ReadOp read) { used.insert(read.getState()); });
  for (auto &entry : llvm::make_early_inc_range(states))
    if (!used.contains(entry.second.getSymName())) {
      symbols.erase(entry.second);
      states.erase(entry.getKey());
    }

  bool ok = true;
  for (const onnx::TensorProto &initializer : model.graph().initializer())
    if (StateOp state = states.lookup(initializer.name());
        state && state.getSymName() != prefix + initializer.name()) {
      emitError(model.nameLoc(initializer.name()))
          << "initializer \"" << initializer.name()
          << "\" has the name of an entry of the compiled program; rename it in the model";
      ok = false;
    }
  return success(ok);
}
