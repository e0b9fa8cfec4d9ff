// Merges the dims of a product that it walks as one.
#include "dialects/exec/Exec.h"
#include "dialects/grad/Grad.h"
#include "passes/Passes.h"
#include "passes/support/KernelTable.h"
#include "passes/support/MergedDims.h"
#include "passes/support/Outline.h"

using namespace mlir;
using namespace mlir::grad;

namespace gradc {
#define GEN_PASS_DEF_MERGEROWS
#include "passes/Passes.h.inc"

namespace {

ArrayRef<int64_t> shapeOf(Value v) { return cast<RankedTensorType>(v.getType()).getShape(); }

/// A kernel of one contraction without a window, and of ops on single elements of its result.
class ProductKernel {
public:
  explicit ProductKernel(exec::KernelOp kernel) : kernel(kernel) {
    auto contractions = kernel.getBlock().getOps<ContractionOpInterface>();
    if (!llvm::hasSingleElement(contractions))
      return;
    contraction = *contractions.begin();
    letters = contraction.getLetters();
    if (letters.window)
      return;
    findRows();
    findSums();
  }

  /// Whether there are dims to merge. If a launch takes any number of rows, only those that were
  /// merged before: behind other dims, a run's rows are no leading part of the merged dim.
  bool canMerge(ArrayRef<exec::LaunchOp> launches) const {
    return (rows || sums) &&
           (contraction->hasAttr(splitName) || llvm::none_of(launches, takesAnyRows));
  }

  /// A kernel outside any module, with merged dims.
  exec::KernelOp merge() {
    auto scratch = cast<exec::KernelOp>(kernel->clone());
    ProductKernel copy(scratch);
    copy.mergeInPlace();
    SmallVector<Operation *> ops(llvm::make_pointer_range(scratch.getBlock().without_terminator()));
    SmallVector<Value> arguments(scratch.getBlock().getArguments());
    SmallVector<Value> results(scratch.getYielded());
    exec::KernelOp merged = outlineKernel(ops, arguments, results);
    scratch->erase();
    return merged;
  }

  void relaunch(exec::LaunchOp launch) {
    if (sums)
      for (Value factor : contraction->getOperands())
        viewOperand(launch->getOpOperand(cast<BlockArgument>(factor).getArgNumber()),
                    sums->merged(factor.getType()));
    if (rows)
      rows->relaunch(launch);
  }

private:
  static bool takesAnyRows(exec::LaunchOp launch) {
    return launch->getParentOfType<func::FuncOp>()->hasAttr("grad.rows");
  }

  /// The leading letters that `a` and `b` share, and `c` lacks.
  static size_t countShared(StringRef a, StringRef b, StringRef c) {
    size_t n = 0;
    while (n < std::min(a.size(), b.size()) && a[n] == b[n] && !c.contains(a[n]))
      ++n;
    return n;
  }

  /// Leading dims of lhs and result.
  void findRows() {
    size_t n = countShared(letters.lhs, letters.result, letters.rhs);
    if (n < 2)
      return;
    MergedDims dims(shapeOf(contraction->getOperand(0)).take_front(n), /*keepsRank=*/false);
    auto isMerged = [&](Operation &op) {
      return &op == contraction ? !dims.isSpread(contraction->getOperand(1).getType())
                                : dims.keepsMeaning(&op);
    };
    if (!llvm::all_of(kernel.getBlock().without_terminator(), isMerged))
      return;
    rows = dims;
    rowCount = n;
  }

  /// Leading dims of lhs and rhs, which only the contraction reads.
  void findSums() {
    size_t n = countShared(letters.lhs, letters.rhs, letters.result);
    auto isOwn = [](Value factor) { return isa<BlockArgument>(factor) && factor.hasOneUse(); };
    if (n < 2 || !llvm::all_of(contraction->getOperands(), isOwn))
      return;
    sums = MergedDims(shapeOf(contraction->getOperand(0)).take_front(n), /*keepsRank=*/false);
    sumCount = n;
  }

  void mergeInPlace() {
    if (sums)
      for (Value factor : contraction->getOperands())
        sums->retype(factor);
    if (rows) {
      for (BlockArgument argument : kernel.getBlock().getArguments())
        rows->retype(argument);
      for (Operation &op : kernel.getBlock().without_terminator())
        rows->retype(&op);
    }
    OpBuilder b(contraction);
    Operation *replacement = withMergedLetters(b);
    contraction->replaceAllUsesWith(replacement);
    contraction->erase();
  }

  /// The contraction without the letters of dims that disappeared: a matrix product, if it has that
  /// form.
  Operation *withMergedLetters(OpBuilder &b) {
    std::string lhs = letters.lhs, rhs = letters.rhs, result = letters.result;
    auto dropMerged = [](std::string &names, size_t count) {
      if (count > 1)
        names.erase(1, count - 1);
    };
    dropMerged(lhs, std::max(rowCount, sumCount));
    dropMerged(rhs, sumCount);
    dropMerged(result, rowCount);
    Value left = contraction->getOperand(0), right = contraction->getOperand(1);
    bool wide = getElementTypeOrSelf(left) != getElementTypeOrSelf(contraction->getResult(0));
    Location loc = contraction->getLoc();
    if (lhs.size() == 2 && rhs.size() == 2 && result.size() == 2 && lhs.find(result[0]) < 2 &&
        rhs.find(result[1]) < 2)
      return MatmulOp::create(b, loc, left, right, /*transpose_lhs=*/lhs[1] == result[0],
                              /*transpose_rhs=*/rhs[0] == result[1], wide);
    auto noWindow = WindowAttr::get(b.getContext(), {}, {}, {}, {}, {}, {}, /*reversed=*/false);
    return ConvolutionOp::create(b, loc, left, right, lhs + "," + rhs + "->" + result, noWindow,
                                 wide);
  }

  exec::KernelOp kernel;
  ContractionOpInterface contraction;
  ContractionLetters letters;
  std::optional<MergedDims> rows, sums;
  size_t rowCount = 0, sumCount = 0; ///< letters
};

struct MergeRows : impl::MergeRowsBase<MergeRows> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SymbolTable symbols(module);
    KernelTable kernels(module, symbols);
    exec::KernelLaunches launches = exec::launchesByKernel(module);
    SmallVector<exec::KernelOp> replaced;
    for (auto kernel : llvm::to_vector(module.getOps<exec::KernelOp>())) {
      ProductKernel product(kernel);
      ArrayRef<exec::LaunchOp> all = launches[kernel.getSymNameAttr()];
      if (!product.canMerge(all))
        continue;
      exec::KernelOp merged = kernels.findOrInsert(product.merge(), Block::iterator(kernel));
      for (exec::LaunchOp launch : all) {
        product.relaunch(launch);
        launch.setKernel(merged.getSymName());
      }
      replaced.push_back(kernel);
    }
    for (exec::KernelOp kernel : replaced)
      symbols.erase(kernel);
  }
};

} // namespace
} // namespace gradc
