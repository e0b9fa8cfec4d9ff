// The gradient of one region: its forward again, but for what was saved, and the backward behind
// it.
#ifndef DIALECTS_GRAD_REGIONGRADIENT_H
#define DIALECTS_GRAD_REGIONGRADIENT_H

#include "dialects/grad/Backward.h"
#include "dialects/grad/Build.h"

namespace mlir::grad {

/// A region's ops again, in another block, with their gradients behind them.
class RegionGradient {
public:
  /// Copies `block` to where `builder` is, its arguments as `arguments`.
  RegionGradient(OpBuilder &builder, Block &block, ValueRange arguments)
      : builder(builder), block(block) {
    mapping.map(block.getArguments(), arguments);
    for (Operation &op : block.without_terminator()) {
      Operation *copy = builder.clone(op, mapping);
      copies.push_back(copy);
    }
  }

  /// `gradient` arrives at what the region yields at `i`.
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

  /// The gradient that has arrived at an argument of the region; null: none.
  Value at(BlockArgument argument) { return backward.lookup(mapping.lookup(argument)); }
  Value atOrZero(BlockArgument argument) {
    Value gradient = at(argument);
    return gradient ? gradient : zero(argument);
  }
  Value zero(Value like) {
    return splat(builder, like.getLoc(), cast<RankedTensorType>(like.getType()), 0);
  }

  /// The copy reads `value` where it computed `original`.
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
