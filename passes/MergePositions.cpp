// Merges the spatial dims of convolutions that have one tap.
#include "dialects/exec/Exec.h"
#include "dialects/grad/Grad.h"
#include "passes/Passes.h"

using namespace mlir;
using namespace mlir::grad;

namespace gradc {
#define GEN_PASS_DEF_MERGEPOSITIONS
#include "passes/Passes.h.inc"

namespace {

ArrayRef<int64_t> shapeOf(Value v) { return cast<RankedTensorType>(v.getType()).getShape(); }

/// A kernel of one contraction, and of ops on single elements of its result.
class Merging {
public:
  explicit Merging(exec::KernelOp kernel) : kernel(kernel) {
    auto contractions = kernel.getBlock().getOps<ContractionOpInterface>();
    if (!llvm::hasSingleElement(contractions))
      return;
    contraction = *contractions.begin();
    window = contraction.getLetters().window;
    if (window)
      positions = llvm::to_vector(shapeOf(result()).take_front(window.getRank()));
  }

  bool isPossible() {
    return window && hasOneTap() &&
           llvm::all_of(kernel.getBlock().without_terminator(),
                        [&](Operation &op) { return isMerged(&op); });
  }

  void run() {
    for (BlockArgument argument : kernel.getBlock().getArguments())
      retype(argument);
    for (Operation &op : kernel.getBlock().without_terminator()) {
      llvm::for_each(op.getResults(), [&](Value result) { retype(result); });
      auto constant = dyn_cast<ConstantOp>(op);
      if (constant && constant.getValue().getType() != constant.getType())
        constant.setValueAttr(cast<DenseElementsAttr>(constant.getValue())
                                  .resizeSplat(cast<ShapedType>(constant.getType())));
    }
  }

  bool isSpread(Type type) {
    auto shaped = cast<RankedTensorType>(type);
    return shaped.getRank() == rank() &&
           shaped.getShape().take_front(spatialRank()) == ArrayRef(positions);
  }
  RankedTensorType merged(Type type) {
    auto shaped = cast<RankedTensorType>(type);
    SmallVector<int64_t> shape(shaped.getShape());
    shape[0] = llvm::product_of(positions); // whose tiles threads share
    std::fill_n(shape.begin() + 1, spatialRank() - 1, 1);
    return shaped.clone(shape);
  }

private:
  Value result() { return contraction->getResult(0); }
  int64_t rank() { return int64_t(shapeOf(result()).size()); }
  int64_t spatialRank() { return int64_t(positions.size()); }

  /// Whether each window of a single picture is one position.
  bool hasOneTap() {
    auto areAll = [](ArrayRef<int64_t> numbers, int64_t n) {
      return llvm::all_of(numbers, [&](int64_t number) { return number == n; });
    };
    ArrayRef<int64_t> others = shapeOf(result()).drop_front(spatialRank());
    return spatialRank() > 1 && !areAll(ArrayRef(positions).drop_front(), 1) &&
           areAll(window.getSize(), 1) && areAll(window.getStride(), 1) &&
           areAll(window.getLow(), 0) && areAll(window.getHigh(), 0) &&
           areAll(window.getBase(), 1) && isSpread(contraction->getOperand(0).getType()) &&
           !others.empty() && areAll(others.drop_back(), 1);
  }

  /// Whether the op keeps its meaning if spread values have merged positions.
  bool isMerged(Operation *op) {
    if (op == contraction)
      return !isSpread(contraction->getOperand(1).getType());
    if (!llvm::any_of(op->getResultTypes(), [&](Type type) { return isSpread(type); }))
      return llvm::none_of(op->getOperandTypes(), [&](Type type) { return isSpread(type); });
    if (auto movement = dyn_cast<MovementOpInterface>(op))
      return llvm::all_of(movement.getResultDims(),
                          [&](int64_t d) { return d >= spatialRank(); }); // repeated along others
    if (auto constant = dyn_cast<ConstantOp>(op))
      return isa<SplatElementsAttr>(constant.getValue());
    return op->hasTrait<Pointwise>();
  }

  void retype(Value value) {
    if (isSpread(value.getType()))
      value.setType(merged(value.getType()));
  }

  exec::KernelOp kernel;
  ContractionOpInterface contraction;
  WindowAttr window;
  SmallVector<int64_t> positions;
};

/// Lets a launch read and write views with merged positions.
void relaunch(exec::LaunchOp launch, Merging &merging) {
  OpBuilder b(launch);
  Location where = launch.getLoc();
  for (OpOperand &operand : launch->getOpOperands())
    if (Type type = operand.get().getType(); merging.isSpread(type)) {
      auto view = operand.get().getDefiningOp<ReshapeOp>();
      bool isOfMerged = view && view.getOperand().getType() == merging.merged(type);
      operand.set(isOfMerged ? view.getOperand()
                             : ReshapeOp::create(b, where, merging.merged(type), operand.get()));
      if (isOfMerged && view->use_empty())
        view.erase();
    }
  b.setInsertionPointAfter(launch);
  for (Value result : launch.getResults())
    if (Type type = result.getType(); merging.isSpread(type)) {
      result.setType(merging.merged(type));
      auto back = ReshapeOp::create(b, where, type, result);
      result.replaceAllUsesExcept(back, back);
    }
}

struct MergePositions : impl::MergePositionsBase<MergePositions> {
  void runOnOperation() override {
    DenseMap<StringAttr, SmallVector<exec::LaunchOp>> launches;
    getOperation().walk([&](exec::LaunchOp launch) {
      launches[launch.getKernelAttr().getAttr()].push_back(launch);
    });
    for (auto kernel : getOperation().getOps<exec::KernelOp>()) {
      Merging merging(kernel);
      if (!merging.isPossible())
        continue;
      for (exec::LaunchOp launch : launches[kernel.getSymNameAttr()])
        relaunch(launch, merging);
      merging.run();
    }
  }
};

} // namespace
} // namespace gradc
