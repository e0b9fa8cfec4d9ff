// Computes products in 16 bits, and stores the values between them in 16 bits, in functions with
// `grad.precision`.
#include "passes/Passes.h"

#include "dialects/grad/Grad.h"
#include "passes/entry/Functions.h"
#include "passes/graph/StorageCasts.h"
#include "passes/kernel/Outline.h"

#include "llvm/ADT/StringSet.h"

namespace gradc {
#define GEN_PASS_DEF_MIXPRECISION
#include "passes/Passes.h.inc"
} // namespace gradc

using namespace mlir;
using namespace mlir::grad;

namespace {

constexpr StringLiteral precisionName = "grad.precision";

bool isF32(Value v) { return getElementTypeOrSelf(v.getType()).isF32(); }

/// Whether the elements of an op's result are elements of its operands, at other positions.
bool isMovement(Operation *op) {
  auto loops = dyn_cast<LoopsOpInterface>(op);
  return loops &&
         (loops.getLoopKind() == LoopKind::movement || loops.getLoopKind() == LoopKind::view ||
          loops.getLoopKind() == LoopKind::assembly);
}

/// Whether the op combines a value with itself, as in squares, and only reductions read the result,
/// as for a norm. f16 has no square of 300. A reduction's kernel computes the squares itself, so
/// storing them would save nothing.
bool isSquareToReduce(Operation *op) {
  auto loops = dyn_cast<LoopsOpInterface>(op);
  return loops && loops.getLoopKind() == LoopKind::elementwise && op->getNumOperands() == 2 &&
         op->getOperand(0) == op->getOperand(1) &&
         llvm::all_of(op->getUsers(), [](Operation *reader) {
           auto read = dyn_cast<LoopsOpInterface>(reader);
           return isa<ReductionOpInterface>(reader) ||
                  (read && read.getLoopKind() == LoopKind::reduction);
         });
}

/// One function's ops, in program order.
class Mixer {
public:
  Mixer(FloatType narrow, llvm::StringSet<> high) : narrow(narrow), high(std::move(high)) {}

  void mix(Block &block) {
    for (Operation &op : llvm::make_early_inc_range(block))
      mix(&op);
  }

private:
  void mix(Operation *op) {
    for (Region &region : op->getRegions())
      for (Block &block : region)
        mix(block);
    if (isa<ReadOp, ConstantOp>(op) ||
        (isPure(op) && llvm::all_of(op->getOperands(), [&](Value v) { return weak.contains(v); })))
      weak.insert_range(op->getResults());
    auto answering = dyn_cast<PrecisionOpInterface>(op);
    if (!answering || op->getNumRegions())
      return;
    if (isHigh(op) || isSquareToReduce(op))
      return;
    if (answering.getPrecision() == Precision::low)
      multiply(op);
    else if (answering.getPrecision() == Precision::follow && follows(op))
      isMovement(op) ? move(op) : keep(op);
  }

  bool isHigh(Operation *op) const {
    SmallVector<Attribute> nodes;
    gradc::collectNodes(op->getLoc(), nodes);
    return llvm::any_of(
        nodes, [&](Attribute node) { return high.contains(cast<StringAttr>(node).getValue()); });
  }

  /// Weights and constants are ignored: a bias follows the value that it is added to.
  bool follows(Operation *op) const {
    bool any = false;
    for (Value v : op->getOperands()) {
      if (!isa<FloatType>(getElementTypeOrSelf(v.getType())) || weak.contains(v))
        continue;
      if (!storedOf(v))
        return false;
      any = true;
    }
    return any;
  }

  /// The value in 16 bits. For a view, its operand is stored, by the kernel that computes it.
  Value store(Value v) {
    if (Value known = storedOf(v))
      return known;
    if (Value known = stored.lookup(v))
      return known;
    OpBuilder b(v.getContext());
    b.setInsertionPointAfterValue(v);
    auto type = cast<RankedTensorType>(v.getType()).clone(narrow);
    auto view = v.getDefiningOp<LoopsOpInterface>();
    bool looksAtOne = view && view.getLoopKind() == LoopKind::view && view->getNumOperands() == 1 &&
                      isF32(view->getOperand(0));
    if (!looksAtOne)
      return stored[v] = CastOp::create(b, v.getLoc(), type, v, /*storage=*/true);
    IRMapping map;
    map.map(view->getOperand(0), store(view->getOperand(0)));
    Operation *same = b.clone(*view, map);
    same->getResult(0).setType(type);
    return stored[v] = same->getResult(0);
  }

  /// Makes a contraction read stored factors. Its f32 sums are stored, too.
  void multiply(Operation *op) {
    if (!llvm::all_of(op->getOperands(), isF32) || !isF32(op->getResult(0)))
      return;
    for (OpOperand &operand : op->getOpOperands())
      operand.set(store(operand.get()));
    op->setAttr("wide", UnitAttr::get(op->getContext()));
    keep(op);
  }

  /// Makes all readers of the op's large results read them from 16 bits.
  void keep(Operation *op) {
    auto rank = cast<RankedTensorType>(op->getOperand(0).getType()).getRank();
    for (Value result : op->getResults()) {
      auto type = cast<RankedTensorType>(result.getType());
      if (!isF32(result) || type.getRank() < rank || weak.contains(result))
        continue;
      OpBuilder b(op->getContext());
      b.setInsertionPointAfter(op);
      auto down = CastOp::create(b, op->getLoc(), type.clone(narrow), result, /*storage=*/true);
      auto up = CastOp::create(b, op->getLoc(), type, down, /*storage=*/true);
      result.replaceAllUsesExcept(up, down);
    }
  }

  /// Replaces a movement by the same movement of the stored elements.
  void move(Operation *op) {
    OpBuilder b(op);
    IRMapping stored;
    for (Value v : op->getOperands())
      if (isF32(v))
        stored.map(v, store(v));
    Operation *moved = b.clone(*op, stored);
    for (auto [result, narrowed] : llvm::zip_equal(op->getResults(), moved->getResults())) {
      if (!isF32(result))
        continue;
      narrowed.setType(cast<RankedTensorType>(result.getType()).clone(narrow));
      b.setInsertionPointAfter(moved);
      result.replaceAllUsesWith(
          CastOp::create(b, op->getLoc(), result.getType(), narrowed, /*storage=*/true));
    }
    op->erase();
  }

  FloatType narrow;
  llvm::StringSet<> high; ///< nodes that stay in f32
  DenseMap<Value, Value> stored;
  DenseSet<Value> weak; ///< computed from states and constants only
};

/// Whether all targets are states: mixing replaces none of them.
bool isForStates(GradientOp request) {
  return llvm::all_of(request.getTargets(),
                      [](Value target) { return isa_and_nonnull<ReadOp>(target.getDefiningOp()); });
}

struct MixPrecision : gradc::impl::MixPrecisionBase<MixPrecision> {
  using MixPrecisionBase::MixPrecisionBase;

  void runOnOperation() override {
    // Replace gradient requests in the loss first: once a target is stored in 16 bits, a request
    // would not find its readers.
    bool asks = llvm::any_of(gradc::functionsOf(getOperation()), [&](func::FuncOp function) {
      return function->hasAttr(precisionName) &&
             llvm::any_of(function.getOps<GradientOp>(), [&](GradientOp request) {
               return !lateRequests || !isForStates(request);
             });
    });
    OpPassManager differentiate(ModuleOp::getOperationName());
    differentiate.addPass(gradc::createDifferentiate());
    if (asks && failed(runPipeline(differentiate, getOperation())))
      return signalPassFailure();
    for (auto function : gradc::functionsOf(getOperation()))
      if (failed(mix(function)))
        return signalPassFailure();
  }

  LogicalResult mix(func::FuncOp function) {
    auto wanted = function->getAttrOfType<DictionaryAttr>(precisionName);
    if (!wanted)
      return success();
    auto type = wanted.getAs<TypeAttr>("type");
    auto narrow = type ? dyn_cast<FloatType>(type.getValue()) : FloatType();
    if (!narrow || narrow.getWidth() != 16)
      return function.emitError("expected `type` of grad.precision to be f16 or bf16, found ")
             << wanted;
    llvm::StringSet<> high;
    if (auto nodes = wanted.getAs<ArrayAttr>("high"))
      high.insert_range(nodes.getAsValueRange<StringAttr>());
    Mixer(narrow, std::move(high)).mix(function.front());
    function->removeAttr(precisionName);
    return success();
  }
};

} // namespace
