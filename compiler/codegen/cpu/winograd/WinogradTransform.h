// The transforms of Winograd's F(m x m, 3x3) along one dim, and of squares along both.
#ifndef COMPILER_CODEGEN_CPU_WINOGRAD_WINOGRADTRANSFORM_H
#define COMPILER_CODEGEN_CPU_WINOGRAD_WINOGRADTRANSFORM_H

#include "compiler/codegen/tile/TileEmitter.h"

namespace gradc::cpu::winograd {

constexpr int64_t taps = 3;

/// The value at a place of a square, and what becomes of one.
using Read = llvm::function_ref<mlir::Value(int64_t i, int64_t j)>;
using Write = llvm::function_ref<void(int64_t i, int64_t j, mlir::Value value)>;

/// result = A^T ((G g) * (B^T d)) for a patch d of m + 2 values, a filter g of three, and m results
/// (Lavin and Gray, 2015). The rows of A and G evaluate polynomials at 0, at p and -p for some
/// points p, and at infinity (Toom and Cook). Rows of p and -p differ by the sign of every second
/// coefficient, so both come from one sum of even and one of odd terms.
class Transform {
public:
  Transform(tile::LoopNest &nest, int64_t outputs);

  int64_t outputs, patch, slots;

  /// B^T d B of a patch d.
  void ofPatch(Read d, Write to) const { times(patchRows, patch, d, to); }
  /// G g G^T of a filter g.
  void ofFilter(Read g, Write to) const { times(filterRows, taps, g, to); }
  /// A^T m A of products m.
  void toResults(Read m, Write to) const { transposedTimes(resultRows, m, to); }
  /// A y A^T of a result's gradient y.
  void ofGradient(Read y, Write to) const { times(resultRows, outputs, y, to); }
  /// G^T u G of sums u of products.
  void toFilter(Read u, Write to) const { transposedTimes(filterRows, u, to); }

  int64_t slotOf(int64_t i, int64_t j) const { return i * patch + j; }

private:
  using Line = llvm::SmallVector<mlir::Value>;
  using Coefficients = llvm::SmallVector<double>;
  /// The rows even + factor * odd and even - factor * odd.
  struct RowPair {
    Coefficients even, odd;
    double factor;
  };
  struct Rows {
    Coefficients first, last;
    llvm::SmallVector<RowPair> pairs;
  };
  void addEvaluations(Rows &rows, int64_t size, bool divide) const;
  void addPatchRows();

  void times(const Rows &rows, int64_t size, Read read, Write write) const;
  void transposedTimes(const Rows &rows, Read read, Write write) const;
  Line times(const Rows &rows, llvm::ArrayRef<mlir::Value> x) const;
  Line transposedTimes(const Rows &rows, llvm::ArrayRef<mlir::Value> x) const;
  /// The sum of the products of `factors` and `x`.
  mlir::Value sum(llvm::ArrayRef<double> factors, llvm::ArrayRef<mlir::Value> x) const;

  tile::LoopNest &nest;
  Coefficients points; // positive
  Rows patchRows, filterRows, resultRows;
};

} // namespace gradc::cpu::winograd

#endif
