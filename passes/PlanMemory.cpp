// Allocates every tensor: functions of launches become entries over one arena.
#include "dialects/exec/Transfer.h"
#include "dialects/grad/Transfer.h"
#include "passes/Passes.h"
#include "passes/support/CutStates.h"
#include "passes/support/Outline.h"
#include "passes/support/Placement.h"
#include "passes/support/Ports.h"

using namespace mlir;
using namespace mlir::grad;
using exec::SliceAttr;

namespace gradc {
#define GEN_PASS_DEF_PLANMEMORY
#include "passes/Passes.h.inc"

namespace {

/// Emits the entry of a function.
class Emitter {
public:
  Emitter(const SymbolTable &symbols, func::FuncOp function)
      : function(function), placement(symbols, function), builder(function) {}

  LogicalResult run() {
    if (failed(placement.run()))
      return failure();
    emitEntry();
    return success();
  }

private:
  /// Name, type, role, field and so on, from the function's argument or result attributes.
  DictionaryAttr port(Type type, DictionaryAttr attributes, SliceAttr slice) {
    Builder b(function.getContext());
    NamedAttrList list;
    list.set("type", TypeAttr::get(type));
    if (slice)
      list.set("slice", slice);
    if (attributes)
      for (NamedAttribute a : attributes)
        if (a.getName().getValue().starts_with("grad."))
          list.set(a.getName().getValue().drop_front(5), a.getValue());
    return list.getDictionary(function.getContext());
  }

  void emitEntry() {
    SmallVector<Attribute> inputs, outputs;
    Block &block = function.getBody().front();
    for (BlockArgument a : block.getArguments())
      inputs.push_back(port(a.getType(), function.getArgAttrDict(a.getArgNumber()), nullptr));
    for (auto [i, v] : llvm::enumerate(block.getTerminator()->getOperands()))
      outputs.push_back(port(v.getType(), function.getResultAttrDict(i), placement.sliceOf(v)));
    auto entry = exec::EntryOp::create(builder, function.getLoc(), function.getSymName(),
                                       placement.getArenaBytes(), builder.getArrayAttr(inputs),
                                       builder.getArrayAttr(outputs));
    if (std::optional<int64_t> batch = batchOf(function))
      entry->setAttr("batch", builder.getI64IntegerAttr(*batch * rowUnitOf(function)));
    if (int64_t unit = rowUnitOf(function); unit > 1)
      entry->setAttr("row_unit", builder.getI64IntegerAttr(unit));
    if (function->hasAttr("grad.rows"))
      entry->setAttr("any_rows", builder.getUnitAttr());
    for (StringRef name : {"least_rows", "least_rows_node", "coupling_node"})
      if (auto value = function->getAttr(("grad." + name).str()))
        entry->setAttr(name, value);
    builder.createBlock(&entry.getBody());
    emit(placement.getNodes());
    function.erase();
  }

  void emit(const std::vector<PlacedNode> &nodes) {
    for (const PlacedNode &node : nodes) {
      OpBuilder::InsertionGuard guard(builder);
      emit(node);
    }
  }

  void emit(const PlacedNode &node) {
    Location loc = node.location;
    if (auto launch = dyn_cast_or_null<exec::LaunchOp>(node.op)) {
      exec::DispatchOp::create(builder, loc, launch.getKernelAttr(), slices(node.reads),
                               slices(node.writes),
                               launch->getAttrOfType<FlatSymbolRefAttr>(launchCutName),
                               launch->getAttrOfType<IntegerAttr>(unitsPerPieceName),
                               launch->getAttrOfType<ArrayAttr>("exec.nodes"));
      return;
    }
    ArrayAttr names = namesAt(loc);
    if (!node.op) {
      exec::CopyOp::create(builder, loc, placement.sliceOf(node.reads[0]),
                           placement.sliceOf(node.writes[0]), names);
    } else if (auto collective = dyn_cast<grad::CollectiveOpInterface>(node.op)) {
      emitCollective(node, collective, names);
    } else if (auto transfer = grad::TransferHalf::of(node.op)) {
      const PlacedTensor &value = transfer->sends ? node.reads[0] : node.writes[0];
      exec::TransferOp::create(builder, loc, placement.sliceOf(value), transfer->peer,
                               transfer->number, transfer->sends, transfer->startsWithRows(),
                               names);
    } else if (auto scan = dyn_cast<grad::ScanOp>(node.op)) {
      auto loop = exec::LoopOp::create(builder, loc, scan.getTrips(), SliceAttr(), names);
      builder.createBlock(&loop.getBody());
      emit(node.body);
    } else {
      auto branch =
          exec::IfOp::create(builder, loc, TypeRange(), placement.sliceOf(node.reads[0]), names);
      builder.createBlock(&branch.getBody());
      emit(node.body);
      builder.createBlock(&branch.getOtherwise());
      emit(node.otherwise);
    }
  }

  void emitCollective(const PlacedNode &node, grad::CollectiveOpInterface collective,
                      ArrayAttr names) {
    auto planned = exec::CollectiveOp::create(
        builder, node.location, exec::CollectiveKind(collective.getCollectiveKind()),
        slices(node.writes), collective.travelsNarrow(),
        collective->getAttrOfType<ArrayAttr>(cutsName), collective->hasAttr(zerosName), names);
    if (collective.holdsRows())
      planned->setAttr(exec::ofShardsName, builder.getUnitAttr());
  }

  ArrayAttr slices(ArrayRef<PlacedTensor> tensors) {
    return builder.getArrayAttr(llvm::map_to_vector(
        tensors, [&](const PlacedTensor &t) -> Attribute { return placement.sliceOf(t); }));
  }

  ArrayAttr namesAt(Location location) {
    SmallVector<Attribute> names;
    collectNodes(location, names);
    return builder.getArrayAttr(names);
  }

  func::FuncOp function;
  Placement placement;
  OpBuilder builder;
};

struct PlanMemory : impl::PlanMemoryBase<PlanMemory> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    for (auto function : llvm::to_vector(getOperation().getOps<func::FuncOp>()))
      if (failed(Emitter(symbols, function).run()))
        return signalPassFailure();
  }
};

} // namespace
} // namespace gradc
