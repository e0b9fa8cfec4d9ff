// Finds the states and values that must be sharded together, so that each rank computes its shards
// alone.
#ifndef PASSES_DISTRIBUTION_SHARDPLAN_H
#define PASSES_DISTRIBUTION_SHARDPLAN_H

#include "dialects/grad/Grad.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"

namespace gradc {

/// On a module: the number of ranks that shard its products.
inline constexpr llvm::StringLiteral shardsName = "grad.shards";

/// How a tensor is sharded: dim `dim` is runs * ranks pieces of equal size, and piece i belongs to
/// rank i mod ranks.
struct Shard {
  int64_t dim, runs;
  bool operator==(const Shard &other) const = default;
};

/// A chain: the states and values that must be sharded if one state is. It ends at sums, whose
/// results ranks add up.
class ShardPlan {
public:
  ShardPlan(mlir::ModuleOp module, int64_t ranks) : module(module), ranks(ranks) {}

  /// Adds a state and everything that follows from it. Fails, without a diagnostic, if something
  /// cannot be sharded; `failedAt` and `why` then return what and the reason.
  mlir::LogicalResult grow(mlir::grad::StateOp state, Shard shard);
  mlir::Operation *failedAt() const { return at; }
  llvm::StringRef why() const { return reason; }

  /// The floating-point operations of products that one rank saves in a forward pass, and the bytes
  /// that ranks sum, forward and backward.
  int64_t savedFlops() const;
  int64_t summedBytes();
  /// The sharded states, in the order in which they were found.
  const llvm::MapVector<mlir::Operation *, Shard> &states() const { return sharded; }

  /// Changes the module.
  void apply();

private:
  using Assignment = llvm::SmallVector<std::optional<Shard>>;

  bool add(mlir::Value value, Shard shard);
  bool addState(mlir::Operation *user, llvm::StringRef name, Shard shard);
  bool follow(mlir::Value value);
  bool visit(mlir::Operation *op);
  bool visitReshape(mlir::Operation *op);
  bool visitSlice(mlir::grad::SliceOp op);
  bool visitLoops(mlir::Operation *op);
  bool accepts(mlir::Operation *op, llvm::ArrayRef<std::optional<Shard>> operands, Shard like,
               Assignment &results);
  bool take(mlir::Operation *op, llvm::ArrayRef<std::optional<Shard>> operands,
            llvm::ArrayRef<std::optional<Shard>> results);
  std::optional<Shard> shardOf(mlir::OpOperand &use) const;
  bool fail(mlir::Operation *op, const llvm::Twine &why);
  mlir::RankedTensorType shardType(mlir::Type whole, Shard shard) const;
  /// The values of all ranks that ops of the chain read.
  llvm::SetVector<mlir::Value> entering();

  mlir::ModuleOp module;
  int64_t ranks;
  llvm::MapVector<mlir::Operation *, Shard> sharded;
  llvm::MapVector<mlir::Value, Shard> values;
  llvm::MapVector<mlir::OpOperand *, Shard> repeats; ///< uses of what is the same for all shards
  llvm::SetVector<mlir::Operation *> ops;            ///< that compute on shards
  llvm::SetVector<mlir::Operation *> sums;           ///< those of them with terms of a sum
  llvm::SmallVector<mlir::Value> pending;
  mlir::Operation *at = nullptr;
  std::string reason;
};

} // namespace gradc

#endif
