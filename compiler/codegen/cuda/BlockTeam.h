// The threads of a block that share a unit: their numbers, and exchange of values.
#ifndef COMPILER_CODEGEN_CUDA_BLOCKTEAM_H
#define COMPILER_CODEGEN_CUDA_BLOCKTEAM_H

#include "compiler/codegen/tile/TileEmitter.h"

namespace gradc::cuda {

/// Memory shared by a block's threads: one buffer, reused by every exchange.
class SharedMemory {
public:
  /// `name`: of the kernel.
  SharedMemory(mlir::ModuleOp module, llvm::StringRef name) : module(module), name(name.str()) {}

  void store(tile::LoopNest &nest, mlir::Value value, mlir::Value slot);
  mlir::Value load(tile::LoopNest &nest, mlir::Type type, mlir::Value slot);
  /// Room for this many values of a type.
  void reserve(mlir::Type type, int64_t count);
  /// Declares the memory used so far; no more may be reserved afterwards.
  void declare(mlir::Location location);

private:
  mlir::Value address(tile::LoopNest &nest, mlir::Type type, mlir::Value slot);

  mlir::ModuleOp module;
  std::string name;
  int64_t bytes = 0;
};

class BlockTeam final : public tile::Team {
public:
  /// `thread`: the number of this thread in its block, an i64.
  BlockTeam(tile::LoopNest &nest, mlir::exec::BlocksAttr blocks, mlir::Value thread,
            SharedMemory &shared);

  int64_t size() const override { return blocks.getTeam(); }
  tile::LinearExpr member() const override { return memberExpr; }
  /// The number of this thread's unit in its block.
  tile::LinearExpr unit() const { return unitExpr; }
  llvm::SmallVector<mlir::Value>
  combine(tile::LoopNest &nest, llvm::ArrayRef<mlir::Value> partials,
          llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)> combine) override;

  /// Waits for the other members, so that later writes do not overwrite values that they still
  /// read.
  void fence(tile::LoopNest &nest);
  /// Whether the team is one warp, which may diverge from the rest of its block.
  bool isWarp() const {
    return blocks.getAdjacent() && blocks.getTeam() == mlir::exec::warpThreads;
  }
  /// True in the one member that writes.
  mlir::Value isFirst(tile::LoopNest &nest);

private:
  using Combine = llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)>;
  llvm::SmallVector<mlir::Value> combineWarp(tile::LoopNest &nest,
                                             llvm::ArrayRef<mlir::Value> partials, Combine combine);
  llvm::SmallVector<mlir::Value> exchange(tile::LoopNest &nest,
                                          llvm::ArrayRef<mlir::Value> partials, int64_t parts,
                                          int64_t apart, mlir::Value slot, mlir::Value first,
                                          mlir::Value writes, Combine combine);

  mlir::exec::BlocksAttr blocks;
  mlir::Value thread;
  SharedMemory &shared;
  tile::LinearExpr memberExpr, unitExpr;
};

} // namespace gradc::cuda

#endif
