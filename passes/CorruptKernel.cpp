// Test only: scales and shifts the first result of one kernel, whatever the kernel computes.
#include "passes/Passes.h"

#include "dialects/exec/Exec.h"
#include "dialects/grad/Build.h"

namespace gradc {
#define GEN_PASS_DEF_CORRUPTKERNEL
#include "passes/Passes.h.inc"
} // namespace gradc

using namespace mlir;
using namespace mlir::grad;

namespace {

struct CorruptKernel : gradc::impl::CorruptKernelBase<CorruptKernel> {
  using CorruptKernelBase::CorruptKernelBase;

  void runOnOperation() override {
    auto target = SymbolTable(getOperation()).lookup<exec::KernelOp>(kernel);
    if (!target) {
      InFlightDiagnostic error = getOperation().emitError()
                                 << "expected a kernel named \"" << kernel << "\"";
      for (auto other : getOperation().getOps<exec::KernelOp>())
        error.attachNote(other.getLoc()) << "found kernel \"" << other.getSymName() << "\"";
      return signalPassFailure();
    }
    Operation *yield = target.getBlock().getTerminator();
    OpBuilder b(yield);
    Expr result(b, target.getLoc(), yield->getOperand(0));
    Type element = result.type().getElementType();
    // Scaled as well as shifted: adding 1 is lost in large numbers, scaling in zeros.
    if (element.isInteger(1))
      yield->setOperand(0, result.apply<NotOp>());
    else if (isa<IntegerType>(element))
      yield->setOperand(0, result + 1);
    else
      yield->setOperand(0, result * 1.25 + 1);
    // Only a contraction that is alone is walked in blocks.
    if (exec::ScheduleAttr s = target.getScheduleAttr())
      target.setScheduleAttr(exec::ScheduleAttr::get(&getContext(), s.getLanes(), s.getTile(),
                                                     s.getOrder(), s.getGrain(), {}, false));
  }
};

} // namespace
