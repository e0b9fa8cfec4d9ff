// The grad dialect's C++ interface: ops, interfaces, and helpers shared by all families.
#ifndef DIALECTS_GRAD_GRAD_H
#define DIALECTS_GRAD_GRAD_H

#include "dialects/Pch.h"
#include "dialects/grad/HostTensor.h"

#include "dialects/grad/GradEnums.h.inc"

#include "dialects/grad/GradDialect.h.inc"

#include "dialects/grad/GradInterfaces.h.inc"

namespace mlir::grad {

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
  static LogicalResult foldTrait(Operation *op, ArrayRef<Attribute> operands,
                                 SmallVectorImpl<OpFoldResult> &results) {
    return foldByEvaluation(op, operands, results);
  }
};

template <typename Op> class Pointwise : public OpTrait::TraitBase<Op, Pointwise> {};

class Expr;
class Scalar;

} // namespace mlir::grad

#define GET_ATTRDEF_CLASSES
#include "dialects/grad/GradAttrs.h.inc"
#define GET_OP_CLASSES
#include "dialects/grad/GradOps.h.inc"

#endif
