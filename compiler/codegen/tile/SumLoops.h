// The loops of a reduction. Those of a long f32 sum go in blocks, so that its rounding error does
// not grow with its length.
#ifndef COMPILER_CODEGEN_TILE_SUMLOOPS_H
#define COMPILER_CODEGEN_TILE_SUMLOOPS_H

#include "compiler/codegen/tile/LoopNest.h"

namespace gradc::tile {

class SumLoops {
public:
  /// Loops without blocks.
  explicit SumLoops(LoopNest &nest) : nest(nest) {}

  /// Cuts nested loops into blocks, so that no accumulator adds up more than `maxTerms` terms, or
  /// more sums of blocks than that. `steps`: the most steps of each loop, the outermost first.
  /// `terms`: what a step of the innermost loop adds to an accumulator. `zeros`: where the
  /// accumulators of a block start.
  void cut(llvm::ArrayRef<int64_t> steps, int64_t terms, llvm::ArrayRef<mlir::Value> zeros);

  /// Loop number `depth` from 0 to `end`, like `LoopNest::loop`.
  llvm::SmallVector<mlir::Value> loop(size_t depth, int64_t end, bool unroll,
                                      mlir::ValueRange carried, LoopNest::LoopBody body) const;
  /// The same for an end that is known to be a multiple of a number.
  llvm::SmallVector<mlir::Value> loop(size_t depth, mlir::Value end, int64_t multiple,
                                      mlir::ValueRange carried, LoopNest::LoopBody body) const;

private:
  llvm::SmallVector<mlir::Value> inBlocks(llvm::ArrayRef<int64_t> sizes, const LinearExpr &begin,
                                          mlir::Value end, int64_t multiple,
                                          mlir::ValueRange carried, LoopNest::LoopBody body) const;
  llvm::ArrayRef<int64_t> sizesOf(size_t depth) const {
    return depth < blocks.size() ? llvm::ArrayRef<int64_t>(blocks[depth])
                                 : llvm::ArrayRef<int64_t>();
  }

  LoopNest &nest;
  /// Of each loop, the steps of its blocks and of the blocks in those, the largest first: each size
  /// is a multiple of the next one.
  llvm::SmallVector<llvm::SmallVector<int64_t, 2>> blocks;
  llvm::SmallVector<mlir::Value> zeros;
};

} // namespace gradc::tile

#endif
