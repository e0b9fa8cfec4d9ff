// Reductions over windows: the taps that fall on an operand, and their positions in it.
#ifndef COMPILER_CODEGEN_TILE_WINDOW_H
#define COMPILER_CODEGEN_TILE_WINDOW_H

#include "compiler/codegen/tile/Memory.h"

namespace gradc::tile {

/// Taps of one reduced dim, `step` apart, that fall on the operand.
struct TapRange {
  mlir::Value lower, upper; // of the loop's variable
  LinearExpr firstTap;      // tap = firstTap + variable * step
  int64_t step = 1;
  bool isPartial = false; // at some points of the tile they do not fall on the operand
};

/// The operands of a reduction that are padded or dilated. A loop over the taps of a window covers
/// only taps on the operand, and reads it directly.
class WindowReads {
public:
  /// `domains` has the iteration of every point of a tile, with reduced dims 0. Operands whose
  /// windows are at varying distances from each other are left out and read element by element;
  /// with `isOne`, so are operands with more than one window.
  WindowReads(LoopNest &nest, mlir::linalg::GenericOp op,
              llvm::ArrayRef<llvm::SmallVector<LinearExpr>> domains, bool isOne = false);

  /// Whether the operand is read directly, skipping the padding op before the reduction.
  bool has(mlir::OpOperand &operand) const;
  /// The unpadded tensor of such an operand.
  mlir::Value source(mlir::OpOperand &operand) const {
    return reads.at(operand.getOperandNumber()).inside;
  }
  /// Whether the loop over a reduced dim is a loop over taps.
  bool walks(unsigned dim) const { return axisOf(dim) != nullptr; }
  /// The taps of reduced dim `dim` to visit within [begin, end), in order: one range, or the taps
  /// of all points between the taps that only some points have.
  llvm::SmallVector<TapRange> tapsOf(unsigned dim, LinearExpr begin, LinearExpr end);
  /// A loop over these taps.
  llvm::SmallVector<mlir::Value> loop(unsigned dim, LinearExpr begin, LinearExpr end,
                                      mlir::ValueRange carried, LoopNest::LoopBody body);
  /// Sets the loop over the taps of `dim` to `variable`.
  void enter(unsigned dim, const TapRange &taps, LinearExpr variable);
  /// Whether the current taps fall on the operands at a point: null if they do at all points.
  mlir::Value isInside(size_t point) const;
  /// The unpadded tensor, and the position to read at a point of the tile.
  std::pair<mlir::Value, Point> read(mlir::OpOperand &operand, size_t point,
                                     llvm::ArrayRef<LinearExpr> domain, int64_t valid) const;

private:
  /// A padded or dilated dim of an operand: the element of tap t is (position + t * step) / base.
  struct Axis {
    unsigned reduced;
    LinearExpr position; // of tap 0 at the first point, from the first element
    int64_t step, base, size;
    int64_t begin;                     // start of the piece of the operand that is read
    llvm::SmallVector<int64_t> shifts; // of every point's position from the first's

    bool operator==(const Axis &other) const = default;
  };
  struct Read {
    mlir::Value inside;
    std::map<unsigned, Axis> axes; // by the operand's dim
  };
  /// An element of the operand, and whether there is one (null: yes).
  struct Element {
    LinearExpr at;
    mlir::Value exists;
  };

  std::optional<Read> inspect(mlir::OpOperand &operand,
                              llvm::ArrayRef<llvm::SmallVector<LinearExpr>> domains);
  const Axis *axisOf(unsigned reduced) const;
  llvm::SmallVector<TapRange> denseTaps(const Axis &axis, LinearExpr begin, LinearExpr end);
  llvm::SmallVector<TapRange> spacedTaps(const Axis &axis, LinearExpr begin, LinearExpr end);
  /// The first of the loop's values that fall on the operand at points shifted by a number, and the
  /// value after the last.
  using Bounds = llvm::function_ref<std::pair<LinearExpr, LinearExpr>(int64_t)>;
  /// The ranges of the loop's values within [begin, end), with the taps of `like`: those that fall
  /// on the operand at all points, between those at some points.
  llvm::SmallVector<TapRange> rangesOf(const Axis &axis, LinearExpr begin, LinearExpr end,
                                       const TapRange &like, Bounds bounds);
  /// The bounds of the taps that fall on the operand at points shifted by `shift`.
  std::pair<LinearExpr, LinearExpr> denseBounds(const Axis &axis, int64_t shift);
  TapRange sparseTaps(const Axis &axis, LinearExpr begin, LinearExpr end);
  LinearExpr computed(const LinearExpr &e, llvm::function_ref<mlir::Value(mlir::Value)> compute);
  mlir::Value larger(const LinearExpr &x, const LinearExpr &y);
  mlir::Value smaller(const LinearExpr &x, const LinearExpr &y);

  LoopNest &nest;
  mutable mlir::linalg::GenericOp op;
  std::map<unsigned, Read> reads;               // by operand number
  std::map<unsigned, LinearExpr> firstElements; // by reduced dim: that of the loop's first tap
  std::map<unsigned, std::map<int64_t, Element>> elements; // by reduced dim and shift: the current
};

} // namespace gradc::tile

#endif
