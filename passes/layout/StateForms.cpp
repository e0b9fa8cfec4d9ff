// Collects the layouts that the kernels of all entries read states in.
#include "passes/layout/StateForms.h"

#include "dialects/exec/Exec.h"
#include "dialects/grad/HostTensor.h"
#include "dialects/grad/TensorTypes.h"
#include "passes/entry/Functions.h"
#include "passes/entry/NodeOrder.h"
#include "passes/layout/OperandLayout.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;
using exec::PanelAttr;

StateForms::StateForms(ModuleOp module, const SymbolTable &symbols, const exec::Level &level)
    : symbols(symbols), level(level) {
  for (auto state : module.getOps<StateOp>()) {
    index[state.getSymName()] = storages.size();
    storages.emplace_back().state = state;
  }
  for (auto function : functionsOf(module))
    for (auto write : function.getOps<WriteOp>())
      written.insert({function, write.getStateAttr()});
  markNibbles(module);
  for (auto function : functionsOf(module))
    function.walk([&](Operation *op) { note(op); });
  for (StateStorage &storage : storages) {
    putPrimaryFirst(storage);
    dropMirrorsOfOneRun(storage);
  }
  for (auto function : functionsOf(module))
    function.walk([&](exec::LaunchOp launch) { alignUpdates(launch); });
}

/// Whether the state is a constant whose elements are signed integers of four bits.
static bool fitsInNibbles(StateOp state) {
  if (state.getKind() != StateKind::constant ||
      !cast<RankedTensorType>(state.getType()).getElementType().isSignlessInteger(8))
    return false;
  HostTensor initial(state.getInitial());
  ArrayRef<char> bytes = initial.bytes();
  return llvm::all_of(bytes, [](char code) { return llvm::isInt<4>(int8_t(code)); });
}

void StateForms::markNibbles(ModuleOp module) {
  if (level.isCuda())
    return;
  for (StateStorage &storage : storages)
    storage.isOfNibbles = fitsInNibbles(storage.state);
  auto takesNibbles = [&](auto &&self, OpOperand &use) -> bool {
    PanelAttr wanted = wantedBy(use);
    auto view = dyn_cast<ReshapeOp>(use.getOwner());
    return wanted && wanted.isOfNibbles() &&
           (!view || llvm::all_of(view.getResult().getUses(),
                                  [&](OpOperand &reader) { return self(self, reader); }));
  };
  llvm::StringSet<> ofBytes;
  module.walk([&](ReadOp read) {
    for (OpOperand &use : read.getResult().getUses())
      if (!takesNibbles(takesNibbles, use))
        ofBytes.insert(read.getState());
  });
  for (StateStorage &storage : storages)
    storage.isOfNibbles &= !ofBytes.contains(storage.state.getSymName());
}

bool StateForms::readsNibbles(Value value) const {
  if (auto view = value.getDefiningOp<ReshapeOp>())
    value = view.getOperand();
  auto read = value.getDefiningOp<ReadOp>();
  return read && storages[index.lookup(read.getState())].isOfNibbles;
}

bool StateForms::showsPanels(ReshapeOp view) const {
  auto read = view.getOperand().getDefiningOp<ReadOp>();
  ArrayRef<int64_t> from = typeOf(view.getOperand()).getShape(), to = view.getType().getShape();
  return read && !from.empty() && !to.empty() && from.back() == to.back() &&
         !llvm::is_contained(llvm::make_second_range(written), read.getStateAttr()) &&
         llvm::all_of(view->getUsers(), llvm::IsaPred<exec::LaunchOp>);
}

PanelAttr StateForms::wantedBy(OpOperand &use) const {
  if (auto view = dyn_cast<ReshapeOp>(use.getOwner()); view && showsPanels(view)) {
    for (OpOperand &reader : view.getResult().getUses())
      if (PanelAttr wanted = layoutOfView(wantedBy(reader), view.getType(), typeOf(use.get())))
        return wanted;
    return nullptr;
  }
  auto launch = dyn_cast<exec::LaunchOp>(use.getOwner());
  if (!launch)
    return nullptr;
  auto kernel = symbols.lookup<exec::KernelOp>(launch.getKernel());
  PanelAttr wanted = wantedLayout(kernel, use.getOperandNumber(), level);
  PanelAttr nibbles =
      readsNibbles(use.get()) ? nibblesOf(kernel, use.getOperandNumber(), wanted) : PanelAttr();
  return nibbles ? nibbles : wanted;
}

Type StateForms::narrowedState(exec::LaunchOp launch) const {
  if (level.isCuda() || !llvm::all_of(launch->getUsers(), llvm::IsaPred<exec::LaunchOp>))
    return nullptr;
  return narrowedElement(symbols.lookup<exec::KernelOp>(launch.getKernel()));
}

/// Collects what the users of each state want, in program order: the forward comes first.
void StateForms::note(Operation *op) {
  if (auto launch = dyn_cast<exec::LaunchOp>(op)) {
    noteLaunch(launch);
  } else if (auto read = dyn_cast<ReadOp>(op)) {
    StateStorage &storage = of(read.getState());
    for (Operation *user : read.getResult().getUsers()) {
      auto view = dyn_cast<ReshapeOp>(user);
      bool isShown = view && showsPanels(view);
      storage.isViewed |= isShown;
      storage.fixed |= !isShown && !isa<exec::LaunchOp>(user);
    }
  } else if (auto collective = dyn_cast<CollectiveOpInterface>(op)) {
    for (FlatSymbolRefAttr state : collective.getCutStates())
      of(state.getValue()).isDivided = true;
  } else if (auto write = dyn_cast<WriteOp>(op)) {
    StateStorage &storage = of(write.getState());
    // What ranks gather is as the launch has stored it. Other collectives are row-major.
    Operation *writer = storageRoot(write.getValue()).getDefiningOp();
    storage.fixed |= isa_and_nonnull<CollectiveOpInterface>(writer) && !writerOf(write.getValue());
    // Rows of a table are adjacent elements.
    if (auto launch = dyn_cast_or_null<exec::LaunchOp>(writer))
      storage.fixed |= bool(symbols.lookup<exec::KernelOp>(launch.getKernel()).getPatchAttr());
    for (Operation *user : write.getValue().getUsers())
      storage.fixed |= !isa<WriteOp, exec::LaunchOp, CollectiveOpInterface>(user);
  }
}

void StateForms::noteLaunch(exec::LaunchOp launch) {
  for (OpOperand &operand : launch->getOpOperands()) {
    Value v = operand.get();
    Type narrow;
    if (auto rounding = v.getDefiningOp<exec::LaunchOp>())
      if ((narrow = narrowedState(rounding)))
        v = rounding.getOperand(0);
    PanelAttr wanted = wantedBy(operand);
    if (auto view = v.getDefiningOp<ReshapeOp>(); view && !narrow && showsPanels(view)) {
      v = view.getOperand();
      wanted = layoutOfView(wanted, view.getType(), typeOf(v));
    }
    auto read = v.getDefiningOp<ReadOp>();
    if (CopyForm form{wanted, narrow}; read && (wanted || narrow))
      noteForm(launch, read, form);
  }
}

void StateForms::noteForm(exec::LaunchOp reader, ReadOp read, CopyForm form) {
  StateStorage &storage = of(read.getState());
  if (!llvm::is_contained(storage.forms, form))
    storage.forms.push_back(form);
  Operation *entry = reader->getParentOp();
  if (!written.contains({entry, read.getStateAttr()}) && !llvm::is_contained(storage.lasting, form))
    storage.lasting.push_back(form);
}

/// Whether the padding of the panels is more than ranks should send each other for it.
static bool padsMuch(StateOp state, PanelAttr layout) {
  constexpr int64_t padding = 32; // one part in that many
  auto type = cast<RankedTensorType>(state.getType());
  int64_t bytes = bytesOf(type);
  return exec::layoutBytes(type, layout) - bytes > bytes / padding;
}

/// A mirror of fewer digits makes no primary, nor does a transformed filter, because updates need
/// values. A row-major state that a contraction reads has panels beside it.
void StateForms::putPrimaryFirst(StateStorage &storage) {
  auto &forms = storage.forms;
  if (!forms.empty() && forms[0].element) {
    auto *whole = llvm::find_if(
        forms, [](const CopyForm &form) { return !form.element && !form.layout.isWinograd(); });
    if (whole == forms.end())
      forms.insert(forms.begin(), CopyForm());
    else
      std::rotate(forms.begin(), whole, whole + 1);
  }
  // A view shows no other panels than those along the last dim.
  auto type = cast<RankedTensorType>(storage.state.getType());
  if (storage.isViewed && !forms.empty() && forms[0].layout) {
    auto *shown = llvm::find_if(forms, [&](const CopyForm &form) {
      return !form.element && layoutOfView(form.layout, type, type);
    });
    if (shown == forms.end())
      storage.fixed = true;
    else
      std::rotate(forms.begin(), shown, shown + 1);
  }
  if (storage.isDivided && !forms.empty() && forms[0].layout && !forms[0].layout.isWinograd())
    storage.fixed |= padsMuch(storage.state, forms[0].layout);
  if (!forms.empty() && forms[0].layout && (storage.fixed || forms[0].layout.isWinograd()))
    forms.insert(forms.begin(), CopyForm());
}

/// Panels are packed for a reader as fast as for a mirror, and need memory only until they are
/// read. A mirror of fewer digits serves the forward, too, and a transformed filter is not packed
/// by rows.
void StateForms::dropMirrorsOfOneRun(StateStorage &storage) {
  auto lasts = [&](const CopyForm &form) {
    return form.element || form.layout.isWinograd() || llvm::is_contained(storage.lasting, form);
  };
  if (!storage.forms.empty())
    storage.forms.erase(std::remove_if(storage.forms.begin() + 1, storage.forms.end(),
                                       [&](const CopyForm &form) { return !lasts(form); }),
                        storage.forms.end());
}

void StateForms::alignUpdates(exec::LaunchOp launch) {
  SmallVector<StateStorage *> updated;
  for (Value result : launch.getResults())
    for (Operation *user : result.getUsers()) {
      auto gather = dyn_cast<CollectiveOpInterface>(user);
      Value value = gather && gather->getNumResults() == 1 ? gather->getResult(0) : result;
      for (Operation *writer : value.getUsers())
        if (auto write = dyn_cast<WriteOp>(writer))
          updated.push_back(&of(write.getState()));
    }
  for (StateStorage *storage : updated) {
    if (storage->fixed || !storage->forms.empty())
      continue;
    auto *model = llvm::find_if(updated, [&](StateStorage *other) {
      return !other->fixed && !other->forms.empty() && other->forms[0].layout &&
             !other->forms[0].layout.isWinograd() &&
             other->state.getType() == storage->state.getType();
    });
    if (model != updated.end())
      storage->forms = {(*model)->forms[0]};
  }
}
