// The reverse walk, shared by the differentiate pass and by gradients through decomposition.
#include "dialects/grad/Backward.h"

#include "dialects/grad/Build.h"

using namespace mlir;
using namespace mlir::grad;

bool grad::isDifferentiable(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && isa<FloatType>(type.getElementType());
}

SmallVector<Operation *> grad::producersOf(Value value) {
  SmallVector<Operation *> ops;
  DenseSet<Operation *> seen;
  SmallVector<Value> work{value};
  while (!work.empty()) {
    Operation *op = work.pop_back_val().getDefiningOp();
    if (!op || op->getBlock() != value.getParentBlock() || !seen.insert(op).second)
      continue;
    ops.push_back(op);
    llvm::append_range(work, op->getOperands());
  }
  llvm::sort(ops, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return ops;
}

/// The dim along which `pad` puts zeros before or after its operand, if that is all it does.
static std::optional<int64_t> paddedDim(PadOp pad) {
  if (!pad || !pad.getValue().isZero() ||
      llvm::any_of(pad.getInterior(), [](int64_t n) { return n != 0; }))
    return std::nullopt;
  std::optional<int64_t> dim;
  for (auto [d, low, high] : llvm::enumerate(pad.getLow(), pad.getHigh())) {
    if (low + high == 0)
      continue;
    if (dim)
      return std::nullopt;
    dim = int64_t(d);
  }
  return dim;
}

/// The pieces that `value` is made of along `dim`.
static void appendPieces(Value value, int64_t dim, SmallVectorImpl<Value> &pieces) {
  auto joined = value.getDefiningOp<ConcatenateOp>();
  if (joined && joined.getDim() == uint64_t(dim) && value.hasOneUse())
    llvm::append_range(pieces, joined.getOperands());
  else
    pieces.push_back(value);
}

/// The sum of the gradients of two neighbouring slices, which is a copy of one beside the other.
/// Null: they are no such gradients.
static Value joinSlices(OpBuilder &b, Value x, Value y) {
  auto first = x.getDefiningOp<PadOp>(), second = y.getDefiningOp<PadOp>();
  std::optional<int64_t> dim = paddedDim(first);
  if (!dim || paddedDim(second) != dim)
    return {};
  if (first.getLow()[*dim] > second.getLow()[*dim])
    std::swap(first, second);
  if (first.getLow()[*dim] + first.getOperand().getType().getDimSize(*dim) != second.getLow()[*dim])
    return {};
  SmallVector<Value> pieces;
  appendPieces(first.getOperand(), *dim, pieces);
  appendPieces(second.getOperand(), *dim, pieces);
  Value joined = b.createOrFold<ConcatenateOp>(y.getLoc(), pieces, *dim);
  return joined.getType() == x.getType()
             ? joined
             : b.createOrFold<PadOp>(y.getLoc(), joined, first.getLow(), second.getHigh(),
                                     first.getInterior(), APFloat(0.0));
}

/// `sum` + `gradient`. Of a sum of slices' gradients, those that are neighbours are joined.
static Value plus(OpBuilder &b, Value sum, Value gradient) {
  if (Value joined = joinSlices(b, sum, gradient))
    return joined;
  if (auto terms = sum.getDefiningOp<AddOp>(); terms && terms->use_empty())
    for (auto [one, other] :
         {std::pair(terms.getLhs(), terms.getRhs()), {terms.getRhs(), terms.getLhs()}})
      if (Value joined = joinSlices(b, other, gradient))
        return plus(b, one, joined);
  return b.createOrFold<AddOp>(gradient.getLoc(), sum, gradient);
}

void Backward::add(OpBuilder &b, Value value, Value gradient) {
  assert(value.getType() == gradient.getType() && "a gradient has its value's type");
  Value &sum = gradients[value];
  sum = sum ? plus(b, sum, gradient) : gradient;
}

/// Hands the stage of `from` to the ops that `b` has built since `last`, the op in front of them.
static void passStage(Operation *from, OpBuilder &b, Operation *last) {
  Attribute stage = from->getAttr(stageName);
  if (!stage)
    return;
  Block *block = b.getInsertionBlock();
  auto op = last ? std::next(last->getIterator()) : block->begin();
  for (; op != b.getInsertionPoint(); ++op) {
    op->setAttr(stageName, stage);
    op->setAttr(backwardName, b.getUnitAttr());
  }
}

/// The op in front of the insertion point; null: there is none.
static Operation *lastOf(OpBuilder &b) {
  bool isFirst = b.getInsertionPoint() == b.getInsertionBlock()->begin();
  return isFirst ? nullptr : &*std::prev(b.getInsertionPoint());
}

void Backward::run(OpBuilder &b, ArrayRef<Operation *> ops, ValueRange targets) {
  DenseSet<Value> active(targets.begin(), targets.end());
  auto isActive = [&](Value v) { return isDifferentiable(v) && active.contains(v); };
  for (Operation *op : ops)
    if (llvm::any_of(op->getOperands(), isActive))
      active.insert(op->result_begin(), op->result_end());

  for (Operation *op : llvm::reverse(ops)) {
    if (llvm::none_of(op->getOperands(), isActive))
      continue;
    SmallVector<Value> arrived, sent(op->getNumOperands());
    for (Value result : op->getResults())
      arrived.push_back(lookup(result));
    if (llvm::none_of(arrived, [](Value v) { return bool(v); }))
      continue;
    Operation *last = lastOf(b);
    auto differentiable = dyn_cast<GradientOpInterface>(op);
    if (!differentiable || failed(differentiable.buildGradient(b, arrived, sent))) {
      missing.push_back(op);
      for (auto [to, operand] : llvm::zip_equal(sent, op->getOperands()))
        if (isActive(operand))
          to = splat(b, op->getLoc(), cast<RankedTensorType>(operand.getType()), 0);
    }
    for (auto [gradient, operand] : llvm::zip_equal(sent, op->getOperands()))
      if (gradient && isActive(operand))
        add(b, operand, gradient);
    passStage(op, b, last);
  }
}

LogicalResult grad::gradientByDecomposition(Operation *op, OpBuilder &b, ValueRange resultGradients,
                                            SmallVectorImpl<Value> &operandGradients) {
  Block *block = b.getInsertionBlock();
  auto end = b.getInsertionPoint();
  bool atBegin = end == block->begin();
  auto last = atBegin ? end : std::prev(end);
  SmallVector<Value> values = cast<DecomposeOpInterface>(op).decompose(b);
  SmallVector<Operation *> ops;
  for (Operation &primitive : llvm::make_range(atBegin ? block->begin() : std::next(last), end))
    ops.push_back(&primitive);

  Backward backward;
  for (auto [value, gradient] : llvm::zip_equal(values, resultGradients))
    if (gradient)
      backward.add(b, value, gradient);
  backward.run(b, ops, op->getOperands());
  if (!backward.getMissing().empty()) {
    while (b.getInsertionPoint() != (atBegin ? block->begin() : std::next(last)))
      std::prev(b.getInsertionPoint())->erase();
    return failure();
  }
  // An operand that is passed twice has one gradient; the caller adds up both contributions.
  SmallPtrSet<void *, 4> given;
  for (auto [i, operand] : llvm::enumerate(op->getOperands()))
    if (given.insert(operand.getAsOpaquePointer()).second)
      operandGradients[i] = backward.lookup(operand);
  return success();
}
