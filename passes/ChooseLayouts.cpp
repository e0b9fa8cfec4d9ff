// Chooses the storage of every state at this level: weights in the panels that contractions read.
#include "dialects/exec/Exec.h"
#include "dialects/exec/Level.h"
#include "dialects/grad/Build.h"
#include "dialects/grad/EntryAttributes.h"
#include "passes/Passes.h"
#include "passes/entry/Functions.h"
#include "passes/entry/ModuleLevel.h"
#include "passes/entry/NodeOrder.h"
#include "passes/kernel/KernelTable.h"
#include "passes/layout/CopyKernel.h"
#include "passes/layout/OperandLayout.h"
#include "passes/layout/StateForms.h"
#include "passes/layout/TurnedPanels.h"
#include "runtime/include/gradc/entries.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;
using namespace mlir::grad;
using exec::PanelAttr;

namespace gradc {
#define GEN_PASS_DEF_CHOOSELAYOUTS
#include "passes/Passes.h.inc"

namespace {

class Chooser {
public:
  Chooser(ModuleOp module, const exec::Level &level)
      : module(module), symbols(module), kernels(module, symbols), states(module, symbols, level) {}

  void run() {
    auto functions = llvm::to_vector(functionsOf(module));
    for (StateStorage &storage : states.all())
      createBuffers(storage);
    for (auto function : functions)
      rewrite(function);
    for (auto function : functions)
      resolveHazards(function);
    for (StateStorage &storage : states.all())
      createTransfer(storage);
    exec::eraseUnusedKernels(module);
  }

private:
  void createBuffers(StateStorage &storage) {
    if (storage.forms.empty())
      storage.forms.push_back(CopyForm());
    OpBuilder builder(storage.state);
    builder.setInsertionPointAfter(storage.state);
    auto type = cast<RankedTensorType>(storage.state.getType());
    for (auto [i, form] : llvm::enumerate(storage.forms)) {
      auto own = type.clone(form.element ? form.element : type.getElementType());
      std::string name = storage.state.getSymName().str() + "." +
                         (i == 0 ? "primary" : "mirror" + std::to_string(i));
      auto buffer = exec::BufferOp::create(
          builder, storage.state.getLoc(), name, storage.state.getSymName(), form.layout,
          i == 0 ? exec::BufferKind::primary : exec::BufferKind::mirror,
          exec::layoutBytes(own, form.layout), /*cut=*/nullptr);
      symbols.insert(buffer);
      storage.buffers.push_back(buffer);
    }
  }

  /// Replaces reads and writes of states by loads and stores of buffers.
  void rewrite(func::FuncOp function) {
    SmallVector<ReadOp> reads;
    function.walk([&](ReadOp read) { reads.push_back(read); });
    llvm::for_each(reads, [&](ReadOp read) { rewriteRead(read); });
    for (auto write : llvm::make_early_inc_range(function.getOps<WriteOp>())) {
      OpBuilder builder(write);
      Value value = write.getValue();
      store(builder, write.getLoc(), states.of(write.getState()), value);
      write.erase();
      eraseUnusedViews(value);
    }
    function.walk([&](ScanOp scan) { packInvariants(scan); });
    function.walk([&](CollectiveOpInterface collective) {
      if (collective.getCollectiveKind() == CollectiveKind::scatter)
        packScattered(collective);
    });
    function.walk([&](exec::LaunchOp launch) {
      if (!refreshesMirror(launch)) // was made for its layouts
        specialize(launch);
    });
  }

  /// Ranks divide a gradient at the same places as its state, so it is stored in the same order:
  /// by the launch that computes it, where nothing else reads it.
  void packScattered(CollectiveOpInterface scatter) {
    for (auto [operand, result, name] :
         llvm::zip_equal(scatter->getOpOperands(), scatter->getResults(), scatter.getCutStates())) {
      PanelAttr layout = states.of(name.getValue()).forms[0].layout;
      if (!layout)
        continue;
      if (!operand.get().getDefiningOp<exec::LaunchOp>() || !operand.get().hasOneUse()) {
        OpBuilder builder(scatter);
        operand.set(copy(builder, scatter->getLoc(), operand.get(), nullptr, layout));
      }
      for (Value v : {operand.get(), Value(result)})
        packed[v] = layout;
    }
  }

  /// Packs once, before the first step, the panels that every step reads. (A state is in panels
  /// already.)
  void packInvariants(ScanOp scan) {
    llvm::DenseMap<std::pair<BlockArgument, PanelAttr>, BlockArgument> panels;
    SmallVector<BlockArgument> arguments(scan.getInvariantArguments());
    SmallVector<Value> values(scan.getInvariants());
    for (auto [argument, value] : llvm::zip_equal(arguments, values))
      for (OpOperand &use : llvm::make_early_inc_range(argument.getUses())) {
        PanelAttr wanted = states.wantedBy(use);
        if (!wanted || wanted.isWinograd() || packed.contains(argument))
          continue;
        BlockArgument &panel = panels[{argument, wanted}];
        if (!panel) {
          OpBuilder builder(scan);
          Value result = copy(builder, scan.getLoc(), value, nullptr, wanted);
          scan.getInvariantsMutable().append(result);
          panel = scan.getBlock().addArgument(value.getType(), scan.getLoc());
          for (Value v : {result, Value(panel)})
            packed[v] = wanted;
        }
        use.set(panel);
      }
  }

  void rewriteRead(ReadOp read) {
    StateStorage &storage = states.of(read.getState());
    OpBuilder builder(read);
    auto type = cast<RankedTensorType>(read.getType());
    SmallVector<Value> loads(storage.buffers.size());
    auto load = [&](CopyForm form) {
      auto *it = llvm::find(storage.forms, form);
      size_t i = it == storage.forms.end() ? 0 : it - storage.forms.begin();
      Type element = storage.forms[i].element;
      if (!loads[i])
        loads[i] =
            exec::LoadOp::create(builder, read.getLoc(), element ? type.clone(element) : type,
                                 storage.buffers[i].getSymName());
      return loads[i];
    };
    llvm::MapVector<PanelAttr, SmallVector<OpOperand *>> packing;
    for (OpOperand &use : llvm::make_early_inc_range(read.getResult().getUses())) {
      auto launch = dyn_cast<exec::LaunchOp>(use.getOwner());
      Type narrow = launch ? states.narrowedState(launch) : Type();
      if (!narrow) {
        CopyForm form{states.wantedBy(use), nullptr};
        use.set(load(form));
        if (form.layout && !llvm::is_contained(storage.forms, form))
          packing[form.layout].push_back(&use);
        continue;
      }
      for (OpOperand &reader : llvm::make_early_inc_range(launch.getResult(0).getUses()))
        reader.set(load({states.wantedBy(reader), narrow}));
      launch.erase();
    }
    constexpr size_t fewReaders = 2; // that turn it faster than one launch packs it for all
    for (auto &[layout, uses] : packing)
      if (uses.size() > fewReaders ||
          !llvm::all_of(uses, [&](OpOperand *use) { return turns(*use, storage.forms[0].layout); }))
        packForReaders(layout, uses);
    read.erase();
  }

  /// Whether the kernel of a launch turns the panels of a state itself.
  bool turns(OpOperand &use, PanelAttr stored) {
    auto launch = cast<exec::LaunchOp>(use.getOwner());
    auto factor =
        turnedFactor(symbols.lookup<exec::KernelOp>(launch.getKernel()), stored, states.getLevel());
    return factor && factor->operand == use.getOperandNumber();
  }

  /// Packs the state that launches of one block read, before the first of them.
  void packForReaders(PanelAttr layout, ArrayRef<OpOperand *> uses) {
    Operation *first = uses.front()->getOwner();
    for (OpOperand *use : uses)
      if (use->getOwner()->isBeforeInBlock(first))
        first = use->getOwner();
    OpBuilder builder(first);
    Value state = uses.front()->get();
    Value panels = copy(builder, first->getLoc(), state, layoutOfValue(state), layout);
    packed[panels] = layout;
    for (OpOperand *use : uses)
      use->set(panels);
  }

  /// Stores to the primary, and refreshes the mirrors from it.
  void store(OpBuilder &builder, Location loc, StateStorage &storage, Value value) {
    // A buffer is written by a launch, or by a gather that completes what a launch has written, and
    // no result is written to two buffers. Other values are copied by a launch first.
    Value root = storage.forms[0].layout ? value : storageRoot(value);
    if (!writerOf(root) || storedLayout(root))
      root = value = copy(builder, loc, value, layoutOfValue(value), storage.forms[0].layout);
    exec::StoreOp::create(builder, loc, storage.buffers[0].getSymName(), root);
    for (auto [form, buffer] : llvm::drop_begin(llvm::zip(storage.forms, storage.buffers))) {
      auto type = cast<RankedTensorType>(value.getType());
      exec::KernelOp kernel = kernels.findOrInsert(
          createMirrorKernel(type, storage.forms[0].layout, form), module.getBody()->begin());
      auto launch = launchCopy(builder, loc, kernel, value);
      exec::StoreOp::create(builder, loc, buffer.getSymName(), launch.getResult(0));
    }
  }

  Value copy(OpBuilder &builder, Location loc, Value value, PanelAttr from, PanelAttr to,
             ArrayRef<int64_t> permutation = {}) {
    auto type = cast<RankedTensorType>(value.getType());
    exec::KernelOp kernel = kernels.findOrInsert(
        createCopyKernel(type, from, {to, nullptr}, permutation), module.getBody()->begin());
    return launchCopy(builder, loc, kernel, value).getResult(0);
  }

  /// The layout of the buffer that a value is stored to, if any.
  std::optional<PanelAttr> storedLayout(Value value) {
    if (FlatSymbolRefAttr buffer = storedBuffer(value))
      return layoutOf(buffer.getValue());
    return std::nullopt;
  }

  PanelAttr layoutOfValue(Value value) {
    if (PanelAttr panel = packed.lookup(value))
      return panel;
    if (auto load = value.getDefiningOp<exec::LoadOp>())
      return layoutOf(load.getBuffer());
    if (auto view = value.getDefiningOp<ReshapeOp>())
      if (auto load = view.getOperand().getDefiningOp<exec::LoadOp>())
        return layoutOfView(layoutOf(load.getBuffer()), load.getType(), view.getType());
    return storedLayout(value).value_or(PanelAttr());
  }

  /// Makes the kernel of a launch the variant for the layouts of its loads and stores.
  void specialize(exec::LaunchOp launch) {
    auto kernel = symbols.lookup<exec::KernelOp>(launch.getKernel());
    SmallVector<PanelAttr> wanted;
    for (Value v : launch.getOperands())
      wanted.push_back(layoutOfValue(v));
    for (Value v : launch.getResults())
      wanted.push_back(layoutOfValue(v));
    bool same = llvm::all_of(llvm::enumerate(wanted),
                             [&](auto it) { return kernel.getLayout(it.index()) == it.value(); });
    if (same)
      return;
    auto variant = cast<exec::KernelOp>(kernel->clone());
    for (auto [i, layout] : llvm::enumerate(wanted))
      variant.setLayout(i, layout);
    launch.setKernel(kernels.findOrInsert(variant, module.getBody()->begin()).getSymName());
  }

  /// A launch may write a buffer only after all readers of the old value, and over its own operand
  /// only if it works in place. Otherwise it writes elsewhere, and a copy follows.
  void resolveHazards(func::FuncOp function) {
    writersAfter.clear();
    copyReturnedStates(function);
    readers.clear();
    for (Operation &op : function.front())
      if (isNode(&op))
        forEachReadBuffer(&op, [&](FlatSymbolRefAttr buffer) { readers[buffer].insert(&op); });
    for (auto store : llvm::to_vector(function.getOps<exec::StoreOp>())) {
      Value value = store.getValue();
      exec::LaunchOp writer = writerOf(value);
      auto result = llvm::find_if(writer->getResults(), [&](Value v) {
        return v == value || llvm::is_contained(value.getDefiningOp()->getOperands(), v);
      });
      if (!isSafe(writer, *result, store.getBufferAttr()))
        writer = writeAside(store, writer);
      for (Operation *reader : readers.lookup(store.getBufferAttr()))
        if (reader != writer)
          writersAfter[reader].push_back(writer);
    }
  }

  /// Copies a state that is both written and returned, so that its old value is returned.
  void copyReturnedStates(func::FuncOp function) {
    Operation *exit = function.front().getTerminator();
    OpBuilder builder(exit);
    for (OpOperand &operand : exit->getOpOperands()) {
      FlatSymbolRefAttr buffer = loadedBuffer(operand.get());
      bool written = buffer && llvm::any_of(function.getOps<exec::StoreOp>(), [&](auto store) {
                       return store.getBufferAttr() == buffer;
                     });
      if (written)
        operand.set(copy(builder, exit->getLoc(), operand.get(), nullptr, nullptr));
    }
  }

  exec::LaunchOp writeAside(exec::StoreOp store, exec::LaunchOp writer) {
    Value value = store.getValue();
    PanelAttr layout = layoutOf(store.getBuffer());
    if (auto gather = value.getDefiningOp<CollectiveOpInterface>()) {
      // The copy goes before: ranks gather what is in the buffer.
      OpBuilder builder(gather);
      OpOperand &own = gather->getOpOperand(cast<OpResult>(value).getResultNumber());
      own.set(copy(builder, store.getLoc(), own.get(), nullptr, layout));
      specialize(writer);
      return own.get().getDefiningOp<exec::LaunchOp>();
    }
    OpBuilder builder(store);
    Value copied = copy(builder, store.getLoc(), value, nullptr, layout);
    auto copier = copied.getDefiningOp<exec::LaunchOp>();
    store.getValueMutable().assign(copied);
    specialize(writer);
    for (OpOperand &use : llvm::make_early_inc_range(value.getUses())) {
      auto launch = dyn_cast<exec::LaunchOp>(use.getOwner());
      if (launch && refreshesMirror(launch))
        use.set(copied);
      else if (launch && launch != copier)
        specialize(launch);
    }
    return copier;
  }

  bool refreshesMirror(exec::LaunchOp launch) {
    return llvm::any_of(launch->getUsers(), [&](Operation *user) {
      auto store = dyn_cast<exec::StoreOp>(user);
      return store && symbols.lookup<exec::BufferOp>(store.getBuffer()).getKind() ==
                          exec::BufferKind::mirror;
    });
  }

  bool isSafe(exec::LaunchOp writer, OpResult result, FlatSymbolRefAttr buffer) {
    auto kernel = symbols.lookup<exec::KernelOp>(writer.getKernel());
    auto readsOld = [&](Value v) { return loadedBuffer(v) == buffer; };
    for (auto [i, v] : llvm::enumerate(writer.getOperands()))
      if (readsOld(v) && !kernel.mayOverwrite(i, result.getResultNumber()))
        return false;
    // No node after the writer reads the old value.
    llvm::SetVector<Operation *> after;
    auto insertFollowers = [&](Operation *op) {
      after.insert(op->user_begin(), op->user_end());
      for (Operation *waiting : writersAfter.lookup(op))
        after.insert(waiting);
    };
    insertFollowers(writer);
    for (size_t i = 0; i < after.size(); ++i) {
      if (isNode(after[i]) && readsBuffer(after[i], buffer))
        return false;
      insertFollowers(after[i]);
    }
    return true;
  }

  PanelAttr layoutOf(StringRef buffer) {
    return symbols.lookup<exec::BufferOp>(buffer).getLayout().value_or(PanelAttr());
  }

  /// The entries `pack:STATE` and `unpack:STATE`, through which the runtime sees packed states.
  void createTransfer(StateStorage &storage) {
    auto permutation = storage.state.getPermutation();
    bool isPlain = storage.forms.size() == 1 && !storage.forms[0].layout && !permutation;
    if (isPlain || storage.state.getKind() == StateKind::derived)
      return;
    auto type = cast<RankedTensorType>(storage.state.getType());
    RankedTensorType logical = storage.state.getLogicalType();
    OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
    Location loc = storage.state.getLoc();
    auto makeFunction = [&](StringRef prefix, TypeRange inputs, TypeRange outputs) {
      auto function =
          func::FuncOp::create(builder, loc, (prefix + storage.state.getSymName()).str(),
                               builder.getFunctionType(inputs, outputs));
      function->setAttr("grad.entry", builder.getStringAttr(function.getSymName()));
      function.addEntryBlock();
      return function;
    };
    auto pack = makeFunction(GRADC_PACK_PREFIX, TypeRange{logical}, {});
    pack.setArgAttr(0, portName, builder.getStringAttr("value"));
    OpBuilder body = OpBuilder::atBlockEnd(&pack.getBody().front());
    Value packed = pack.getArgument(0);
    if (storage.state.getShape())
      packed = ReshapeOp::create(body, loc, storage.state.getUnpermutedType(), packed);
    if (permutation)
      packed = copy(body, loc, packed, nullptr, storage.forms[0].layout, *permutation);
    store(body, loc, storage, packed);
    func::ReturnOp::create(body, loc);

    auto unpack = makeFunction(GRADC_UNPACK_PREFIX, {}, TypeRange{logical});
    unpack.setResultAttr(0, portName, builder.getStringAttr("value"));
    body = OpBuilder::atBlockEnd(&unpack.getBody().front());
    Value value = exec::LoadOp::create(body, loc, type, storage.buffers[0].getSymName());
    if (permutation)
      value = copy(body, loc, value, storage.forms[0].layout, nullptr,
                   invertPermutationVector(*permutation));
    else if (storage.forms[0].layout)
      value = copy(body, loc, value, storage.forms[0].layout, nullptr);
    if (storage.state.getShape())
      value = ReshapeOp::create(body, loc, logical, value);
    func::ReturnOp::create(body, loc, value);
  }

  ModuleOp module;
  SymbolTable symbols;
  KernelTable kernels;
  StateForms states;
  /// The panels of values that are not buffers: operands of loops and the arguments for them,
  /// states packed for their readers, and gradients that ranks scatter.
  llvm::DenseMap<Value, PanelAttr> packed;
  /// In one function: by launch, the nodes that overwrite what it reads, and so must wait for it.
  llvm::DenseMap<Operation *, SmallVector<Operation *>> writersAfter;
  /// The nodes that read a buffer's old value.
  llvm::DenseMap<Attribute, llvm::SetVector<Operation *>> readers;
};

/// Whether what collectives divide are states, whose storage is looked up by name.
LogicalResult expectStates(ModuleOp module) {
  SymbolTable symbols(module);
  WalkResult found = module.walk([&](CollectiveOpInterface collective) {
    for (FlatSymbolRefAttr name : collective.getCutStates())
      if (!symbols.lookup<StateOp>(name.getAttr())) {
        collective->emitOpError("expected ") << name << " to be a state";
        return WalkResult::interrupt();
      }
    return WalkResult::advance();
  });
  return failure(found.wasInterrupted());
}

struct ChooseLayouts : impl::ChooseLayoutsBase<ChooseLayouts> {
  void runOnOperation() override {
    const exec::Level *level = levelOrNative(getOperation());
    if (!level || failed(expectStates(getOperation())))
      return signalPassFailure();
    setLevel(getOperation(), level->name);
    Chooser(getOperation(), *level).run();
  }
};

} // namespace
} // namespace gradc
