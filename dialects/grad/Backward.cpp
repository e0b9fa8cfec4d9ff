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

namespace {
/// A gradient that is 0 but for pieces along one dim, each with its first position: that of slices.
struct Pieces {
  int64_t dim;
  SmallVector<std::pair<int64_t, Value>> pieces;

  int64_t sizeOf(Value piece) const {
    return cast<RankedTensorType>(piece.getType()).getDimSize(dim);
  }
};
} // namespace

/// The pieces between the zeros of a pad, or of a concatenation.
static std::optional<Pieces> piecesOf(Value gradient) {
  auto pad = gradient.getDefiningOp<PadOp>();
  Value inner = pad ? Value(pad.getOperand()) : gradient;
  auto joined = inner.getDefiningOp<ConcatenateOp>();
  std::optional<int64_t> dim = pad ? paddedDim(pad) : std::nullopt;
  if (!pad && joined)
    dim = int64_t(joined.getDim());
  if (!dim)
    return std::nullopt;
  SmallVector<Value> values{inner};
  if (joined && int64_t(joined.getDim()) == *dim && (!pad || inner.hasOneUse()))
    values.assign(joined->operand_begin(), joined->operand_end());
  Pieces result{*dim, {}};
  int64_t start = pad ? pad.getLow()[*dim] : 0;
  for (Value value : values) {
    if (result.sizeOf(value) > 0 && !matchPattern(value, m_AnyZeroFloat()))
      result.pieces.push_back({start, value});
    start += result.sizeOf(value);
  }
  return result;
}

/// The sum of the gradients of slices that do not overlap, which is a copy of one beside the other.
/// Null: they are no such gradients.
static Value joinSlices(OpBuilder &b, Value x, Value y) {
  std::optional<Pieces> all = piecesOf(x), others = piecesOf(y);
  if (!all || !others || all->dim != others->dim)
    return {};
  int64_t dim = all->dim;
  llvm::append_range(all->pieces, others->pieces);
  llvm::sort(all->pieces, llvm::less_first());
  int64_t end = 0;
  for (auto [start, piece] : all->pieces) {
    if (start < end)
      return {};
    end = start + all->sizeOf(piece);
  }
  if (all->pieces.empty())
    return {};
  auto type = cast<RankedTensorType>(x.getType());
  SmallVector<Value> values;
  int64_t begin = all->pieces.front().first;
  end = begin;
  for (auto [start, piece] : all->pieces) {
    SmallVector<int64_t> gap(type.getShape());
    gap[dim] = start - end;
    if (gap[dim] > 0)
      values.push_back(splat(b, y.getLoc(), type.clone(gap), 0));
    values.push_back(piece);
    end = start + all->sizeOf(piece);
  }
  Value joined = b.createOrFold<ConcatenateOp>(y.getLoc(), values, dim);
  if (joined.getType() == type)
    return joined;
  SmallVector<int64_t> low(type.getRank(), 0), high(low), interior(low);
  low[dim] = begin;
  high[dim] = type.getDimSize(dim) - end;
  return b.createOrFold<PadOp>(y.getLoc(), joined, low, high, interior, APFloat(0.0));
}

/// The terms of a sum of gradients that nothing reads yet.
static SmallVector<Value> termsOf(Value sum) {
  SmallVector<Value> terms, work{sum};
  while (!work.empty()) {
    Value value = work.pop_back_val();
    auto add = value.getDefiningOp<AddOp>();
    if (add && (value == sum ? add->use_empty() : add->hasOneUse()))
      work.append({add.getRhs(), add.getLhs()});
    else
      terms.push_back(value);
  }
  return terms;
}

/// `sum` + `gradient`. Of a sum of slices' gradients, those that do not overlap are joined.
static Value plus(OpBuilder &b, Value sum, Value gradient) {
  auto add = [&](Value x, Value y) { return b.createOrFold<AddOp>(gradient.getLoc(), x, y); };
  if (!piecesOf(gradient))
    return add(sum, gradient);
  SmallVector<Value> terms = termsOf(sum);
  for (size_t i = 0; i < terms.size(); ++i) {
    Value joined = joinSlices(b, terms[i], gradient);
    if (!joined)
      continue;
    terms.erase(terms.begin() + i);
    if (terms.empty())
      return joined;
    Value rest = terms.front();
    for (Value term : ArrayRef(terms).drop_front())
      rest = add(rest, term);
    return plus(b, rest, joined);
  }
  return add(sum, gradient);
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
