// The grad dialect's C++ face: ops, interfaces, and what all families share.
#ifndef DIALECTS_GRAD_GRAD_H
#define DIALECTS_GRAD_GRAD_H

#include "dialects/Pch.h"
#include "dialects/grad/HostTensor.h"

#include "dialects/grad/GradEnums.h.inc"

#include "dialects/grad/GradDialect.h.inc"

#include "dialects/grad/GradInterfaces.h.inc"

namespace mlir::grad {

/// Constants at most this large come from folding; larger results stay as ops (bytes).
constexpr int64_t foldLimitBytes = 1 << 20;

/// Runs `op`'s evaluate on `operands`.
SmallVector<HostTensor> evaluateOp(Operation *op, ArrayRef<HostTensor> operands);

/// The fold that every pure op has: all operands constant -> the evaluated constants. Pointwise ops
/// of splats are evaluated on one element; an op that only moves a splat gives that splat.
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
