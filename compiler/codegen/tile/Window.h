// Reductions over windows: the taps that fall on an operand, and their places in it.
#ifndef COMPILER_CODEGEN_TILE_WINDOW_H
#define COMPILER_CODEGEN_TILE_WINDOW_H

#include "compiler/codegen/tile/Memory.h"

namespace gradc::tile {

/// The taps of one reduced dim that fall on the operand: `count` of them, `step` apart.
struct TapRange {
  mlir::Value lower, upper; // of the loop's variable
  LinearExpr firstTap;      // tap = firstTap + variable * step
  int64_t step = 1;
};

/// The operands of a reduction that are padded or spread out. A loop over the taps of a window
/// covers only taps on the operand, and reads it directly.
class WindowReads {
public:
  /// `domains` has the iteration of every point of a tile, with reduced dims 0. An operand whose
  /// windows differ between the points is left out and read element by element.
  WindowReads(LoopNest &nest, mlir::linalg::GenericOp op,
              llvm::ArrayRef<llvm::SmallVector<LinearExpr>> domains);

  /// Whether another op stands between the operand and the reduction that reads it.
  bool has(mlir::OpOperand &operand) const;
  /// Whether the loop over a reduced dim is one over taps.
  bool walks(unsigned dim) const { return axisOf(dim) != nullptr; }
  /// The taps of reduced dim `dim` to visit, within [begin, end); nothing if the dim has no
  /// windows.
  std::optional<TapRange> tapsOf(unsigned dim, LinearExpr begin, LinearExpr end);
  /// Sets the loop over the taps of `dim` to `variable`.
  void enter(unsigned dim, LinearExpr variable);
  /// The tensor inside, and the point at which it is read.
  std::pair<mlir::Value, Point> read(mlir::OpOperand &operand, llvm::ArrayRef<LinearExpr> domain,
                                     int64_t valid) const;

private:
  /// A padded or spread dim of an operand: the element of tap t is (position + t * step) /
  /// base.
  struct Axis {
    unsigned reduced;
    LinearExpr position; // of tap 0, from the first element
    int64_t step, base, size;
    int64_t begin; // start of the piece of the operand that is read

    bool operator==(const Axis &other) const = default;
  };
  struct Read {
    mlir::Value inside;
    std::map<unsigned, Axis> axes; // by the operand's dim
  };

  std::optional<Read> inspect(mlir::OpOperand &operand,
                              llvm::ArrayRef<llvm::SmallVector<LinearExpr>> domains);
  const Axis *axisOf(unsigned reduced) const;
  TapRange denseTaps(const Axis &axis, LinearExpr begin, LinearExpr end);
  TapRange sparseTaps(const Axis &axis, LinearExpr begin, LinearExpr end);
  LinearExpr computed(const LinearExpr &e, llvm::function_ref<mlir::Value(mlir::Value)> compute);
  mlir::Value larger(const LinearExpr &x, const LinearExpr &y);
  mlir::Value smaller(const LinearExpr &x, const LinearExpr &y);

  LoopNest &nest;
  mutable mlir::linalg::GenericOp op;
  std::map<unsigned, Read> reads; // by operand number
  // By reduced dim: the element of the first tap in the loop, and that of the current one.
  std::map<unsigned, LinearExpr> firstElements, elements;
};

} // namespace gradc::tile

#endif
