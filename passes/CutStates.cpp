// Finds the launches that compute only what a rank owns of a parameter, and how ranks divide it.
#include "passes/memory/CutStates.h"
#include "dialects/exec/Exec.h"
#include "dialects/grad/Grad.h"
#include "passes/Passes.h"
#include "passes/entry/Functions.h"
#include "passes/entry/NodeOrder.h"
#include "passes/training/TrainedStates.h"

#include "llvm/ADT/EquivalenceClasses.h"
#include <numeric>

using namespace mlir;
using namespace mlir::grad;

namespace gradc {
#define GEN_PASS_DEF_CUTSTATES
#include "passes/Passes.h.inc"

namespace {

/// 1. Writers: launches all of whose results are gathered as states are cut, or stored to slots
///    that are cut like them. States of one writer are cut alike.
/// 2. Their unit: the number of elements that are whole units of all writers; all elements, if
///    a rule takes whole tensors or a writer's units are no runs of elements. Elements are counted
///    as they are stored, the padding of panels included.
/// 3. Where one rank has all of a state, launches that only writers read are theirs, too.
/// 4. A scatter leaves zeros in the results that others than these launches read.
class Cutter {
public:
  explicit Cutter(ModuleOp module) : module(module), symbols(module) {}

  LogicalResult run() {
    for (auto buffer : module.getOps<exec::BufferOp>())
      if (buffer.getKind() == exec::BufferKind::primary)
        primaries[symbols.lookup(buffer.getState())] = buffer;
    if (failed(findStates()))
      return failure();
    for (auto function : functionsOf(module))
      if (!function.front().getOps<CollectiveOpInterface>().empty()) // others fill slots whole
        function.walk([&](exec::LaunchOp launch) { findWriter(launch); });
    for (auto [writer, state] : writers)
      cuts[alike.getLeaderValue(state)].writers.push_back(writer);
    for (auto state : module.getOps<StateOp>())
      if (alike.contains(state))
        cuts[alike.getLeaderValue(state)].states.push_back(state);
    for (auto &[leader, cut] : cuts)
      create(cut);
    for (auto buffer : module.getOps<exec::BufferOp>())
      if (auto owner = symbols.lookup(buffer.getState())->getAttrOfType<FlatSymbolRefAttr>(cutName))
        buffer.setCutAttr(nameOf(owner));
    for (auto function : functionsOf(module))
      function.walk([&](CollectiveOpInterface collective) { tell(collective); });
    return success();
  }

private:
  struct Cut {
    SmallVector<StateOp> states; ///< that are cut alike, in their order
    SmallVector<exec::LaunchOp> writers;
    FlatSymbolRefAttr name;
  };

  static RankedTensorType typeOf(Operation *state) {
    return cast<RankedTensorType>(cast<StateOp>(state).getType());
  }
  /// As many as the state's primary stores.
  int64_t elementsOf(Operation *state) {
    exec::BufferOp buffer = primaries.lookup(state);
    return storedElements(typeOf(state), buffer ? buffer.getLayout().value_or(nullptr) : nullptr);
  }
  static int64_t storedElements(RankedTensorType type, exec::PanelAttr layout) {
    return exec::layoutBytes(type, layout) / elementBytes(type.getElementType());
  }

  /// Those that collectives name.
  LogicalResult findStates() {
    WalkResult found = module.walk([&](CollectiveOpInterface collective) {
      for (auto [value, name] : llvm::zip(collective->getOperands(), collective.getCutStates())) {
        auto state = symbols.lookup<StateOp>(name.getAttr());
        auto type = cast<RankedTensorType>(value.getType());
        if (!state || typeOf(state).getNumElements() != type.getNumElements()) {
          collective->emitOpError("expected ")
              << name << " to be a state with as many elements as " << type;
          return WalkResult::interrupt();
        }
        alike.insert(state);
      }
      return WalkResult::advance();
    });
    return failure(found.wasInterrupted());
  }

  exec::KernelOp kernelOf(exec::LaunchOp launch) {
    return symbols.lookup<exec::KernelOp>(launch.getKernel());
  }
  FlatSymbolRefAttr nameOf(FlatSymbolRefAttr state) {
    return cuts[alike.getLeaderValue(symbols.lookup(state.getAttr()))].name;
  }

  /// The state as which a use cuts a value; null: the use needs all of it.
  Operation *stateOf(OpOperand &use) {
    FlatSymbolRefAttr name;
    if (auto store = dyn_cast<exec::StoreOp>(use.getOwner())) {
      StringRef state = symbols.lookup<exec::BufferOp>(store.getBuffer()).getState();
      name = symbols.lookup(state)->getAttrOfType<FlatSymbolRefAttr>(cutName);
    } else if (auto collective = dyn_cast<CollectiveOpInterface>(use.getOwner());
               collective && collective.getCollectiveKind() == CollectiveKind::gather) {
      name = collective.getCutStates()[use.getOperandNumber()];
    }
    return name ? symbols.lookup(name.getAttr()) : nullptr;
  }

  /// Whether states can be cut at the same elements. Slots of a state that is not cut belong to its
  /// owner, whatever their size.
  bool areAlike(ArrayRef<Operation *> states) {
    bool isWhole = llvm::any_of(states, [](Operation *state) { return state->hasAttr(wholeName); });
    std::optional<int64_t> elements;
    for (Operation *state : states) {
      if (isWhole && cast<StateOp>(state).getKind() == StateKind::slot)
        continue;
      if (elements.value_or(elementsOf(state)) != elementsOf(state))
        return false;
      elements = elementsOf(state);
    }
    return true;
  }

  void findWriter(exec::LaunchOp launch) {
    llvm::SetVector<Operation *> states;
    for (Value result : launch.getResults())
      for (OpOperand &use : result.getUses())
        states.insert(stateOf(use));
    if (states.empty() || states.contains(nullptr) || !areAlike(states.getArrayRef()))
      return;
    for (Operation *state : states)
      alike.unionSets(states.front(), state);
    writers.emplace_back(launch, states.front());
  }

  /// Elements of a writer's unit; 0: its units are no runs of elements of its results.
  int64_t unitOf(exec::LaunchOp writer, int64_t elements) {
    exec::KernelOp kernel = kernelOf(writer);
    exec::ScheduleAttr schedule = kernel.getScheduleAttr();
    RankedTensorType root = kernel.getRoot();
    unsigned operands = kernel.getBlock().getNumArguments();
    exec::PanelAttr layout = kernel.getLayout(operands);
    if (!schedule || kernel.getThreads() > 0 || kernel.getRows() || root.getRank() == 0 ||
        elements == 0 || (layout && layout.isWinograd()) ||
        storedElements(root, layout) != elements)
      return 0;
    for (auto [i, v] : llvm::enumerate(kernel.getYielded()))
      if (cast<RankedTensorType>(v.getType()).getShape() != root.getShape() ||
          kernel.getLayout(operands + unsigned(i)) != layout)
        return 0;
    // A slab of the outermost dim, or panels.
    int64_t dim = layout ? layout.getDim() : 0, width = layout ? layout.getWidth() : 1;
    int64_t tile = schedule.getTile()[dim], slabs = llvm::divideCeil(root.getDimSize(dim), width);
    if (schedule.getOrder().front() != dim || tile % width != 0)
      return 0;
    return tile / width * (elements / slabs);
  }

  void create(Cut &cut) {
    StateOp first = cut.states.front();
    int64_t elements = elementsOf(first), unit = 1;
    for (exec::LaunchOp writer : cut.writers)
      unit = std::lcm(unit, unitOf(writer, elements)); // 0 once one is 0
    bool isWhole =
        llvm::any_of(cut.states, [](StateOp state) { return state->hasAttr(wholeName); });
    if (isWhole || cut.writers.empty() || unit == 0 || unit > elements)
      unit = elements;
    OpBuilder builder(first);
    auto op = exec::CutOp::create(builder, first.getLoc(), (first.getSymName() + ".cut").str(),
                                  first.getSymName(), elements, unit);
    symbols.insert(op);
    cut.name = FlatSymbolRefAttr::get(op.getSymNameAttr());
    if (unit == elements)
      addReadByWriters(cut.writers);
    for (exec::LaunchOp writer : cut.writers) {
      int64_t per =
          unit == elements ? exec::kernelUnits(kernelOf(writer)) : unit / unitOf(writer, elements);
      writer->setAttr(launchCutName, cut.name);
      writer->setAttr(unitsPerPieceName, builder.getI64IntegerAttr(per));
      cutBy[writer] = cut.name;
    }
  }

  /// Adds the launches whose results only `writers` read.
  void addReadByWriters(SmallVectorImpl<exec::LaunchOp> &writers) {
    llvm::DenseSet<Operation *> known(writers.begin(), writers.end());
    for (size_t i = 0; i < writers.size(); ++i)
      for (Value operand : writers[i].getOperands()) {
        auto launch = storageRoot(operand).getDefiningOp<exec::LaunchOp>();
        if (!launch || known.contains(launch) || !llvm::all_of(launch.getResults(), [&](Value v) {
              return isReadBy(v, [&](Operation *reader) { return known.contains(reader); });
            }))
          continue;
        known.insert(launch);
        writers.push_back(launch);
      }
  }

  /// Whether all who read a value, through views too, are such nodes.
  static bool isReadBy(Value value, llvm::function_ref<bool(Operation *)> isSuch) {
    return llvm::all_of(value.getUsers(), [&](Operation *user) {
      if (isa<ReshapeOp>(user)) // the one view
        return isReadBy(user->getResult(0), isSuch);
      return isSuch(user);
    });
  }

  void tell(CollectiveOpInterface collective) {
    SmallVector<Attribute> names;
    for (FlatSymbolRefAttr state : collective.getCutStates())
      names.push_back(nameOf(state));
    if (names.empty())
      return;
    collective->setAttr(cutsName, ArrayAttr::get(module.getContext(), names));
    if (collective.getCollectiveKind() != CollectiveKind::scatter)
      return;
    SmallVector<int64_t> zeros;
    for (auto [i, result, name] : llvm::enumerate(collective->getResults(), names))
      if (!isReadBy(result, [&](Operation *reader) { return cutBy.lookup(reader) == name; }))
        zeros.push_back(int64_t(i));
    if (!zeros.empty())
      collective->setAttr(zerosName, DenseI64ArrayAttr::get(module.getContext(), zeros));
  }

  ModuleOp module;
  SymbolTable symbols;
  llvm::DenseMap<Operation *, exec::BufferOp> primaries;       ///< by state
  llvm::EquivalenceClasses<Operation *> alike;                 ///< states
  std::vector<std::pair<exec::LaunchOp, Operation *>> writers; ///< and one of their states
  llvm::MapVector<Operation *, Cut> cuts;                      ///< by one of the states
  llvm::DenseMap<Operation *, FlatSymbolRefAttr> cutBy;        ///< of launches
};

struct CutStates : impl::CutStatesBase<CutStates> {
  void runOnOperation() override {
    if (failed(Cutter(getOperation()).run()))
      signalPassFailure();
  }
};

} // namespace
} // namespace gradc
