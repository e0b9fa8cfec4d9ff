// Loads and stores of a tensor in memory, through its layout.
#ifndef COMPILER_CODEGEN_TILE_MEMORY_H
#define COMPILER_CODEGEN_TILE_MEMORY_H

#include "compiler/codegen/tile/LoopNest.h"
#include "dialects/exec/Exec.h"

namespace gradc::tile {

class Memory {
public:
  Memory() = default;
  Memory(mlir::Value base, mlir::RankedTensorType type, mlir::exec::PanelAttr panel,
         bool isConstant = false)
      : base(base), type(type), panel(panel), isConstant(isConstant) {}

  /// The elements from the base to the point, or nothing when the lanes are not evenly spaced.
  std::optional<LinearExpr> offset(LoopNest &nest, const Point &p) const;
  /// The point's lanes are not neighbours in memory.
  bool isStrided(LoopNest &nest, const Point &p) const;
  /// The element, or a vector of one a lane (0 in the lanes beyond `valid`).
  mlir::Value load(LoopNest &nest, const Point &p) const;
  void store(LoopNest &nest, const Point &p, mlir::Value value) const;
  /// The lanes where `mask` holds, `otherwise` in the others, which may lie outside the tensor.
  /// Null when the lanes are not neighbours in memory.
  mlir::Value loadWhere(LoopNest &nest, const Point &p, mlir::Value mask,
                        mlir::Value otherwise) const;

  /// The first element of the cache line that holds the point's, where the tensor is too large to
  /// be in a first or second cache already.
  std::optional<LinearExpr> line(LoopNest &nest, const Point &p) const;
  void prefetch(LoopNest &nest, const LinearExpr &line) const;
  /// Where the pairs of a panel's columns begin at a point, which is the first of its pair; nothing
  /// when the layout has none or the lanes leave a panel.
  std::optional<LinearExpr> pairsOffset(LoopNest &nest, Point p) const;
  /// The 16-bit elements at the point and its neighbour along the pairs' dim, in every lane: as
  /// i32.
  mlir::Value loadPairs(LoopNest &nest, const Point &p) const;
  /// `count` neighbours in memory from the point on, as one integer.
  mlir::Value loadBits(LoopNest &nest, const Point &p, unsigned count) const;

  /// `lanes` points whose elements are `spacing` apart in each lane, but one apart from point to
  /// point: contiguous loads, transposed in registers. Nothing when the points are not such.
  std::optional<llvm::SmallVector<mlir::Value>> loadTransposed(LoopNest &nest,
                                                               llvm::ArrayRef<Point> points) const;
  bool storeTransposed(LoopNest &nest, llvm::ArrayRef<Point> points, mlir::ValueRange values) const;

private:
  mlir::Type storageType() const; // bools take a byte
  mlir::Value address(LoopNest &nest, const LinearExpr &offset) const;
  /// Bytes that divide the address of what begins there. Tensors begin at multiples of 64.
  int64_t alignmentOf(const LinearExpr &offset) const;
  mlir::Value loadVector(LoopNest &nest, const LinearExpr &offset, int64_t valid) const;
  void storeVector(LoopNest &nest, const LinearExpr &offset, int64_t valid,
                   mlir::Value value) const;
  mlir::Value loadAs(LoopNest &nest, mlir::Type type, mlir::Value from, int64_t alignment) const;
  mlir::Value fromStorage(LoopNest &nest, mlir::Value stored) const;
  mlir::Value toStorage(LoopNest &nest, mlir::Value value) const;
  /// The offsets of the lanes' elements of point 0, when the points can be transposed.
  std::optional<llvm::SmallVector<LinearExpr>> transposable(LoopNest &nest,
                                                            llvm::ArrayRef<Point> points) const;

  mlir::Value base;
  mlir::RankedTensorType type;
  mlir::exec::PanelAttr panel;
  bool isConstant = false; ///< nobody writes it while the kernel runs
};

} // namespace gradc::tile

#endif
