// Test only: makes one kernel compute wrong results.
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

/// Scales and shifts: adding 1 is lost in large numbers, and scaling does not change zeros.
Value shift(Expr x) {
  Type element = x.element();
  if (element.isInteger(1))
    return x.apply<NotOp>();
  return isa<IntegerType>(element) ? x + 1 : x * 1.25 + 1;
}

/// Whether an element is the last one of a tensor of `type`.
Expr isLast(Expr x) {
  RankedTensorType type = x.type();
  RankedTensorType whole = type.clone(x.getBuilder().getI64Type());
  Expr last = x.splat(0).compare(ComparePredicate::eq, x.splat(0));
  for (int64_t d = 0; d < type.getRank(); ++d) {
    Expr index = x.with(IotaOp::create(x.getBuilder(), x.getLoc(), whole, d));
    Expr here = index.compare(ComparePredicate::eq, index.splat(double(type.getDimSize(d) - 1)));
    last = d ? last.apply<AndOp>(here) : here;
  }
  return last;
}

struct CorruptKernel : gradc::impl::CorruptKernelBase<CorruptKernel> {
  using CorruptKernelBase::CorruptKernelBase;

  void runOnOperation() override {
    auto [name, found] = StringRef(kernel).split(':');
    kind = found.empty() ? "shift" : found;
    auto target = SymbolTable(getOperation()).lookup<exec::KernelOp>(name);
    if (!target) {
      InFlightDiagnostic error = getOperation().emitError()
                                 << "expected a kernel named \"" << name << "\"";
      for (auto other : getOperation().getOps<exec::KernelOp>())
        error.attachNote(other.getLoc()) << "found kernel \"" << other.getSymName() << "\"";
      return signalPassFailure();
    }
    if (failed(corrupt(target)))
      return signalPassFailure();
    // A corrupt kernel may be more than a contraction, or read a factor twice, so its walk has
    // neither blocks nor panels.
    if (exec::ScheduleAttr s = target.getScheduleAttr())
      target.setScheduleAttr(exec::ScheduleAttr::get(
          &getContext(), s.getLanes(), s.getTile(), s.getOrder(), s.getGrain(), /*block=*/{},
          /*panels=*/{}, exec::TurnedAttr(), exec::Algorithm::direct, s.getSpacing()));
  }

private:
  LogicalResult corrupt(exec::KernelOp target) {
    Operation *yield = target.getBlock().getTerminator();
    OpBuilder b(yield);
    if (kind == "swap")
      return swapOperands(target);
    unsigned i = 0;
    StringRef rest = kind;
    if (rest.consume_front("factor@") && rest.getAsInteger(10, i))
      i = yield->getNumOperands();
    if (i >= yield->getNumOperands())
      return target.emitError("expected one of ")
             << yield->getNumOperands() << " results, found \"" << kind << "\"";
    Expr result(b, target.getLoc(), yield->getOperand(i));
    bool isFloat = isa<FloatType>(result.element());
    if (kind == "shift")
      yield->setOperand(i, shift(result));
    else if (kind == "edge")
      yield->setOperand(i, isLast(result).select(shift(result), result));
    else if (kind.starts_with("factor"))
      yield->setOperand(i, isFloat ? Value(result * 1.001) : shift(result));
    else
      return target.emitError("expected shift, factor, factor@RESULT, edge or swap, found \"")
             << kind << "\"";
    return success();
  }

  /// Exchanges the first two arguments of the same type.
  LogicalResult swapOperands(exec::KernelOp target) {
    auto arguments = target.getBlock().getArguments();
    for (BlockArgument a : arguments)
      for (BlockArgument b : arguments.drop_front(a.getArgNumber() + 1))
        if (a.getType() == b.getType() &&
            target.getLayout(a.getArgNumber()) == target.getLayout(b.getArgNumber())) {
          for (Operation &op : target.getBlock())
            for (OpOperand &use : op.getOpOperands())
              if (use.get() == a || use.get() == b)
                use.set(use.get() == a ? b : a);
          return success();
        }
    return target.emitError("expected two operands of one type to swap");
  }

  StringRef kind;
};

} // namespace
