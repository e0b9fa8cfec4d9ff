// Allocates every tensor: functions of launches become entries over one arena.
#include "dialects/exec/Exec.h"
#include "dialects/grad/control/Control.h"
#include "dialects/grad/training/Transfer.h"
#include "passes/Passes.h"
#include "passes/entry/Functions.h"
#include "passes/entry/PlannedEntry.h"
#include "passes/kernel/Outline.h"
#include "passes/memory/CutStates.h"
#include "passes/memory/Placement.h"

using namespace mlir;
using namespace mlir::grad;
using exec::SliceAttr;

namespace gradc {
#define GEN_PASS_DEF_PLANMEMORY
#include "passes/Passes.h.inc"

namespace {

static_assert(unboundedTrips == exec::maxIterations);

exec::CollectiveKind plannedKind(grad::CollectiveKind kind) {
  switch (kind) {
  case grad::CollectiveKind::sum:
    return exec::CollectiveKind::sum;
  case grad::CollectiveKind::scatter:
    return exec::CollectiveKind::scatter;
  case grad::CollectiveKind::gather:
    return exec::CollectiveKind::gather;
  }
  llvm_unreachable("all kinds are above");
}

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
  void emitEntry() {
    createEntry(builder, function, placement.getArenaBytes(),
                llvm::map_to_vector(function.front().getTerminator()->getOperands(),
                                    [&](Value v) { return placement.sliceOf(v); }));
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
      SliceAttr condition = node.reads.empty() ? SliceAttr() : placement.sliceOf(node.reads[0]);
      auto loop =
          exec::LoopOp::create(builder, loc, scan.getTrips(), SliceAttr(), condition, names);
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
    auto zeros = collective->getAttrOfType<DenseI64ArrayAttr>(zerosName);
    auto planned = exec::CollectiveOp::create(
        builder, node.location, plannedKind(collective.getCollectiveKind()), slices(node.writes),
        collective.travelsNarrow(), collective->getAttrOfType<ArrayAttr>(cutsName),
        zeros ? zeros.asArrayRef() : ArrayRef<int64_t>(), names);
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
    for (auto function : llvm::to_vector(functionsOf(getOperation())))
      if (failed(Emitter(symbols, function).run()))
        return signalPassFailure();
  }
};

} // namespace
} // namespace gradc
