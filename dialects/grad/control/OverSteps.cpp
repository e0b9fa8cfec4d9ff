// Pointwise ops repeat invariant operands; contractions get one more letter; ops with dim
// attributes increment them by one.
#include "dialects/grad/control/OverSteps.h"

#include "dialects/grad/TensorTypes.h"
#include "dialects/grad/control/Control.h"
#include "dialects/grad/math/Contraction.h"

using namespace mlir;
using namespace mlir::grad;

#include "dialects/grad/OverStepsInterface.cpp.inc"

static RankedTensorType stacked(Value value, int64_t steps) {
  return stackType(value.getType(), steps);
}

/// Dims as numbered in the stack.
static SmallVector<int64_t> nextDims(ArrayRef<int64_t> dims) {
  return llvm::map_to_vector(dims, [](int64_t d) { return d + 1; });
}

static SmallVector<int64_t> withFirst(int64_t first, ArrayRef<int64_t> rest) {
  SmallVector<int64_t> all{first};
  llvm::append_range(all, rest);
  return all;
}

/// `value`, which is invariant, as a stack.
static Value repeat(OpBuilder &b, Location loc, Value value, int64_t steps) {
  auto dims = llvm::to_vector(llvm::seq<int64_t>(1, typeOf(value).getRank() + 1));
  return Expr(b, loc, value).broadcast(stacked(value, steps), dims);
}

// Contractions ------------------------------------------------------------------------------------

namespace {

/// The letters of a contraction as `grad.convolution` has them, and one for the steps.
class Letters {
public:
  explicit Letters(const ContractionLetters &letters)
      : lhs(rename(letters.lhs)), rhs(rename(letters.rhs)), result(rename(letters.result)) {}

  char step() const { return char('a' + names.size()); }

private:
  std::string rename(StringRef side) {
    std::string renamed;
    for (char c : side) {
      if (names.find(c) == std::string::npos)
        names += c;
      renamed += char('a' + names.find(c));
    }
    return renamed;
  }
  std::string names; // of a, b, ..

public:
  std::string lhs, rhs, result;
};

} // namespace

static Value contractAs(OpBuilder &b, Operation *op, Value lhs, Value rhs,
                        const std::string &dims) {
  return contract(b, op->getLoc(), lhs, rhs, dims, isWide(op));
}

/// The steps are one more row, column or batch dim.
static Value contractOverSteps(OpBuilder &b, ContractionOpInterface op, ValueRange operands,
                               const llvm::SmallBitVector &stacked) {
  Letters letters(op.getLetters());
  auto with = [&](bool isStack, StringRef side) {
    return isStack ? letters.step() + side.str() : side.str();
  };
  return contractAs(b, op, operands[0], operands[1],
                    with(stacked[0], letters.lhs) + "," + with(stacked[1], letters.rhs) + "->" +
                        with(true, letters.result));
}

Value grad::sumOverSteps(OpBuilder &b, Operation *op, Value lhs, Value rhs) {
  Letters letters(cast<ContractionOpInterface>(op).getLetters());
  return contractAs(b, op, lhs, rhs,
                    letters.step() + letters.lhs + "," + letters.step() + letters.rhs + "->" +
                        letters.result);
}

// Ops with dims of their own ----------------------------------------------------------------------

namespace {

template <typename Derived, typename Op>
struct Model : OverStepsOpInterface::ExternalModel<Derived, Op> {
  SmallVector<Value> buildOverSteps(Operation *op, OpBuilder &b, ValueRange operands,
                                    int64_t steps) const {
    return {Derived::build(b, cast<Op>(op), operands, steps)};
  }
};

struct BroadcastModel : Model<BroadcastModel, BroadcastOp> {
  static Value build(OpBuilder &b, BroadcastOp op, ValueRange operands, int64_t steps) {
    return BroadcastOp::create(b, op.getLoc(), stacked(op, steps), operands[0],
                               withFirst(0, nextDims(op.getDims())));
  }
};

struct TransposeModel : Model<TransposeModel, TransposeOp> {
  static Value build(OpBuilder &b, TransposeOp op, ValueRange operands, int64_t) {
    return TransposeOp::create(b, op.getLoc(), operands[0],
                               withFirst(0, nextDims(op.getPermutation())));
  }
};

struct ReshapeModel : Model<ReshapeModel, ReshapeOp> {
  static Value build(OpBuilder &b, ReshapeOp op, ValueRange operands, int64_t steps) {
    return ReshapeOp::create(b, op.getLoc(), stacked(op, steps), operands[0]);
  }
};

struct SliceModel : Model<SliceModel, SliceOp> {
  static Value build(OpBuilder &b, SliceOp op, ValueRange operands, int64_t steps) {
    return SliceOp::create(b, op.getLoc(), operands[0], withFirst(0, op.getStarts()),
                           withFirst(steps, op.getSizes()), withFirst(1, op.getStrides()));
  }
};

struct PadModel : Model<PadModel, PadOp> {
  static Value build(OpBuilder &b, PadOp op, ValueRange operands, int64_t) {
    return PadOp::create(b, op.getLoc(), operands[0], withFirst(0, op.getLow()),
                         withFirst(0, op.getHigh()), withFirst(0, op.getInterior()), op.getValue());
  }
};

struct ConcatenateModel : Model<ConcatenateModel, ConcatenateOp> {
  static Value build(OpBuilder &b, ConcatenateOp op, ValueRange operands, int64_t) {
    return ConcatenateOp::create(b, op.getLoc(), operands, op.getDim() + 1);
  }
};

template <typename Op> struct ReductionModel : Model<ReductionModel<Op>, Op> {
  static Value build(OpBuilder &b, Op op, ValueRange operands, int64_t) {
    return Op::create(b, op.getLoc(), operands[0], nextDims(op.getDims()));
  }
};

template <typename Op> struct AlongDimModel : Model<AlongDimModel<Op>, Op> {
  static Value build(OpBuilder &b, Op op, ValueRange operands, int64_t) {
    return Op::create(b, op.getLoc(), operands[0], op.getDim() + 1);
  }
};

struct ArgsortModel : Model<ArgsortModel, ArgsortOp> {
  static Value build(OpBuilder &b, ArgsortOp op, ValueRange operands, int64_t steps) {
    return ArgsortOp::create(b, op.getLoc(), stackType(op.getResult().getType(), steps),
                             operands[0], op.getDim() + 1, op.getDescending());
  }
};

struct CumulativeModel : Model<CumulativeModel, CumulativeOp> {
  static Value build(OpBuilder &b, CumulativeOp op, ValueRange operands, int64_t) {
    return CumulativeOp::create(b, op.getLoc(), operands[0], op.getKind(), op.getDim() + 1,
                                op.getExclusive(), op.getReverse());
  }
};

} // namespace

void grad::attachOverSteps(MLIRContext *context) {
  BroadcastOp::attachInterface<BroadcastModel>(*context);
  TransposeOp::attachInterface<TransposeModel>(*context);
  ReshapeOp::attachInterface<ReshapeModel>(*context);
  SliceOp::attachInterface<SliceModel>(*context);
  PadOp::attachInterface<PadModel>(*context);
  ConcatenateOp::attachInterface<ConcatenateModel>(*context);
  ReduceSumOp::attachInterface<ReductionModel<ReduceSumOp>>(*context);
  ReduceProdOp::attachInterface<ReductionModel<ReduceProdOp>>(*context);
  ReduceMaxOp::attachInterface<ReductionModel<ReduceMaxOp>>(*context);
  ReduceMinOp::attachInterface<ReductionModel<ReduceMinOp>>(*context);
  ReduceMeanOp::attachInterface<ReductionModel<ReduceMeanOp>>(*context);
  ArgmaxOp::attachInterface<AlongDimModel<ArgmaxOp>>(*context);
  ArgsortOp::attachInterface<ArgsortModel>(*context);
  CumulativeOp::attachInterface<CumulativeModel>(*context);
  SoftmaxOp::attachInterface<AlongDimModel<SoftmaxOp>>(*context);
  LogSoftmaxOp::attachInterface<AlongDimModel<LogSoftmaxOp>>(*context);
}

// All ops -----------------------------------------------------------------------------------------

bool grad::canRunOverSteps(Operation *op, const llvm::SmallBitVector &stacked) {
  if (auto contraction = dyn_cast<ContractionOpInterface>(op))
    return !contraction.getLetters().window;
  return op->hasTrait<grad::Pointwise>() || isa<OverStepsOpInterface>(op);
}

SmallVector<Value> grad::buildOverSteps(OpBuilder &b, Operation *op, ValueRange operands,
                                        const llvm::SmallBitVector &stacked, int64_t steps) {
  if (auto contraction = dyn_cast<ContractionOpInterface>(op))
    return {contractOverSteps(b, contraction, operands, stacked)};
  SmallVector<Value> stacks;
  for (auto [i, operand] : llvm::enumerate(operands))
    stacks.push_back(stacked[i] ? operand : repeat(b, op->getLoc(), operand, steps));
  if (auto own = dyn_cast<OverStepsOpInterface>(op))
    return own.buildOverSteps(b, stacks, steps);
  Operation *all = b.clone(*op);
  all->setOperands(stacks);
  for (Value result : all->getResults())
    result.setType(::stacked(result, steps));
  return llvm::to_vector_of<Value>(all->getResults());
}
