// Sums over ranks. One process evaluates them as one rank.
#include "dialects/grad/Grad.h"

using namespace mlir;
using namespace mlir::grad;

LogicalResult AllReduceOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  llvm::append_range(types, adaptor.getOperands().getTypes());
  return success();
}

LogicalResult AllReduceOp::verify() {
  if (getOperands().empty())
    return emitOpError("expected an operand, found none");
  Type element = getElementTypeOrSelf(getOperands().front());
  if (!element.isF32() && !element.isF64() && !element.isSignlessInteger(32) &&
      !element.isSignlessInteger(64))
    return emitOpError("expected f32, f64, i32 or i64, found ") << element;
  for (Value operand : getOperands())
    if (getElementTypeOrSelf(operand) != element)
      return emitOpError("expected operands of one element type, found ")
             << element << " and " << getElementTypeOrSelf(operand);
  if (getBf16() && !element.isF32())
    return emitOpError("expected f32 to travel as bf16, found ") << element;
  return success();
}

void AllReduceOp::evaluate(ArrayRef<HostTensor> operands, MutableArrayRef<HostTensor> results) {
  llvm::copy(operands, results.begin());
}

int64_t AllReduceOp::getFlops() { return 0; }

// dx = the sum over ranks of g
LogicalResult AllReduceOp::buildGradient(OpBuilder &b, ValueRange resultGradients,
                                         SmallVectorImpl<Value> &operandGradients) {
  SmallVector<Value> arrived;
  for (Value g : resultGradients)
    if (g)
      arrived.push_back(g);
  auto sums = create(b, getLoc(), arrived, /*bf16=*/false);
  unsigned next = 0;
  for (auto [i, g] : llvm::enumerate(resultGradients))
    if (g)
      operandGradients[i] = sums.getResult(next++);
  return success();
}
