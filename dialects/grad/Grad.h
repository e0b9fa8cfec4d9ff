// The grad dialect's C++ interface: ops, interfaces, and helpers shared by all families.
#ifndef DIALECTS_GRAD_GRAD_H
#define DIALECTS_GRAD_GRAD_H

#include "dialects/Pch.h"
#include "dialects/grad/HostTensor.h"

#include "dialects/grad/GradEnums.h.inc"

#include "dialects/grad/GradDialect.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/grad/GradAttrs.h.inc"

namespace mlir::grad {

/// The dims of a contraction in einsum notation. A window's dims come first in all three tensors
/// (positions, taps, windows) and have no letter; each other dim has a letter.
struct ContractionLetters {
  std::string lhs, rhs, result;
  WindowAttr window; ///< null: no window slides over the operands

  int64_t windowRank() const { return window ? window.getRank() : 0; }
  bool isBatch(char c) const { return has(lhs, c) && has(rhs, c) && has(result, c); }
  bool isRow(char c) const { return has(lhs, c) && !has(rhs, c); }
  bool isColumn(char c) const { return has(rhs, c) && !has(lhs, c); }
  bool isSummed(char c) const { return has(lhs, c) && has(rhs, c) && !has(result, c); }
  /// The dim of the tensor whose letters are `names` that `letter` stands for.
  int64_t dimOf(StringRef names, char letter) const {
    return windowRank() + int64_t(names.find(letter));
  }

private:
  static bool has(StringRef names, char c) { return names.contains(c); }
};

/// The operands and results of an attention, or of its gradient. All tensors are stored in the same
/// order: dim i is the dim order[i] of [batch, heads, positions, size].
struct AttentionForm {
  /// Of the softmax's weights.
  struct Dropout {
    Value seed, step;
    uint32_t stream;
    double ratio;
  };
  Value query, key, value, mask; ///< no mask: null
  Value result, statistic;       ///< the attention's results; operands of its gradient
  Value gradient;                ///< of the result; null: the op is the attention itself
  double scale;
  std::optional<int64_t> causal; ///< query t attends to the keys up to t + causal
  SmallVector<int64_t> order;
  std::optional<Dropout> dropout;

  bool isGradient() const { return bool(gradient); }
};

/// A tensor that an optimizer keeps for a parameter.
struct UpdateSlot {
  StringRef name;
  RankedTensorType type;
  double initial = 0;   ///< every element, before the first step
  bool isKeras = false; ///< Keras' variant of the rule keeps something else in it
};

/// Fails if the type of an operand is no ranked tensor.
LogicalResult expectTensors(std::optional<Location> location, ValueRange operands);

/// Fails if a tensor has 2^60 bytes or more. Such sizes are mistakes, and smaller ones can be
/// added, padded and doubled in 64 bits.
LogicalResult expectSize(Operation *op, Type type);
/// The same for all operands and results.
LogicalResult expectSizes(Operation *op);

/// Verifies that operands, results and their types are as UpdateOpInterface specifies.
LogicalResult verifyUpdate(Operation *op);

} // namespace mlir::grad

#include "dialects/grad/GradInterfaces.h.inc"

namespace mlir::grad {

/// Whether the op replaces rows of a table.
inline bool writesRows(Operation *op) {
  auto rows = dyn_cast<RowsOpInterface>(op);
  return rows && rows.getNewRows();
}

/// Folding creates constants of at most this many bytes; larger results stay ops.
constexpr int64_t foldLimitBytes = 1 << 20;

/// Runs `op`'s evaluate on `operands`.
SmallVector<HostTensor> evaluateOp(Operation *op, ArrayRef<HostTensor> operands);

/// The fold of all pure ops: if all operands are constant, they are evaluated. A pointwise op of
/// splats evaluates one element; an op that only moves a splat returns that splat.
LogicalResult foldByEvaluation(Operation *op, ArrayRef<Attribute> operands,
                               SmallVectorImpl<OpFoldResult> &results);

template <typename Op> class FoldsByEvaluation : public OpTrait::TraitBase<Op, FoldsByEvaluation> {
public:
  static LogicalResult verifyTrait(Operation *op) { return expectSizes(op); }
  static LogicalResult foldTrait(Operation *op, ArrayRef<Attribute> operands,
                                 SmallVectorImpl<OpFoldResult> &results) {
    return foldByEvaluation(op, operands, results);
  }
};

template <typename Op> class Pointwise : public OpTrait::TraitBase<Op, Pointwise> {};
template <typename Op> class OwnKernel : public OpTrait::TraitBase<Op, OwnKernel> {};

/// Gives the ops of the dialect their implementations of OverStepsOpInterface, which are in
/// control/.
void attachOverSteps(MLIRContext *context);

class Expr;
class Scalar;

} // namespace mlir::grad

#define GET_OP_CLASSES
#include "dialects/grad/GradOps.h.inc"

#endif
