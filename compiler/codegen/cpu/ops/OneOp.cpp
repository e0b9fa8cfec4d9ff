// Calls the code of the op that a kernel's algorithm names.
#include "compiler/codegen/cpu/ops/OneOp.h"

using namespace mlir;

LogicalResult gradc::cpu::emitOneOp(OneOp &op) {
  switch (op.kernel.getScheduleAttr().getAlgorithm()) {
  case exec::Algorithm::attention:
    return emitAttention(op);
  case exec::Algorithm::cumulative:
    return emitCumulative(op);
  case exec::Algorithm::fourier:
    return emitFourier(op);
  case exec::Algorithm::positions:
    return emitPositions(op);
  case exec::Algorithm::sort:
    return emitSort(op);
  case exec::Algorithm::suppression:
    return emitSuppression(op);
  default:
    llvm_unreachable("other algorithms compute several ops");
  }
}
