// Pointwise ops have no dims of their own; broadcasts renumber theirs.
#include "passes/kernel/MergedDims.h"

#include "dialects/grad/Grad.h"

using namespace mlir;
using namespace mlir::grad;

namespace gradc {

MergedDims::MergedDims(ArrayRef<int64_t> sizes, bool keepsRank)
    : sizes(sizes), keepsRank(keepsRank) {}

bool MergedDims::isSpread(Type type) const {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(type).getShape();
  return shape.take_front(sizes.size()) == ArrayRef(sizes);
}

RankedTensorType MergedDims::merged(Type type) const {
  auto shaped = cast<RankedTensorType>(type);
  SmallVector<int64_t> shape{llvm::product_of(sizes)};
  if (keepsRank)
    shape.append(count() - 1, 1);
  llvm::append_range(shape, shaped.getShape().drop_front(count()));
  return shaped.clone(shape);
}

std::optional<bool> MergedDims::repeatsSpread(BroadcastOp broadcast) const {
  ArrayRef<int64_t> dims = broadcast.getDims();
  bool isOperandSpread = isSpread(broadcast.getOperand().getType());
  if (!isOperandSpread && llvm::all_of(dims, [&](int64_t d) { return d >= count(); }))
    return false;
  if (isOperandSpread && llvm::equal(dims.take_front(count()), llvm::seq<int64_t>(0, count())))
    return true;
  return std::nullopt;
}

bool MergedDims::keepsMeaning(Operation *op) const {
  auto isSpreadType = [&](Type type) { return isSpread(type); };
  if (llvm::none_of(op->getResultTypes(), isSpreadType))
    return llvm::none_of(op->getOperandTypes(), isSpreadType);
  // The one op that repeats values along dims.
  if (auto broadcast = dyn_cast<BroadcastOp>(op))
    return repeatsSpread(broadcast).has_value();
  if (auto constant = dyn_cast<ConstantOp>(op))
    return isa<SplatElementsAttr>(constant.getValue());
  // Bits are drawn by an element's row-major position, which merging does not change.
  return op->hasTrait<grad::Pointwise>() || isa<RandomBitsOp>(op);
}

void MergedDims::retype(Value value) const {
  if (isSpread(value.getType()))
    value.setType(merged(value.getType()));
}

bool MergedDims::keepsMeaning(exec::KernelOp kernel, Operation *contraction) const {
  return llvm::all_of(kernel.getBlock().without_terminator(), [&](Operation &op) {
    return &op == contraction ? !isSpread(contraction->getOperand(1).getType()) : keepsMeaning(&op);
  });
}

void MergedDims::retype(exec::KernelOp kernel) const {
  for (BlockArgument argument : kernel.getBlock().getArguments())
    retype(argument);
  for (Operation &op : kernel.getBlock().without_terminator())
    retype(&op);
}

void MergedDims::retype(Operation *op) const {
  auto broadcast = dyn_cast<BroadcastOp>(op);
  bool isRenumbered = broadcast && !keepsRank && isSpread(broadcast.getType());
  llvm::for_each(op->getResults(), [&](Value result) { retype(result); });
  if (auto constant = dyn_cast<ConstantOp>(op);
      constant && constant.getValue().getType() != constant.getType())
    constant.setValueAttr(cast<DenseElementsAttr>(constant.getValue())
                              .resizeSplat(cast<ShapedType>(constant.getType())));
  if (!isRenumbered)
    return;
  SmallVector<int64_t> dims;
  for (int64_t d : broadcast.getDims())
    if (d == 0 || d >= count())
      dims.push_back(d == 0 ? 0 : d - count() + 1);
  broadcast.setDims(dims);
}

void viewOperand(OpOperand &operand, RankedTensorType type) {
  SmallVector<ReshapeOp> views;
  Value value = operand.get();
  while (auto view = value.getDefiningOp<ReshapeOp>()) {
    views.push_back(view);
    value = view.getOperand();
  }
  OpBuilder b(operand.getOwner());
  operand.set(b.createOrFold<ReshapeOp>(operand.getOwner()->getLoc(), type, value));
  for (ReshapeOp view : views)
    if (view->use_empty())
      view->erase();
}

void MergedDims::relaunch(exec::LaunchOp launch) const {
  for (OpOperand &operand : launch->getOpOperands())
    if (Type type = operand.get().getType(); isSpread(type))
      viewOperand(operand, merged(type));
  OpBuilder b(launch);
  b.setInsertionPointAfter(launch);
  for (Value result : launch.getResults())
    if (Type type = result.getType(); isSpread(type)) {
      result.setType(merged(type));
      auto back = ReshapeOp::create(b, launch.getLoc(), type, result);
      result.replaceAllUsesExcept(back, back);
    }
}

} // namespace gradc
