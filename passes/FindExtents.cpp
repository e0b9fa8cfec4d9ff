// From launch to launch: extents of operands, kernels that are two, extents of results.
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
    // Launches in entries of one size keep the kernel as it is.
    for (auto function : module.getOps<func::FuncOp>())
      if (!function->hasAttr("grad.rows"))
        for (auto launch : function.getOps<exec::LaunchOp>())
          variants[launch.getKernelAttr().getAttr()].try_emplace(ArrayAttr(),
                                                                 launch.getKernelAttr());
    for (auto function : llvm::to_vector(module.getOps<func::FuncOp>()))
      if (function->hasAttr("grad.rows") && failed(walk(function)))
        return signalPassFailure();
  }

private:
  LogicalResult walk(func::FuncOp function) {
    ExtentAnalysis analysis(/*rows=*/1);
    Block &block = function.getBody().front();
    for (BlockArgument argument : block.getArguments()) {
      Extents extents(cast<RankedTensorType>(argument.getType()).getRank(), extent::whole);
      if (function.getArgAttr(argument.getArgNumber(), "grad.batched"))
        extents[0] = 1;
      analysis.set(argument, extents);
    }
    for (Operation &op : block.without_terminator()) {
      auto launch = dyn_cast<exec::LaunchOp>(op);
      if (isa<exec::LoadOp>(op))
        analysis.set(
            op.getResult(0),
            Extents(cast<RankedTensorType>(op.getResult(0).getType()).getRank(), extent::whole));
      else if (isa<exec::StoreOp>(op))
        continue;
      else if (launch ? failed(visit(launch, analysis)) : failed(analysis.visit(&op)))
        return launch ? failure() : op.emitOpError("compiler bug: no extents: ") << analysis.why();
    }
    for (auto [i, result] : llvm::enumerate(block.getTerminator()->getOperands()))
      if (analysis.isBatched(result))
        function.setResultAttr(i, "grad.batched", UnitAttr::get(&getContext()));
    return success();
  }

  LogicalResult visit(exec::LaunchOp launch, ExtentAnalysis &analysis) {
    auto kernel = symbols->lookup<exec::KernelOp>(launch.getKernel());
    SmallVector<Extents> operands;
    SmallVector<Attribute> lists;
    bool isBatched = false;
    for (Value operand : launch.getOperands()) {
      operands.push_back(*analysis.find(operand));
      lists.push_back(DenseI64ArrayAttr::get(&getContext(), operands.back()));
      isBatched |= analysis.isBatched(operand);
    }
    FailureOr<ExtentAnalysis> inside = analyzeKernel(kernel, operands);
    if (failed(inside))
      return failure();
    for (auto [result, value] : llvm::zip_equal(launch.getResults(), kernel.getYielded()))
      analysis.set(result, *inside->find(value));
    Extents rows = rowsOf(kernel.getRoot(), kernel.getYielded(), *inside);
    launch.setKernelAttr(
        variantOf(kernel, isBatched ? ArrayAttr::get(&getContext(), lists) : ArrayAttr(), rows));
    return success();
  }

  /// The kernel for these extents: itself when nobody runs it with others.
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
