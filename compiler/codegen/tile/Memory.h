// Loads and stores of a tensor in memory, through its layout.
#ifndef COMPILER_CODEGEN_TILE_MEMORY_H
#define COMPILER_CODEGEN_TILE_MEMORY_H

#include "compiler/codegen/tile/LoopNest.h"
#include "dialects/exec/Exec.h"

namespace gradc::tile {

/// A square matrix with one vector per row, transposed.
llvm::SmallVector<mlir::Value> transposeRegisters(LoopNest &nest,
                                                  llvm::SmallVector<mlir::Value> rows);

class Memory {
public:
  enum class Cache { first, second };

  Memory() = default;
  Memory(mlir::Value base, mlir::RankedTensorType type, mlir::exec::PanelAttr panel,
         bool isConstant = false)
      : base(base), type(type), panel(panel), isConstant(isConstant) {}
  /// A piece of a larger tensor, from `origin` on: points are those of the larger one.
  Memory(mlir::Value base, mlir::RankedTensorType type, mlir::exec::PanelAttr panel,
         llvm::ArrayRef<LinearExpr> origin)
      : base(base), type(type), panel(panel), origin(origin) {}

  /// The elements from the base to the point, or nothing if the lanes are not evenly spaced.
  std::optional<LinearExpr> offset(LoopNest &nest, const Point &p) const;
  /// Whether the point's lanes are not adjacent in memory.
  bool isStrided(LoopNest &nest, const Point &p) const;
  /// The address of the element `offset` elements after the first.
  mlir::Value address(LoopNest &nest, const LinearExpr &offset) const;
  /// Whether the first elements of both have different addresses.
  mlir::Value liesApartFrom(LoopNest &nest, const Memory &other) const;
  /// The element, or a vector with one element per lane (0 in the lanes beyond `valid`).
  mlir::Value load(LoopNest &nest, const Point &p) const;
  void store(LoopNest &nest, const Point &p, mlir::Value value) const;
  /// Whether all lanes of the point, also those outside the tensor, are adjacent in memory.
  bool isAdjacent(LoopNest &nest, const Point &p) const;
  /// The lanes where `mask` holds, and `otherwise` in the others, which may lie outside the tensor.
  /// The lanes are adjacent.
  mlir::Value loadWhere(LoopNest &nest, const Point &p, mlir::Value mask,
                        mlir::Value otherwise) const;

  /// The first element of the point's cache line, if the tensor is too large for the L1 and L2
  /// caches.
  std::optional<LinearExpr> line(LoopNest &nest, const Point &p) const;
  int64_t elementsPerLine(const LoopNest &nest) const;
  void prefetch(LoopNest &nest, const LinearExpr &line, Cache cache = Cache::first) const;
  /// The elements from one panel to the next; 0 without panels.
  int64_t panelElements() const;
  int64_t elements() const { return type.getNumElements(); }
  int64_t elementBytes() const { return mlir::grad::elementBytes(type.getElementType()); }
  int64_t panelWidth() const { return panel ? panel.getWidth() : 0; }
  /// Whether elements are of four bits, which only whole words of them are stored in.
  bool isOfNibbles() const { return panel && panel.isOfNibbles(); }
  /// Interleaved neighbours are words of 32 bits. The address of the words of a panel's columns at
  /// a point; nothing if the layout interleaves none or the lanes leave a panel.
  std::optional<LinearExpr> wordsOffset(LoopNest &nest, Point p) const;
  /// The word that begins at the point, in every lane, as i32.
  mlir::Value loadWords(LoopNest &nest, const Point &p) const;
  /// `count` adjacent elements from the point on, as one integer.
  mlir::Value loadBits(LoopNest &nest, const Point &p, unsigned count) const;

  /// `lanes` points whose elements are `spacing` apart within a lane, but adjacent from point to
  /// point: contiguous loads, transposed in registers. Nothing for other points.
  std::optional<llvm::SmallVector<mlir::Value>> loadTransposed(LoopNest &nest,
                                                               llvm::ArrayRef<Point> points) const;
  /// Stores vectors along the columns of interleaved panels, with all elements of a word in one
  /// store if all are given. False, with nothing stored, for other layouts.
  bool storeInterleaved(LoopNest &nest, llvm::ArrayRef<Point> points,
                        mlir::ValueRange values) const;
  /// Stores vectors along the interleaved dim, as many as a word has elements for each of up to
  /// `lanes` columns: the first vectors of all columns, then the next ones. False, with nothing
  /// stored, for other points and layouts.
  bool storeTurned(LoopNest &nest, llvm::ArrayRef<Point> points, mlir::ValueRange values) const;
  bool storeTransposed(LoopNest &nest, llvm::ArrayRef<Point> points, mlir::ValueRange values) const;

private:
  mlir::Type storageType() const; // bools take a byte, two nibbles as well
  /// The elements of that type from the base to the element at `offset`.
  LinearExpr inStorage(const LinearExpr &offset) const;
  /// Alignment in bytes of the element. Tensors are aligned to 64 bytes.
  int64_t alignmentOf(const LinearExpr &offset) const;
  mlir::Value loadVector(LoopNest &nest, const LinearExpr &offset, int64_t valid) const;
  void storeVector(LoopNest &nest, const LinearExpr &offset, int64_t valid,
                   mlir::Value value) const;
  void storePieces(LoopNest &nest, mlir::Value value, mlir::Value to, int64_t valid,
                   int64_t alignment) const;
  mlir::Value loadAs(LoopNest &nest, mlir::Type type, mlir::Value from, int64_t alignment) const;
  mlir::Value fromStorage(LoopNest &nest, mlir::Value stored) const;
  mlir::Value toStorage(LoopNest &nest, mlir::Value value) const;
  mlir::Value loadLanes(LoopNest &nest, const Point &p) const; ///< one by one
  mlir::Value loadNibbles(LoopNest &nest, const Point &p) const;
  /// The points of the word that begins at the point; none if no word does.
  llvm::SmallVector<Point> wordAt(LoopNest &nest, const Point &p) const;
  void storeWords(LoopNest &nest, const Point &p, llvm::ArrayRef<mlir::Value> values) const;
  /// The offsets of the lanes' elements of point 0, if the points can be transposed.
  std::optional<llvm::SmallVector<LinearExpr>> transposable(LoopNest &nest,
                                                            llvm::ArrayRef<Point> points) const;

  mlir::Value base;
  mlir::RankedTensorType type;
  mlir::exec::PanelAttr panel;
  llvm::SmallVector<LinearExpr> origin; ///< empty: of zeros
  bool isConstant = false;              ///< never written while the kernel runs
};

/// A constant that becomes part of the module. The insertion point is in the function's entry
/// block.
Memory constantMemory(LoopNest &nest, mlir::ModuleOp module, const mlir::grad::HostTensor &value);

} // namespace gradc::tile

#endif
