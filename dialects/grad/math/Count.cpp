// Counts become constants if the size is known; else grad.count, which gradc-bind-rows resolves.
#include "dialects/grad/math/Count.h"
#include "dialects/grad/EntryAttributes.h"

using namespace mlir;
using namespace mlir::grad;

Expr grad::overCount(Expr x, Value counted, ArrayRef<int64_t> dims, double factor) {
  auto type = cast<RankedTensorType>(counted.getType());
  Type element = x.element();
  x = x.wide();
  if (!mayHoldBatch(x.getBuilder(), type, dims)) {
    double count = 1;
    for (int64_t d : dims)
      count *= double(type.getDimSize(d));
    return (x * (factor / count)).cast(element);
  }
  Expr count = x.with(CountOp::create(x.getBuilder(), x.getLoc(), counted, dims, IntegerAttr()));
  return (x * (factor / count).cast(x.element()).broadcastScalar(x.type())).cast(element);
}

/// The count of the mean whose gradient a broadcast repeats, as `overCount` divides by it; null:
/// it repeats something else.
static CountOp countOfMean(BroadcastOp repeated) {
  auto skip = [](Value v) {
    while (isa_and_present<CastOp, BroadcastOp>(v.getDefiningOp()))
      v = v.getDefiningOp()->getOperand(0);
    return v;
  };
  auto product = skip(repeated.getOperand()).getDefiningOp<MulOp>();
  CountOp count;
  for (Value factor : product ? product->getOperands() : ValueRange())
    if (auto inverse = skip(factor).getDefiningOp<DivOp>())
      if (auto found = inverse.getRhs().getDefiningOp<CountOp>())
        count = found;
  if (!count)
    return {};
  auto counted = cast<RankedTensorType>(count.getOperand().getType());
  RankedTensorType type = repeated.getType();
  bool isOfMean = counted.getShape() == type.getShape() &&
                  count.getDims() == ArrayRef(otherDims(type.getRank(), repeated.getDims()));
  return isOfMean ? count : CountOp();
}

/// The dims of `to` that hold the same elements as these of `from`, if the two differ in dims of 1
/// alone.
static std::optional<SmallVector<int64_t>>
withoutUnits(ArrayRef<int64_t> dims, ArrayRef<int64_t> from, ArrayRef<int64_t> to) {
  auto wide = [](ArrayRef<int64_t> shape) {
    SmallVector<int64_t> found;
    for (auto [d, size] : llvm::enumerate(shape))
      if (size != 1)
        found.push_back(int64_t(d));
    return found;
  };
  SmallVector<int64_t> ours = wide(from), theirs = wide(to), same;
  bool areEqual =
      ours.size() == theirs.size() && llvm::all_of(llvm::zip(ours, theirs), [&](auto pair) {
        return from[std::get<0>(pair)] == to[std::get<1>(pair)];
      });
  if (!areEqual)
    return std::nullopt;
  for (auto [mine, other] : llvm::zip(ours, theirs))
    if (llvm::is_contained(dims, mine))
      same.push_back(other);
  return same;
}

std::optional<Expr> grad::sumOfRepeats(Expr x, ArrayRef<int64_t> dims) {
  Operation *op = x.get().getDefiningOp();
  if (dims.empty())
    return std::nullopt;
  RankedTensorType type = x.type();
  SmallVector<int64_t> left = otherDims(type.getRank(), dims);
  auto shape = llvm::map_to_vector(left, [&](int64_t d) { return type.getDimSize(d); });
  if (isa_and_present<AddOp, SubOp>(op)) {
    std::optional<Expr> a = sumOfRepeats(x.with(op->getOperand(0)), dims);
    std::optional<Expr> b = a ? sumOfRepeats(x.with(op->getOperand(1)), dims) : std::nullopt;
    if (!b)
      return std::nullopt;
    return isa<AddOp>(op) ? *a + *b : *a - *b;
  }
  if (auto reshape = dyn_cast_if_present<ReshapeOp>(op)) {
    Expr inner = x.with(reshape.getOperand());
    auto same = withoutUnits(dims, type.getShape(), inner.shape());
    std::optional<Expr> sum = same ? sumOfRepeats(inner, *same) : std::nullopt;
    return sum ? std::optional(sum->reshape(shape)) : std::nullopt;
  }
  auto repeated = dyn_cast_if_present<BroadcastOp>(op);
  CountOp mean = repeated ? countOfMean(repeated) : CountOp();
  if (!mean ||
      llvm::any_of(dims, [&](int64_t d) { return llvm::is_contained(repeated.getDims(), d); }))
    return std::nullopt;
  Expr one = x.with(repeated.getOperand()).wide();
  Expr count =
      x.with(CountOp::create(x.getBuilder(), x.getLoc(), mean.getOperand(), dims, IntegerAttr()));
  Expr sum = (one * count.cast(one.element()).broadcastScalar(one.type())).cast(x.element());
  auto kept = llvm::map_to_vector(
      repeated.getDims(), [&](int64_t d) { return int64_t(llvm::find(left, d) - left.begin()); });
  return sum.broadcast(type.clone(shape), kept);
}

bool grad::isCountOfRun(Operation *op) {
  auto type = op->getNumResults() == 1 ? dyn_cast<RankedTensorType>(op->getResult(0).getType())
                                       : RankedTensorType();
  if (!type || type.getRank() != 0 || !op->hasTrait<Pointwise>() || op->getNumOperands() == 0)
    return false;
  return llvm::all_of(op->getOperands(), [](Value v) {
    if (Operation *producer = v.getDefiningOp())
      return matchPattern(producer, m_Constant()) || isCountOfRun(producer);
    auto argument = cast<BlockArgument>(v);
    auto function = dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp());
    auto role = function ? function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), roleName)
                         : StringAttr();
    return role && role.getValue() == "rows";
  });
}
