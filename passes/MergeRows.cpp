// Merges neighbouring dims that a product walks alike.
#include "dialects/exec/Exec.h"
#include "dialects/grad/EntryAttributes.h"
#include "dialects/grad/Grad.h"
#include "dialects/grad/TensorTypes.h"
#include "dialects/grad/math/Contraction.h"
#include "passes/Passes.h"
#include "passes/entry/Extents.h"
#include "passes/entry/Functions.h"
#include "passes/kernel/KernelTable.h"
#include "passes/kernel/MergedDims.h"
#include "passes/kernel/Outline.h"

using namespace mlir;
using namespace mlir::grad;

namespace gradc {
#define GEN_PASS_DEF_MERGEROWS
#include "passes/Passes.h.inc"

namespace {

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

  exec::KernelOp getKernel() const { return kernel; }
  bool canMerge() const { return rows || sums; }

  /// Whether the rows of a run, if there are any number, lead the dims that merge, in all values
  /// alike. Behind other dims they would be no leading part of the merged dim.
  bool canMergeIn(exec::LaunchOp launch, const ExtentAnalysis &extents) const {
    SmallVector<Value> ofRows, ofSums;
    for (Value v : llvm::concat<Value>(launch->getOperands(), launch->getResults()))
      if (rows && rows->isSpread(v.getType()))
        ofRows.push_back(v);
    if (sums)
      for (Value factor : contraction->getOperands())
        ofSums.push_back(operandOf(launch, factor).get());
    return leadAlike(extents.of(ofRows), rowCount) && leadAlike(extents.of(ofSums), sumCount);
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
        viewOperand(operandOf(launch, factor), sums->merged(factor.getType()));
    if (rows)
      rows->relaunch(launch);
  }

private:
  static OpOperand &operandOf(exec::LaunchOp launch, Value argument) {
    return launch->getOpOperand(cast<BlockArgument>(argument).getArgNumber());
  }

  static bool leadAlike(ArrayRef<Extents> values, size_t count) {
    return llvm::all_of(values, [&](ArrayRef<int64_t> extents) {
      auto isWhole = [](int64_t e) { return e == extent::whole; };
      return !extent::isFree(extents[0]) && extents[0] == values.front()[0] &&
             llvm::all_of(extents.slice(1, count - 1), isWhole);
    });
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
    if (!dims.keepsMeaning(kernel, contraction))
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
    if (rows)
      rows->retype(kernel);
    OpBuilder b(contraction);
    contraction->getResult(0).replaceAllUsesWith(withMergedLetters(b));
    contraction->erase();
  }

  /// The contraction without the letters of dims that disappeared: a matrix product, if it has that
  /// form.
  Value withMergedLetters(OpBuilder &b) {
    std::string lhs = letters.lhs, rhs = letters.rhs, result = letters.result;
    auto dropMerged = [](std::string &names, size_t count) {
      if (count > 1)
        names.erase(1, count - 1);
    };
    dropMerged(lhs, std::max(rowCount, sumCount));
    dropMerged(rhs, sumCount);
    dropMerged(result, rowCount);
    Value left = contraction->getOperand(0), right = contraction->getOperand(1);
    bool wide = isWide(contraction);
    Location loc = contraction->getLoc();
    if (lhs.size() == 2 && rhs.size() == 2 && result.size() == 2 && lhs.find(result[0]) < 2 &&
        rhs.find(result[1]) < 2)
      return MatmulOp::create(b, loc, left, right, /*transpose_lhs=*/lhs[1] == result[0],
                              /*transpose_rhs=*/rhs[0] == result[1], wide);
    return contract(b, loc, left, right, lhs + "," + rhs + "->" + result, wide);
  }

  exec::KernelOp kernel;
  ContractionOpInterface contraction;
  ContractionLetters letters;
  std::optional<MergedDims> rows, sums;
  size_t rowCount = 0, sumCount = 0; ///< letters
};

/// 1. Finds the kernels of a product whose rows or summed dims are neighbours.
/// 2. Leaves out those with a launch, in an entry that takes any number of rows, where these do not
///    lead the dims.
/// 3. Replaces each by a kernel with merged dims, and lets its launches read and write views.
struct MergeRows : impl::MergeRowsBase<MergeRows> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    std::vector<ProductKernel> products;
    for (auto kernel : module.getOps<exec::KernelOp>())
      if (ProductKernel product(kernel); product.canMerge())
        products.push_back(product);
    if (products.empty())
      return;
    SymbolTable symbols(module);
    for (auto function : functionsOf(module))
      if (function->hasAttr(rowsName)) {
        FailureOr<ExtentAnalysis> analysis = analyzeEntry(function, symbols);
        if (failed(analysis))
          return signalPassFailure();
        extents.try_emplace(function, std::move(*analysis));
      }
    launches = exec::launchesByKernel(module);
    llvm::erase_if(products, [&](const ProductKernel &p) { return !canMergeInLaunches(p); });

    KernelTable kernels(module, symbols);
    for (ProductKernel &product : products) {
      exec::KernelOp kernel = product.getKernel();
      exec::KernelOp merged = kernels.findOrInsert(product.merge(), Block::iterator(kernel));
      for (exec::LaunchOp launch : launchesOf(product)) {
        product.relaunch(launch);
        launch.setKernel(merged.getSymName());
      }
    }
    for (ProductKernel &product : products)
      symbols.erase(product.getKernel());
    extents.clear();
  }

private:
  bool canMergeInLaunches(const ProductKernel &product) {
    return llvm::all_of(launchesOf(product), [&](exec::LaunchOp launch) {
      auto at = extents.find(launch->getParentOfType<func::FuncOp>());
      return at == extents.end() || product.canMergeIn(launch, at->second);
    });
  }

  ArrayRef<exec::LaunchOp> launchesOf(const ProductKernel &product) {
    return launches[product.getKernel().getSymNameAttr()];
  }

  llvm::DenseMap<func::FuncOp, ExtentAnalysis> extents; ///< of entries that take any number of rows
  exec::KernelLaunches launches;
};

} // namespace
} // namespace gradc
