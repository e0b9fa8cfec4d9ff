// Pads the steps of stacks: a padded step is a list of its elements followed by zeros, or such a
// list for each row of the batch.
#include "dialects/grad/Build.h"
#include "dialects/grad/control/Control.h"
#include "passes/Passes.h"
#include "passes/entry/Extents.h"
#include "passes/entry/Functions.h"
#include "passes/entry/Ports.h"

#include <numeric>

using namespace mlir;
using namespace mlir::grad;

namespace gradc {
#define GEN_PASS_DEF_ALIGNSTEPS
#include "passes/Passes.h.inc"

namespace {

constexpr int64_t alignment = 64;

/// Of each step the dim that holds rows of the batch; -1: none.
using RowDims = SmallVector<int64_t>;

/// Finds the rows in the steps of a function's scans. Where an op has no extents, they stay
/// unknown.
class StepRows {
public:
  explicit StepRows(func::FuncOp function, ArrayRef<ScanOp> scans)
      : analysis(scans.empty() || !batchOf(function) ? ExtentAnalysis(/*rows=*/0)
                                                     : analyzeFunction(function)) {}

  RowDims of(ValueRange steps) const {
    return llvm::map_to_vector(steps, [&](Value step) -> int64_t {
      const Extents *extents = analysis.find(step);
      auto rows = extents ? llvm::find_if(*extents, [](int64_t e) { return e > 0; }) : nullptr;
      return extents && rows != extents->end() ? rows - extents->begin() : -1;
    });
  }

private:
  ExtentAnalysis analysis;
};

class StepAligner {
public:
  StepAligner(const StepRows &rows, ArrayRef<ScanOp> scans) {
    for (ScanOp scan : scans)
      rowDims[scan] = {rows.of(ValueRange(scan.getSteps())), rows.of(scan.getYieldedSteps())};
  }

  void align(ScanOp scan) {
    auto [read, written] = rowDims.lookup(scan);
    for (auto [i, stack] : llvm::enumerate(scan.getStacks()))
      if (RankedTensorType type = stepType(stack.getType()); !isAligned(type))
        alignOperand(scan, i, stack, type, read[i]);
    if (llvm::any_of(scan.getStackResults(),
                     [](Value stack) { return !isAligned(stepType(stack.getType())); }))
      alignResults(scan, written);
  }

private:
  static bool isAligned(RankedTensorType step) {
    return step.getNumElements() * elementBytes(step.getElementType()) % alignment == 0;
  }

  /// A step as lists of elements: one list, or one for each row and what is outside of rows, so
  /// that a run with fewer rows has the first of them.
  static SmallVector<int64_t> listsOf(RankedTensorType step, int64_t rowDim) {
    SmallVector<int64_t> lists(step.getShape().take_front(size_t(rowDim + 1)));
    lists.push_back(step.getNumElements() / product(lists));
    return lists;
  }

  /// The same, with the padding that makes all lists together a multiple of 64 bytes.
  static SmallVector<int64_t> paddedLists(RankedTensorType step, int64_t rowDim) {
    SmallVector<int64_t> lists = listsOf(step, rowDim);
    int64_t bytes = elementBytes(step.getElementType()) * product(ArrayRef(lists).drop_back());
    lists.back() = int64_t(llvm::alignTo(lists.back(), alignment / std::gcd(alignment, bytes)));
    return lists;
  }

  static int64_t product(ArrayRef<int64_t> sizes) {
    return std::accumulate(sizes.begin(), sizes.end(), int64_t(1), std::multiplies<>());
  }

  /// The elements of padded lists without the padding.
  static SmallVector<int64_t> withoutPadding(ArrayRef<int64_t> padded, int64_t elements) {
    SmallVector<int64_t> lists(padded);
    lists.back() = elements / product(padded.drop_back());
    return lists;
  }

  static SmallVector<int64_t> stacked(int64_t trips, ArrayRef<int64_t> step) {
    SmallVector<int64_t> stack{trips};
    llvm::append_range(stack, step);
    return stack;
  }

  /// Reshapes a value to lists, and pads each of them with zeros.
  static Value pad(OpBuilder &b, Location loc, Value value, ArrayRef<int64_t> shape,
                   int64_t padded) {
    Value rows = Expr(b, loc, value).reshape(shape);
    SmallVector<int64_t> zeros(shape.size(), 0), high(zeros);
    high.back() = padded - shape.back();
    return PadOp::create(b, loc, rows, zeros, high, zeros, llvm::APFloat(0.0));
  }

  static Value unpad(OpBuilder &b, Location loc, Value rows, ArrayRef<int64_t> shape,
                     RankedTensorType type) {
    SmallVector<int64_t> starts(shape.size(), 0), strides(shape.size(), 1);
    Value cut = SliceOp::create(b, loc, rows, starts, shape, strides);
    return Expr(b, loc, cut).reshape(type.getShape());
  }

  void alignOperand(ScanOp scan, unsigned i, Value stack, RankedTensorType step, int64_t rowDim) {
    OpBuilder b(scan);
    Value &rows = paddedOf[stack];
    if (!rows)
      rows = pad(b, scan.getLoc(), stack, stacked(scan.getTrips(), listsOf(step, rowDim)),
                 paddedLists(step, rowDim).back());
    RankedTensorType padded = stepType(rows.getType());
    scan.getStacksMutable().slice(i, 1).assign(rows);
    BlockArgument argument = scan.getSteps()[i];
    b.setInsertionPointToStart(&scan.getBlock());
    argument.setType(padded);
    // Replaces uses before creating a new use.
    SmallVector<OpOperand *> uses(llvm::make_pointer_range(argument.getUses()));
    Value value = unpad(b, scan.getLoc(), argument,
                        withoutPadding(padded.getShape(), step.getNumElements()), step);
    for (OpOperand *use : uses)
      use->set(value);
  }

  void alignResults(ScanOp scan, ArrayRef<int64_t> ofRows) {
    Location loc = scan.getLoc();
    auto yield = cast<YieldOp>(scan.getBlock().getTerminator());
    OpBuilder b(yield);
    SmallVector<Type> types(scan.getResultTypes());
    for (unsigned i = scan.getCarriedCount(); i < types.size(); ++i) {
      RankedTensorType step = stepType(types[i]);
      if (isAligned(step))
        continue;
      int64_t rowDim = ofRows[i - scan.getCarriedCount()];
      Value row =
          pad(b, loc, yield.getOperand(i), listsOf(step, rowDim), paddedLists(step, rowDim).back());
      yield.setOperand(i, row);
      types[i] = stackType(cast<RankedTensorType>(row.getType()), scan.getTrips());
    }
    b.setInsertionPoint(scan);
    auto aligned =
        ScanOp::create(b, loc, types, scan.getTrips(), scan.getInitial(), scan.getStacks(),
                       scan.getInvariants(), scan.getReverse(), scan.getSaved());
    aligned.getBody().takeBody(scan.getBody());
    for (auto [from, to] : llvm::zip_equal(scan.getResults(), aligned.getResults())) {
      Value value = to;
      if (from.getType() != to.getType()) {
        // By steps, since a stack of no steps has no elements to count.
        auto lists = withoutPadding(stepType(to.getType()).getShape(),
                                    stepType(from.getType()).getNumElements());
        value = unpad(b, loc, to, stacked(scan.getTrips(), lists),
                      cast<RankedTensorType>(from.getType()));
        paddedOf[value] = to;
      }
      from.replaceAllUsesWith(value);
    }
    scan.erase();
  }

  /// By scan: the dims of the steps that it reads, and of those that it yields.
  llvm::DenseMap<Operation *, std::pair<RowDims, RowDims>> rowDims;
  llvm::DenseMap<Value, Value> paddedOf; ///< by stack: each stack is padded once
};

struct AlignSteps : impl::AlignStepsBase<AlignSteps> {
  void runOnOperation() override {
    for (auto function : functionsOf(getOperation())) {
      SmallVector<ScanOp> scans;
      function.walk<WalkOrder::PreOrder>([&](ScanOp scan) { scans.push_back(scan); });
      StepAligner aligner(StepRows(function, scans), scans);
      for (ScanOp scan : scans)
        aligner.align(scan);
    }
  }
};

} // namespace
} // namespace gradc
