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

/// Matrices of a module whose zero points are subtracted at compile time.
class RelativeCodes {
public:
  explicit RelativeCodes(mlir::SymbolTable &symbols) : symbols(symbols) {}

  /// The matrix' codes relative to its zero points; null: they are not all known, or one is no i8.
  mlir::Value of(mlir::OpBuilder &builder, const DequantizedBlocks &matrix);

  /// Erases the states of codes that nothing reads any more, because relative ones are read.
  void eraseUnread();

private:
  mlir::grad::StateOp stateOf(const mlir::grad::HostTensor &codes, mlir::grad::StateOp from);

  mlir::SymbolTable &symbols;
  llvm::SetVector<mlir::grad::StateOp> replaced;
};

} // namespace gradc

#endif
