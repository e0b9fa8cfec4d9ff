// The gradient of an if: an if whose regions recompute their forward pass.
#include "dialects/grad/control/RegionGradient.h"

using namespace mlir;
using namespace mlir::grad;

/// One region of an if's gradient: the gradients of the operands in `wanted`.
static LogicalResult buildBranch(IfOp op, Region &from, Region &to, ArrayRef<unsigned> arrived,
                                 ArrayRef<unsigned> wanted, TypeRange arguments) {
  SmallVector<Location> locations(arguments.size(), op.getLoc());
  OpBuilder b(op.getContext());
  Block *block = b.createBlock(&to, to.end(), arguments, locations);
  unsigned operands = op.getInputs().size();
  RegionGradient gradient(b, from.front(), block->getArguments().take_front(operands));
  for (auto [i, argument] : llvm::zip_equal(arrived, block->getArguments().drop_front(operands)))
    gradient.add(i, argument);
  if (failed(gradient.run()))
    return failure();
  SmallVector<Value> yielded;
  for (unsigned i : wanted)
    yielded.push_back(gradient.atOrZero(from.getArgument(i)));
  YieldOp::create(b, op.getLoc(), yielded);
  RegionGradient::eraseDead(*block);
  return success();
}

LogicalResult IfOp::buildGradient(OpBuilder &b, ValueRange resultGradients,
                                  SmallVectorImpl<Value> &operandGradients) {
  SmallVector<Value> operands(getInputs());
  SmallVector<unsigned> arrived, wanted;
  for (auto [i, gradient] : llvm::enumerate(resultGradients))
    if (gradient) {
      arrived.push_back(i);
      operands.push_back(gradient);
    }
  SmallVector<Type> types;
  for (auto [i, operand] : llvm::enumerate(getInputs()))
    if (isDifferentiable(operand)) {
      wanted.push_back(i);
      types.push_back(operand.getType());
    }
  auto gradient = IfOp::create(b, getLoc(), types, getCondition(), operands);
  for (auto [from, to] : llvm::zip_equal(getRegions(), gradient.getRegions()))
    if (failed(buildBranch(*this, *from, *to, arrived, wanted, ValueRange(operands).getTypes()))) {
      gradient.erase();
      return failure();
    }
  for (auto [i, value] : llvm::zip_equal(wanted, gradient.getResults()))
    operandGradients[i + 1] = value;
  return success();
}
