// Transforms of a few complex numbers in registers, and the arithmetic of complex numbers.
#ifndef COMPILER_CODEGEN_CPU_OPS_BUTTERFLY_H
#define COMPILER_CODEGEN_CPU_OPS_BUTTERFLY_H

#include "compiler/codegen/tile/LoopNest.h"

namespace gradc::cpu {

/// A complex number per lane.
struct ComplexVector {
  mlir::Value real, imaginary;
};

class ComplexArithmetic {
public:
  ComplexArithmetic(tile::LoopNest &nest, mlir::Type element)
      : nest(nest), b(nest.builder), element(element) {}

  /// The transform of the numbers x, of a few prime factors.
  llvm::SmallVector<ComplexVector> transform(llvm::ArrayRef<ComplexVector> x, bool inverse);

  ComplexVector add(const ComplexVector &x, const ComplexVector &y);
  ComplexVector subtract(const ComplexVector &x, const ComplexVector &y);
  /// x times the number with these parts.
  ComplexVector multiply(const ComplexVector &x, mlir::Value real, mlir::Value imaginary);

  mlir::Value constant(double value);
  mlir::Value add(mlir::Value x, mlir::Value y);
  mlir::Value subtract(mlir::Value x, mlir::Value y);
  mlir::Value multiply(mlir::Value x, mlir::Value y);
  mlir::Value negate(mlir::Value x);
  /// x y + z, rounded once.
  mlir::Value multiplyAdd(mlir::Value x, mlir::Value y, mlir::Value z);

  tile::LoopNest &nest;

private:
  llvm::SmallVector<ComplexVector> transformEven(llvm::ArrayRef<ComplexVector> x, bool inverse);
  llvm::SmallVector<ComplexVector> transformOdd(llvm::ArrayRef<ComplexVector> x, bool inverse);
  /// x times e^(2 pi i k / n), or its conjugate.
  ComplexVector rotate(const ComplexVector &x, int64_t k, int64_t n, bool inverse);

  mlir::OpBuilder &b;
  mlir::Type element;
};

} // namespace gradc::cpu

#endif
