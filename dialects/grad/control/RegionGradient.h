// The gradient of one region: recomputes its forward pass, except for saved values, followed by the
// backward pass.
#ifndef DIALECTS_GRAD_CONTROL_REGIONGRADIENT_H
#define DIALECTS_GRAD_CONTROL_REGIONGRADIENT_H

#include "dialects/grad/Backward.h"
#include "dialects/grad/Build.h"

namespace mlir::grad {

/// A copy of a region's ops in another block, followed by their gradients.
class RegionGradient {
public:
  /// Copies `block` to the insertion point of `builder`, with `arguments` as its arguments.
  RegionGradient(OpBuilder &builder, Block &block, ValueRange arguments)
      : builder(builder), block(block) {
    mapping.map(block.getArguments(), arguments);
    for (Operation &op : block.without_terminator()) {
      Operation *copy = builder.clone(op, mapping);
      copies.push_back(copy);
    }
  }

  /// Adds `gradient` to the gradient of the region's yielded value `i`.
  void add(unsigned i, Value gradient) {
    backward.add(builder, mapping.lookup(block.getTerminator()->getOperand(i)), gradient);
  }

  LogicalResult run() {
    SmallVector<Value> targets;
    for (BlockArgument argument : block.getArguments())
      targets.push_back(mapping.lookup(argument));
    backward.run(builder, copies, targets);
    return success(backward.getMissing().empty());
  }

  /// The gradient of an argument of the region; null means zero.
  Value at(BlockArgument argument) { return backward.lookup(mapping.lookup(argument)); }
  Value atOrZero(BlockArgument argument) {
    Value gradient = at(argument);
    return gradient ? gradient : zero(argument);
  }
  Value zero(Value like) {
    return splat(builder, like.getLoc(), cast<RankedTensorType>(like.getType()), 0);
  }

  /// Makes the copy read `value` instead of computing `original`.
  void replace(Value original, Value value) {
    Value copy = mapping.lookup(original);
    if (copy != value)
      copy.replaceAllUsesWith(value);
  }

  static void eraseDead(Block &block) {
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (isOpTriviallyDead(&op))
        op.erase();
  }

private:
  OpBuilder &builder;
  Block &block;
  IRMapping mapping;
  SmallVector<Operation *> copies;
  Backward backward;
};

} // namespace mlir::grad

#endif
