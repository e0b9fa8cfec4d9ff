// Propagates extents from launch to launch, and duplicates kernels that need different extents.
#include "dialects/grad/EntryAttributes.h"
#include "dialects/grad/Grad.h"
#include "passes/Passes.h"
#include "passes/entry/Extents.h"
#include "passes/entry/Functions.h"

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
    for (auto function : functionsOf(module))
      if (!function->hasAttr(rowsName))
        function.walk([&](exec::LaunchOp launch) {
          variants[launch.getKernelAttr().getAttr()].try_emplace(ArrayAttr(),
                                                                 launch.getKernelAttr());
        });
    for (auto function : llvm::to_vector(functionsOf(module)))
      if (function->hasAttr(rowsName) && failed(walk(function)))
        return signalPassFailure();
  }

private:
  LogicalResult walk(func::FuncOp function) {
    FailureOr<ExtentAnalysis> analysis = analyzeEntry(function, *symbols);
    if (failed(analysis))
      return failure();
    function.walk([&](exec::LaunchOp launch) { specialize(launch, *analysis); });
    Operation *terminator = function.getBody().front().getTerminator();
    for (auto [i, result] : llvm::enumerate(terminator->getOperands()))
      if (analysis->isBatched(result))
        function.setResultAttr(i, batchedName, UnitAttr::get(&getContext()));
    return success();
  }

  /// Sets the launch's kernel to the one for the extents of its operands, which are final now.
  void specialize(exec::LaunchOp launch, const ExtentAnalysis &analysis) {
    auto kernel = symbols->lookup<exec::KernelOp>(launch.getKernel());
    SmallVector<Extents> operands = analysis.of(launch.getOperands());
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
