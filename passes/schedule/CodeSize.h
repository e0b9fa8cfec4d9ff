// How much code a tile of a kernel's loops becomes.
#ifndef PASSES_SCHEDULE_CODESIZE_H
#define PASSES_SCHEDULE_CODESIZE_H

#include "dialects/exec/Exec.h"
#include "dialects/exec/Level.h"

namespace gradc {

/// Whether indices computed at run time choose the elements that the op moves.
bool movesByIndices(mlir::Operation *op);

/// Estimates the instructions of a tile of a CPU kernel without a contraction, all of which are
/// unrolled: the ops under the results, for each vector of the tile, and those under each
/// reduction, for each of its results in the tile and each vector of a row that stays in registers.
class CodeSize {
public:
  CodeSize(mlir::exec::KernelOp kernel, const mlir::exec::Level &level, int64_t lanes);

  int64_t of(llvm::ArrayRef<int64_t> tile) const;

private:
  /// A loop body: ops computed for the same vectors.
  struct Body {
    mlir::Operation *reduction =
        nullptr;                       ///< whose operands it computes; null: the kernel's results
    int64_t instructions = 0;          ///< per vector
    llvm::SmallVector<size_t> readers; ///< the bodies that read the reduction's results
  };

  int64_t instructionsOf(mlir::Operation *op) const;
  int64_t vectorsOfRow(int64_t elements) const { return llvm::divideCeil(elements, lanes); }
  int64_t resultVectors(llvm::ArrayRef<int64_t> tile) const;
  int64_t resultsOf(const Body &body, llvm::ArrayRef<int64_t> tile,
                    llvm::ArrayRef<int64_t> vectors) const;

  llvm::ArrayRef<int64_t> root;
  const mlir::exec::Level &level;
  int64_t lanes;
  bool movesLanes = false; ///< whether lanes run along another dim of some operand
  bool hasStatistics = false;
  std::vector<Body> bodies; ///< a reduction's readers come before it
};

} // namespace gradc

#endif
