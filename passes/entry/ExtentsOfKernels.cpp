// Extents of the values of kernels, and of entries that launch them.
#include "passes/entry/Extents.h"

using namespace mlir;
using namespace gradc;

FailureOr<ExtentAnalysis> gradc::analyzeKernel(exec::KernelOp kernel, ArrayRef<Extents> operands) {
  // Whether a sum is over rows was asked of the whole entry; a kernel's operands know.
  ExtentAnalysis analysis(/*rows=*/1);
  for (auto [argument, extents] : llvm::zip_equal(kernel.getBlock().getArguments(), operands))
    analysis.set(argument, extents);
  if (failed(analysis.visit(kernel.getBlock())))
    return kernel.emitOpError("compiler bug: no extents of its values: ") << analysis.why();
  return analysis;
}

FailureOr<ExtentAnalysis> gradc::analyzeKernel(exec::KernelOp kernel) {
  SmallVector<Extents> operands;
  for (BlockArgument argument : kernel.getBlock().getArguments())
    operands.push_back(kernel.getExtentsOf(argument.getArgNumber()));
  return analyzeKernel(kernel, operands);
}

/// Visits launches and accesses to states; sets `isSaid` if a failure has been reported.
static std::optional<LogicalResult> visitScheduled(Operation *op, const SymbolTable &symbols,
                                                   ExtentAnalysis &analysis, bool &isSaid) {
  if (isa<exec::StoreOp, grad::WriteOp>(op))
    return success();
  if (auto load = dyn_cast<exec::LoadOp>(op)) {
    auto type = cast<RankedTensorType>(load.getType());
    analysis.set(load.getResult(), Extents(type.getRank(), extent::whole));
    return success();
  }
  auto launch = dyn_cast<exec::LaunchOp>(op);
  if (!launch)
    return std::nullopt;
  auto kernel = symbols.lookup<exec::KernelOp>(launch.getKernel());
  FailureOr<ExtentAnalysis> inside = analyzeKernel(kernel, analysis.of(launch.getOperands()));
  isSaid = failed(inside);
  if (isSaid)
    return failure();
  for (auto [result, value] : llvm::zip_equal(launch.getResults(), kernel.getYielded()))
    analysis.set(result, *inside->find(value));
  return success();
}

FailureOr<ExtentAnalysis> gradc::analyzeEntry(func::FuncOp entry, const SymbolTable &symbols) {
  ExtentAnalysis analysis(/*rows=*/1);
  analysis.setArguments(entry);
  bool isSaid = false;
  analysis.setOther([&](Operation *op) { return visitScheduled(op, symbols, analysis, isSaid); });
  for (Operation &op : entry.getBody().front().without_terminator())
    if (failed(analysis.visit(&op))) {
      if (!isSaid)
        op.emitOpError("compiler bug: no extents: ") << analysis.why();
      return failure();
    }
  analysis.setOther(nullptr);
  return analysis;
}

Extents gradc::rowsOf(RankedTensorType root, ValueRange results, const ExtentAnalysis &analysis) {
  Extents rows(root.getRank(), 0);
  for (Value result : results)
    if (result.getType() == root)
      for (auto [row, extent] : llvm::zip_equal(rows, *analysis.find(result)))
        row = std::max(row, extent);
  return rows;
}

LogicalResult gradc::setExtents(exec::KernelOp kernel, ArrayRef<Extents> operands) {
  kernel.removeExtentsAttr();
  kernel.removeRowsAttr();
  auto hasRows = [](const Extents &extents) {
    return llvm::any_of(extents, [](int64_t e) { return e > 0; });
  };
  if (llvm::none_of(operands, hasRows))
    return success();
  FailureOr<ExtentAnalysis> analysis = analyzeKernel(kernel, operands);
  if (failed(analysis))
    return failure();
  auto lists = llvm::map_to_vector(operands, [&](const Extents &extents) -> Attribute {
    return DenseI64ArrayAttr::get(kernel.getContext(), extents);
  });
  kernel.setExtentsAttr(ArrayAttr::get(kernel.getContext(), lists));
  kernel.setRows(rowsOf(kernel.getRoot(), kernel.getYielded(), *analysis));
  return success();
}
