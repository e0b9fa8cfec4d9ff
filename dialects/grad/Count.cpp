// A constant where the size is one; else grad.count, which gradc-bind-rows resolves.
#include "dialects/grad/Count.h"

using namespace mlir;
using namespace mlir::grad;

Expr grad::overCount(Expr x, Value counted, ArrayRef<int64_t> dims, double factor) {
  auto type = cast<RankedTensorType>(counted.getType());
  if (!mayHoldBatch(x.getBuilder(), type, dims)) {
    double count = 1;
    for (int64_t d : dims)
      count *= double(type.getDimSize(d));
    return x * (factor / count);
  }
  Expr count = x.with(CountOp::create(x.getBuilder(), x.getLoc(), counted, dims, IntegerAttr()));
  return x * (factor / count).cast(x.type().getElementType()).broadcastScalar(x.type());
}
