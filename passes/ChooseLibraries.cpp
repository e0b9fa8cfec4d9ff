// Marks what one library call computes, and cuts kernels behind the part that one could compute.
#include "dialects/exec/Exec.h"
#include "dialects/exec/Level.h"
#include "dialects/grad/Grad.h"
#include "passes/LibraryForm.h"
#include "passes/Outline.h"
#include "passes/Passes.h"

using namespace mlir;
using namespace mlir::grad;

namespace gradc {
#define GEN_PASS_DEF_CHOOSELIBRARIES
#include "passes/Passes.h.inc"

namespace {

/// Whether a contraction in a library saves more than its own launch and the way of its result
/// through memory cost. Not measured: f32 on an H200 (67 TFLOP/s, 4.8 TB/s), a quarter of its peak
/// in generated code, three quarters in a library, 2 us a launch in a graph.
bool paysToCut(Operation *contraction, RankedTensorType cut) {
  constexpr double peak = 67e12, generated = 0.25, library = 0.75, bandwidth = 4.8e12,
                   launch = 2e-6;
  double flops = cast<CostOpInterface>(contraction).getFlops();
  double saved = flops / peak * (1 / generated - 1 / library);
  return saved > launch + 2 * double(exec::layoutBytes(cut, nullptr)) / bandwidth;
}

/// A kernel cut in two: what the call computes, and the rest, which takes its result as the last
/// operand.
class Cutter {
public:
  Cutter(exec::KernelOp kernel, const LibraryPrefix &prefix)
      : kernel(kernel), cut(prefix.last->getResult(0)) {
    llvm::SetVector<Operation *> before;
    before.insert(prefix.last);
    for (size_t i = 0; i < before.size(); ++i)
      for (Value operand : before[i]->getOperands())
        if (Operation *op = operand.getDefiningOp())
          before.insert(op);
    for (Operation &op : kernel.getBlock().without_terminator())
      (before.contains(&op) ? first : rest).push_back(&op);
    firstOperands = argumentsOf(first);
    restOperands = argumentsOf(rest);
    restOperands.push_back(cut);
    for (Value v : kernel.getYielded())
      if (v != cut)
        restResults.push_back(v);
  }

  void run(SymbolTable &symbols, ArrayRef<exec::LaunchOp> launches) {
    exec::KernelOp head = outlineKernel(first, firstOperands, {cut});
    exec::KernelOp tail = outlineKernel(rest, restOperands, restResults);
    for (exec::KernelOp part : {head, tail})
      symbols.insert(part);
    LibraryPrefix prefix = findLibraryPrefix(head);
    assert(prefix.call && "what was cut off is a call");
    head.setLibraryAttr(prefix.call);
    for (exec::LaunchOp launch : launches)
      replace(launch, head, tail);
    symbols.erase(kernel);
  }

private:
  static SmallVector<Value> argumentsOf(ArrayRef<Operation *> ops) {
    SmallVector<Value> arguments;
    for (Operation *op : ops)
      for (Value operand : op->getOperands())
        if (isa<BlockArgument>(operand) && !llvm::is_contained(arguments, operand))
          arguments.push_back(operand);
    return arguments;
  }

  exec::LaunchOp create(exec::LaunchOp old, exec::KernelOp part, ArrayRef<Value> operands) {
    OpBuilder builder(old);
    auto launch = exec::LaunchOp::create(builder, old.getLoc(), part.getYielded().getTypes(),
                                         part.getSymName(), operands);
    launch->setDiscardableAttrs(old->getDiscardableAttrDictionary());
    return launch;
  }

  void replace(exec::LaunchOp old, exec::KernelOp head, exec::KernelOp tail) {
    auto given = [&](ArrayRef<Value> arguments) {
      return llvm::map_to_vector(arguments, [&](Value v) {
        return old.getOperands()[cast<BlockArgument>(v).getArgNumber()];
      });
    };
    Value sum = create(old, head, given(firstOperands)).getResult(0);
    SmallVector<Value> operands = given(ArrayRef(restOperands).drop_back());
    operands.push_back(sum);
    exec::LaunchOp after = create(old, tail, operands);
    auto next = after.getResults().begin();
    for (auto [from, yielded] : llvm::zip(old.getResults(), kernel.getYielded()))
      from.replaceAllUsesWith(yielded == cut ? sum : Value(*next++));
    old.erase();
  }

  exec::KernelOp kernel;
  Value cut;
  SmallVector<Operation *> first, rest;
  SmallVector<Value> firstOperands, restOperands, restResults;
};

struct ChooseLibraries : impl::ChooseLibrariesBase<ChooseLibraries> {
  using ChooseLibrariesBase::ChooseLibrariesBase;

  void runOnOperation() override {
    auto name = getOperation()->getAttrOfType<StringAttr>("exec.level");
    const exec::Level *level = name ? exec::findLevel(name) : nullptr;
    if (mode != "auto" && mode != "always" && mode != "never") {
      getOperation()->emitError("expected mode auto, always or never, found ") << mode;
      return signalPassFailure();
    }
    if (!level || !level->isCuda() || mode == "never")
      return;
    llvm::MapVector<StringAttr, SmallVector<exec::LaunchOp>> launches;
    getOperation().walk([&](exec::LaunchOp launch) {
      launches[launch.getKernelAttr().getAttr()].push_back(launch);
    });
    SymbolTable symbols(getOperation());
    for (auto kernel : llvm::to_vector(getOperation().getOps<exec::KernelOp>()))
      choose(kernel, symbols, launches[kernel.getSymNameAttr()]);
  }

private:
  void choose(exec::KernelOp kernel, SymbolTable &symbols, ArrayRef<exec::LaunchOp> launches) {
    LibraryPrefix prefix = findLibraryPrefix(kernel);
    if (!prefix.call)
      return;
    Value sum = prefix.last->getResult(0);
    if (kernel.getYielded().size() == 1 && kernel.getYielded().front() == sum) {
      kernel.setLibraryAttr(prefix.call);
      return;
    }
    if (mode == "always" || paysToCut(prefix.contraction, cast<RankedTensorType>(sum.getType())))
      Cutter(kernel, prefix).run(symbols, launches);
  }
};

} // namespace
} // namespace gradc
