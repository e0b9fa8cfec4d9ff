// Pads the steps of stacks: a padded step is a row of a matrix, its elements followed by zeros.
#include "dialects/grad/Build.h"
#include "dialects/grad/Control.h"
#include "passes/Passes.h"

using namespace mlir;
using namespace mlir::grad;

namespace gradc {
#define GEN_PASS_DEF_ALIGNSTEPS
#include "passes/Passes.h.inc"

namespace {

constexpr int64_t alignment = 64;

class StepAligner {
public:
  void align(ScanOp scan) {
    for (auto [i, stack] : llvm::enumerate(scan.getStacks()))
      if (RankedTensorType type = stepType(stack.getType());
          paddedSize(type) != type.getNumElements())
        alignOperand(scan, i, stack, type);
    bool isAligned = llvm::all_of(scan.getStackResults(), [](Value stack) {
      RankedTensorType type = stepType(stack.getType());
      return paddedSize(type) == type.getNumElements();
    });
    if (!isAligned)
      alignResults(scan);
  }

private:
  /// Elements of a step, including the padding of its last 64 bytes.
  static int64_t paddedSize(RankedTensorType step) {
    int64_t bytes = elementBytes(step.getElementType());
    return int64_t(llvm::alignTo(step.getNumElements() * bytes, alignment)) / bytes;
  }

  /// Pads rows of `size` elements with zeros to `padded` elements.
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

  void alignOperand(ScanOp scan, unsigned i, Value stack, RankedTensorType step) {
    OpBuilder b(scan);
    int64_t size = step.getNumElements(), padded = paddedSize(step), trips = scan.getTrips();
    Value &rows = paddedOf[stack];
    if (!rows)
      rows = pad(b, scan.getLoc(), stack, {trips, size}, padded);
    scan.getStacksMutable().slice(i, 1).assign(rows);
    BlockArgument argument = scan.getSteps()[i];
    b.setInsertionPointToStart(&scan.getBlock());
    argument.setType(step.clone({padded}));
    // Replaces uses before creating a new use.
    SmallVector<OpOperand *> uses(llvm::make_pointer_range(argument.getUses()));
    Value value = unpad(b, scan.getLoc(), argument, {size}, step);
    for (OpOperand *use : uses)
      use->set(value);
  }

  void alignResults(ScanOp scan) {
    Location loc = scan.getLoc();
    auto yield = cast<YieldOp>(scan.getBlock().getTerminator());
    OpBuilder b(yield);
    SmallVector<Type> types(scan.getResultTypes());
    for (unsigned i = scan.getCarriedCount(); i < types.size(); ++i) {
      RankedTensorType step = stepType(types[i]);
      if (paddedSize(step) == step.getNumElements())
        continue;
      Value row = pad(b, loc, yield.getOperand(i), {step.getNumElements()}, paddedSize(step));
      yield.setOperand(i, row);
      types[i] = stackType(row.getType(), scan.getTrips());
    }
    b.setInsertionPoint(scan);
    auto aligned =
        ScanOp::create(b, loc, types, scan.getTrips(), scan.getInitial(), scan.getStacks(),
                       scan.getInvariants(), scan.getReverse(), scan.getSaved());
    aligned.getBody().takeBody(scan.getBody());
    for (auto [from, to] : llvm::zip_equal(scan.getResults(), aligned.getResults())) {
      Value value = to;
      if (from.getType() != to.getType()) {
        auto type = cast<RankedTensorType>(from.getType());
        int64_t trips = scan.getTrips();
        value = unpad(b, loc, to, {trips, stepType(type).getNumElements()}, type);
        paddedOf[value] = to;
      }
      from.replaceAllUsesWith(value);
    }
    scan.erase();
  }

  llvm::DenseMap<Value, Value> paddedOf; ///< by stack: each stack is padded once
};

struct AlignSteps : impl::AlignStepsBase<AlignSteps> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      SmallVector<ScanOp> scans;
      function.walk<WalkOrder::PreOrder>([&](ScanOp scan) { scans.push_back(scan); });
      StepAligner aligner;
      for (ScanOp scan : scans)
        aligner.align(scan);
    }
  }
};

} // namespace
} // namespace gradc
