// The position at which a value is needed: one index per dim, affine in loop variables, possibly
// running along the lanes of a vector.
#ifndef COMPILER_CODEGEN_TILE_POINT_H
#define COMPILER_CODEGEN_TILE_POINT_H

#include "dialects/Pch.h"

namespace gradc::tile {

/// constant + lane * (number of the vector lane) + the sum of coefficient * variable.
struct LinearExpr {
  int64_t constant = 0;
  int64_t lane = 0;
  llvm::SmallVector<std::pair<unsigned, int64_t>, 2> terms; // by variable, coefficients not 0

  LinearExpr() = default;
  LinearExpr(int64_t constant) : constant(constant) {}
  static LinearExpr variable(unsigned id, int64_t coefficient = 1);

  LinearExpr &operator+=(const LinearExpr &other);
  LinearExpr operator+(const LinearExpr &other) const { return LinearExpr(*this) += other; }
  LinearExpr operator*(int64_t factor) const;
  /// The expression's value in lane `l`.
  LinearExpr inLane(int64_t l) const;
  /// Without constant and lane: the part shared by the addresses of one tile.
  LinearExpr variables() const;
  /// The largest number that divides every coefficient (0 without variables).
  int64_t stride() const;
  bool isConstant() const { return terms.empty() && lane == 0; }

  bool operator==(const LinearExpr &other) const = default;
  bool operator<(const LinearExpr &other) const;
};

/// One element of a tensor (no coordinate runs along the lanes), or one per lane. Only the first
/// `valid` lanes may be read or written.
struct Point {
  std::vector<LinearExpr> coordinates;
  int64_t valid = 0; // 0 without lanes

  bool hasLanes() const;
  Point inLane(int64_t l) const;
  bool operator==(const Point &other) const = default;
  bool operator<(const Point &other) const;
};

/// The points of a register tile: `extents` elements from `coordinates` on in each dim of a space,
/// with vectors along `laneDim` (-1: none). `dims` maps a result's dims to the space's dims; -1 for
/// dims of size 1. `spacing`: how far apart elements are in each dim; empty: next to each other.
llvm::SmallVector<Point> tilePoints(llvm::ArrayRef<int64_t> dims,
                                    llvm::ArrayRef<LinearExpr> coordinates,
                                    llvm::ArrayRef<int64_t> extents, int64_t laneDim, int64_t lanes,
                                    llvm::ArrayRef<int64_t> spacing = {});

/// The affine expression over `dims`, or nothing if it is not linear.
std::optional<LinearExpr> evaluate(mlir::AffineExpr expr, llvm::ArrayRef<LinearExpr> dims);
/// The map's results over `dims`, or nothing if one is not linear.
std::optional<Point> evaluate(mlir::AffineMap map, llvm::ArrayRef<LinearExpr> dims, int64_t valid);

} // namespace gradc::tile

#endif
