// Constants behind reshapes and transposes, and states that are computed from them at compile time.
#ifndef PASSES_RAISE_CONSTANTCODES_H
#define PASSES_RAISE_CONSTANTCODES_H

#include "passes/raise/Dequantized.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"

namespace gradc {

/// The tensor that a value holds the elements of, and the moves between, from the last one on;
/// null: it is no constant.
mlir::ElementsAttr constantBehind(const mlir::SymbolTable &symbols, mlir::Value value,
                                  llvm::SmallVectorImpl<mlir::Operation *> &moves);

/// The sums of constant codes of i8 over all dims but one, in i32; none: they are no constant, or
/// reshaped.
std::optional<mlir::grad::HostTensor> constantSums(const mlir::SymbolTable &symbols,
                                                   mlir::Value codes, int64_t dim);

/// States that hold what constant states of a module determine.
class ComputedStates {
public:
  explicit ComputedStates(mlir::SymbolTable &symbols) : symbols(symbols) {}
  const mlir::SymbolTable &table() const { return symbols; }

  /// A state that holds these elements in every run. Entries that need the same elements under the
  /// same name share it; those for other elements have a number behind the name.
  mlir::grad::StateOp constant(llvm::StringRef name, const mlir::grad::HostTensor &value,
                               mlir::Location location);
  /// The matrix' codes relative to its zero points, in i8 if all of them fit, else in i16; null:
  /// they are not all known, or one is no i16.
  mlir::Value relativeCodes(mlir::OpBuilder &builder, const DequantizedBlocks &matrix);
  /// A constant in place of the constant `source`: in place of a state's, a state named for it,
  /// which its readers need not move in every run.
  mlir::Value inPlaceOf(mlir::OpBuilder &builder, mlir::Value source,
                        const mlir::grad::HostTensor &value, llvm::StringRef suffix);
  bool areConstant(mlir::Value codes) const;
  /// The product of two vectors of f32, or of a number and a vector, that are known, at least one
  /// as a state; null: they are not. Denormals count as zero in it, as in a run.
  mlir::Value product(mlir::OpBuilder &builder, mlir::Location location, mlir::Value lhs,
                      mlir::Value rhs);
  /// Replaces such products of vectors in a function: biases are codes times their scales.
  void multiplyVectors(mlir::func::FuncOp function);

  /// Erases the states that nothing reads any more, because computed ones are read.
  void eraseUnread();

private:
  /// Elements of a state, or of a constant.
  struct Known {
    mlir::grad::HostTensor numbers;
    mlir::grad::StateOp state; ///< null: of a constant
  };
  std::optional<Known> knownBehind(mlir::Value value) const;
  mlir::grad::StateOp stateOf(const mlir::grad::HostTensor &value, mlir::grad::StateOp from,
                              llvm::StringRef suffix);

  mlir::SymbolTable &symbols;
  llvm::StringMap<llvm::SmallVector<mlir::grad::StateOp>> made; ///< by the names asked for
  llvm::SetVector<mlir::grad::StateOp> replaced;
};

} // namespace gradc

#endif
