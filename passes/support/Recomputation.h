// Results that are computed again where they are needed late, so that they need not be kept.
#ifndef PASSES_RECOMPUTATION_H
#define PASSES_RECOMPUTATION_H

#include "passes/support/CostModel.h"
#include "passes/support/Lifetimes.h"

namespace gradc {

/// Marks a launch that computes once more what another one has computed.
inline constexpr llvm::StringLiteral recomputedName = "exec.recomputed";

/// The launches of one block in value form, in its order. What runs again is not in its turn
/// computed once more.
class Recomputation {
public:
  Recomputation(mlir::Block &block, const mlir::SymbolTable &symbols, const CostModel &costs);

  /// The bytes of the block's results that are there at once, and of those in the regions of its
  /// ops.
  int64_t peakBytes() const;
  /// Recomputes what costs least per byte until the peak is at most `bytes`, or nothing lowers it
  /// further.
  void reduceTo(int64_t bytes);

private:
  struct Tensor {
    mlir::Value value;
    int64_t bytes; ///< in the arena
    Lifetime life;
    llvm::SmallVector<int64_t, 4> uses;
  };
  /// Launches to run again just before node `at`, in order, and what that does.
  struct Choice {
    int64_t at;
    llvm::SmallVector<mlir::exec::LaunchOp> launches;
    llvm::SmallVector<std::pair<Lifetime, int64_t>> added; ///< bytes that are there longer
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
  llvm::DenseMap<mlir::Attribute, int64_t> writers; ///< of buffers: their nodes
  std::vector<int64_t> live;                        ///< bytes at each node
  llvm::DenseMap<mlir::Value, mlir::Value> latest;  ///< of what was recomputed: its last copy
};

} // namespace gradc

#endif
