// Propagates extents from launch to launch, and duplicates kernels that need different extents.
#include "dialects/grad/Grad.h"
#include "passes/Passes.h"
#include "passes/support/Extents.h"

using namespace mlir;
using namespace mlir::grad;

namespace gradc {
#define GEN_PASS_DEF_FINDEXTENTS
#include "passes/Passes.h.inc"

namespace {

struct FindExtents : impl::FindExtentsBase<FindExtents> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    symbols.emplace(module);
    for (auto kernel : module.getOps<exec::KernelOp>())
      variants[kernel.getSymNameAttr()];
    // Launches in entries with a fixed number of rows keep the kernel unchanged.
    for (auto function : module.getOps<func::FuncOp>())
      if (!function->hasAttr("grad.rows"))
        function.walk([&](exec::LaunchOp launch) {
          variants[launch.getKernelAttr().getAttr()].try_emplace(ArrayAttr(),
                                                                 launch.getKernelAttr());
        });
    for (auto function : llvm::to_vector(module.getOps<func::FuncOp>()))
      if (function->hasAttr("grad.rows") && failed(walk(function)))
        return signalPassFailure();
  }

private:
  LogicalResult walk(func::FuncOp function) {
    ExtentAnalysis analysis(/*rows=*/1);
    Block &block = function.getBody().front();
    analysis.setArguments(function);
    bool isSaid = false;
    analysis.setOther([&](Operation *op) { return visit(op, analysis, isSaid); });
    for (Operation &op : block.without_terminator())
      if (failed(analysis.visit(&op)))
        return isSaid ? failure() : op.emitOpError("compiler bug: no extents: ") << analysis.why();
    function.walk([&](exec::LaunchOp launch) { specialize(launch, analysis); });
    for (auto [i, result] : llvm::enumerate(block.getTerminator()->getOperands()))
      if (analysis.isBatched(result))
        function.setResultAttr(i, "grad.batched", UnitAttr::get(&getContext()));
    return success();
  }

  /// Visits the ops of the schedule; `isSaid`: the failure has been reported.
  std::optional<LogicalResult> visit(Operation *op, ExtentAnalysis &analysis, bool &isSaid) {
    if (isa<exec::StoreOp>(op))
      return success();
    if (auto load = dyn_cast<exec::LoadOp>(op)) {
      auto type = cast<RankedTensorType>(load.getType());
      analysis.set(load.getResult(), Extents(type.getRank(), extent::whole));
      return success();
    }
    auto launch = dyn_cast<exec::LaunchOp>(op);
    if (!launch)
      return std::nullopt;
    FailureOr<ExtentAnalysis> inside =
        analyzeKernel(kernelOf(launch), operandsOf(launch, analysis));
    isSaid = failed(inside);
    if (isSaid)
      return failure();
    for (auto [result, value] : llvm::zip_equal(launch.getResults(), kernelOf(launch).getYielded()))
      analysis.set(result, *inside->find(value));
    return success();
  }

  exec::KernelOp kernelOf(exec::LaunchOp launch) {
    return symbols->lookup<exec::KernelOp>(launch.getKernel());
  }

  static SmallVector<Extents> operandsOf(exec::LaunchOp launch, const ExtentAnalysis &analysis) {
    return llvm::map_to_vector(launch.getOperands(), [&](Value v) { return *analysis.find(v); });
  }

  /// Sets the launch's kernel to the one for the extents of its operands, which are final now.
  void specialize(exec::LaunchOp launch, ExtentAnalysis &analysis) {
    exec::KernelOp kernel = kernelOf(launch);
    SmallVector<Extents> operands = operandsOf(launch, analysis);
    auto lists = llvm::map_to_vector(operands, [&](const Extents &extents) -> Attribute {
      return DenseI64ArrayAttr::get(&getContext(), extents);
    });
    bool isBatched =
        llvm::any_of(launch.getOperands(), [&](Value v) { return analysis.isBatched(v); });
    FailureOr<ExtentAnalysis> inside = analyzeKernel(kernel, operands);
    assert(succeeded(inside) && "it was visited with them");
    Extents rows = rowsOf(kernel.getRoot(), kernel.getYielded(), *inside);
    launch.setKernelAttr(
        variantOf(kernel, isBatched ? ArrayAttr::get(&getContext(), lists) : ArrayAttr(), rows));
  }

  /// The kernel for these extents: the kernel itself if no launch runs it with other extents.
  FlatSymbolRefAttr variantOf(exec::KernelOp kernel, ArrayAttr extents, ArrayRef<int64_t> rows) {
    auto &known = variants[kernel.getSymNameAttr()];
    if (auto at = known.find(extents); at != known.end())
      return at->second;
    exec::KernelOp variant = known.empty() ? kernel : kernel.clone();
    variant.removeExtentsAttr();
    variant.removeRowsAttr();
    if (extents) {
      variant.setExtentsAttr(extents);
      variant.setRows(rows);
    }
    if (variant != kernel)
      symbols->insert(variant, std::next(Block::iterator(kernel)));
    return known[extents] = FlatSymbolRefAttr::get(variant.getSymNameAttr());
  }

  std::optional<SymbolTable> symbols;
  llvm::DenseMap<StringAttr, llvm::MapVector<ArrayAttr, FlatSymbolRefAttr>> variants;
};

} // namespace
} // namespace gradc
