// Counts become constants if the size is known; else grad.count, which gradc-bind-rows resolves.
#include "dialects/grad/math/Count.h"
#include "dialects/grad/EntryAttributes.h"

using namespace mlir;
using namespace mlir::grad;

Expr grad::overCount(Expr x, Value counted, ArrayRef<int64_t> dims, double factor) {
  auto type = cast<RankedTensorType>(counted.getType());
  Type element = x.element();
  x = x.wide();
  if (!mayHoldBatch(x.getBuilder(), type, dims)) {
    double count = 1;
    for (int64_t d : dims)
      count *= double(type.getDimSize(d));
    return (x * (factor / count)).cast(element);
  }
  Expr count = x.with(CountOp::create(x.getBuilder(), x.getLoc(), counted, dims, IntegerAttr()));
  return (x * (factor / count).cast(x.element()).broadcastScalar(x.type())).cast(element);
}

bool grad::isCountOfRun(Operation *op) {
  auto type = op->getNumResults() == 1 ? dyn_cast<RankedTensorType>(op->getResult(0).getType())
                                       : RankedTensorType();
  if (!type || type.getRank() != 0 || !op->hasTrait<Pointwise>() || op->getNumOperands() == 0)
    return false;
  return llvm::all_of(op->getOperands(), [](Value v) {
    if (Operation *producer = v.getDefiningOp())
      return matchPattern(producer, m_Constant()) || isCountOfRun(producer);
    auto argument = cast<BlockArgument>(v);
    auto function = dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp());
    auto role = function ? function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), roleName)
                         : StringAttr();
    return role && role.getValue() == "rows";
  });
}
