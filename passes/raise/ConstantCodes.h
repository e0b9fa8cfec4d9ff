// Constants behind reshapes and transposes, and codes that are computed from them at compile time.
#ifndef PASSES_RAISE_CONSTANTCODES_H
#define PASSES_RAISE_CONSTANTCODES_H

#include "passes/raise/Dequantized.h"

#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/SetVector.h"

namespace gradc {

/// The tensor that a value holds the elements of, and the moves between, from the last one on;
/// null: it is no constant.
mlir::ElementsAttr constantBehind(const mlir::SymbolTable &symbols, mlir::Value value,
                                  llvm::SmallVectorImpl<mlir::Operation *> &moves);

/// The sums of constant codes of i8 over all dims but one, in i32; none: they are no constant, or
/// reshaped.
std::optional<mlir::grad::HostTensor> constantSums(const mlir::SymbolTable &symbols,
                                                   mlir::Value codes, int64_t dim);

/// A state that holds these elements in every run, with this name unless other elements have it.
/// Entries that need the same elements share it.
mlir::grad::StateOp constantState(mlir::SymbolTable &symbols, llvm::StringRef name,
                                  const mlir::grad::HostTensor &value, mlir::Location location);

/// Matrices of a module whose zero points are subtracted at compile time.
class RelativeCodes {
public:
  explicit RelativeCodes(mlir::SymbolTable &symbols) : symbols(symbols) {}

  /// The matrix' codes relative to its zero points, in i8 if all of them fit, else in i16; null:
  /// they are not all known, or one is no i16.
  mlir::Value of(mlir::OpBuilder &builder, const DequantizedBlocks &matrix);

  bool areConstant(mlir::Value codes) const;

  /// Erases the states of codes that nothing reads any more, because relative ones are read.
  void eraseUnread();

private:
  mlir::SymbolTable &symbols;
  llvm::SetVector<mlir::grad::StateOp> replaced;
};

} // namespace gradc

#endif
