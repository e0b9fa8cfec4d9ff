// Recomputes results before late uses, so that they need not be kept.
#ifndef PASSES_MEMORY_RECOMPUTATION_H
#define PASSES_MEMORY_RECOMPUTATION_H

#include "passes/kernel/CostModel.h"
#include "passes/memory/Lifetimes.h"

namespace gradc {

/// Marks a launch that recomputes the results of another launch.
inline constexpr llvm::StringLiteral recomputedName = "exec.recomputed";

/// Chooses recomputations among the launches of one block in value form. A recomputed result is not
/// itself recomputed again.
class Recomputation {
public:
  Recomputation(mlir::Block &block, const mlir::SymbolTable &symbols, const CostModel &costs);

  /// The peak of the bytes of live results of the block and of the regions of its ops.
  int64_t peakBytes() const;
  /// Recomputes the results with the least cost per byte until the peak is at most `bytes` or
  /// cannot be lowered further.
  void reduceTo(int64_t bytes);

private:
  struct Tensor {
    mlir::Value value;
    int64_t bytes; ///< in the arena
    Lifetime life;
    llvm::SmallVector<int64_t, 4> uses;
  };
  /// Launches to run again just before node `at`, in order, and the effects.
  struct Choice {
    int64_t at;
    llvm::SmallVector<mlir::exec::LaunchOp> launches;
    llvm::SmallVector<std::pair<Lifetime, int64_t>> added; ///< additional live bytes
    double seconds = 0;
  };

  void follow();
  void note(mlir::Value value, int64_t time);
  std::optional<Choice> choose(const Tensor &tensor, int64_t peak) const;
  bool addLaunch(mlir::Value result, int64_t wanted, Choice &choice) const;
  bool provide(mlir::Value operand, int64_t wanted, Choice &choice) const;
  bool isStill(mlir::exec::LoadOp load, int64_t time) const;
  int64_t gainOf(const Tensor &tensor, const Choice &choice, int64_t peak) const;
  int64_t peakOf(const Choice &choice) const;
  bool fits(const Tensor &tensor, const Choice &choice, int64_t peak) const;
  void apply(const Choice &choice, mlir::Value late);
  mlir::Value again(mlir::OpBuilder &builder, mlir::Value value,
                    const llvm::DenseMap<mlir::Value, mlir::Value> &copies) const;

  mlir::Block &block;
  const mlir::SymbolTable &symbols;
  const CostModel &costs;
  std::vector<mlir::Operation *> nodes;
  llvm::MapVector<mlir::Value, Tensor> tensors;     ///< by storage root
  llvm::DenseMap<mlir::Attribute, int64_t> writers; ///< by buffer: the node that writes it
  std::vector<int64_t> live;                        ///< live bytes at each node
  llvm::DenseMap<mlir::Value, mlir::Value> latest;  ///< the last copy of each recomputed value
};

} // namespace gradc

#endif
