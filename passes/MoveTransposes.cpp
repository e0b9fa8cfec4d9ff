// Moves transposes to where the fewest bytes are transposed.
#include "passes/Passes.h"
#include "passes/graph/Permuted.h"
#include "passes/graph/TransposedOperands.h"

#include "dialects/grad/Build.h"
#include "dialects/grad/Permute.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include <set>

namespace gradc {
#define GEN_PASS_DEF_MOVETRANSPOSES
#include "passes/Passes.h.inc"
} // namespace gradc

using namespace mlir;
using namespace mlir::grad;

using Permutation = SmallVector<int64_t>;

static bool isIdentity(ArrayRef<int64_t> permutation) { return llvm::is_sorted(permutation); }

/// Whether transposing the value folds: it is a splat or a small constant.
static bool folds(Value value) {
  DenseElementsAttr elements;
  if (!matchPattern(value, m_Constant()))
    return false;
  bool isSplat = matchPattern(value, m_Constant(&elements)) && elements.isSplat();
  return isSplat || bytesOf(value) <= foldLimitBytes;
}

static bool isContraction(Value value) {
  return bool(value.getDefiningOp<ContractionOpInterface>());
}

// Local rewrites ----------------------------------------------------------------------------------

namespace {

/// Replaces a transposed broadcast by a broadcast. Its operand is transposed if the dims would
/// otherwise not be increasing.
struct TransposeOfBroadcast : OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(TransposeOp op, PatternRewriter &rewriter) const override;
};

} // namespace

static Value transposed(OpBuilder &b, Location loc, Value value, ArrayRef<int64_t> permutation) {
  return b.createOrFold<TransposeOp>(loc, value, permutation);
}

/// `broadcast` with its result transposed.
static Value transposedBroadcast(OpBuilder &b, BroadcastOp broadcast,
                                 ArrayRef<int64_t> permutation) {
  Permutation dims = permuteDims(broadcast.getDims(), permutation);
  Permutation order = gradc::sortedOrder(dims);
  Value operand = transposed(b, broadcast.getLoc(), broadcast.getOperand(), order);
  llvm::sort(dims);
  RankedTensorType type = broadcast.getType();
  return BroadcastOp::create(b, broadcast.getLoc(),
                             type.clone(applyPermutation(type.getShape(), permutation)), operand,
                             dims);
}

LogicalResult TransposeOfBroadcast::matchAndRewrite(TransposeOp op,
                                                    PatternRewriter &rewriter) const {
  auto broadcast = op.getOperand().getDefiningOp<BroadcastOp>();
  if (!broadcast || bytesOf(broadcast.getOperand()) >= bytesOf(op))
    return failure();
  rewriter.replaceOp(op, transposedBroadcast(rewriter, broadcast, op.getPermutation()));
  return success();
}

// Areas -----------------------------------------------------------------------------------------

namespace {

/// Connected ops that can all work on tensors transposed by the same permutation.
class Area {
public:
  /// The area of all ops that can be reached from `seed`.
  Area(Operation *seed, ArrayRef<int64_t> permutation);

  ArrayRef<Operation *> getOps() const { return ops.getArrayRef(); }
  /// Whether permuting the area transposes fewer bytes, or equally many but more of the ops then
  /// directly follow a contraction and can become its epilogue.
  bool isWorthwhile() const;
  /// Replaces every op by one over transposed tensors.
  void permute() const;

private:
  bool isMember(Operation *op) const { return ops.contains(op); }
  static bool isScalar(Value value) {
    return cast<RankedTensorType>(value.getType()).getRank() == 0;
  }
  /// Results of the operands' rank come transposed, what a reduction leaves does not.
  bool isMoved(Value result) const {
    return cast<RankedTensorType>(result.getType()).getRank() == int64_t(permutation.size());
  }
  bool isInside(Value value) const {
    Operation *op = value.getDefiningOp();
    return op && isMember(op) && isMoved(value);
  }
  bool isUsedOutside(Value value) const {
    return llvm::any_of(value.getUsers(), [&](Operation *user) { return !isMember(user); });
  }
  /// The replacement of a transpose of a value that the area has transposed.
  Permutation afterArea(TransposeOp transpose) const {
    return applyPermutation(invertPermutationVector(permutation), transpose.getPermutation());
  }
  void weighEntry(Value value, int64_t &bytes, int64_t &epilogues) const;
  void weighExit(OpResult value, int64_t &bytes) const;
  Value enter(OpBuilder &b, Value value) const;
  void leave(OpBuilder &b, OpResult value, Value moved) const;

  Permutation permutation;
  llvm::SetVector<Operation *> ops;
};

} // namespace

Area::Area(Operation *seed, ArrayRef<int64_t> permutation) : permutation(permutation) {
  auto add = [&](Operation *op) {
    if (op && op->getBlock() == seed->getBlock() && gradc::canPermute(op, permutation))
      ops.insert(op);
  };
  add(seed);
  for (size_t i = 0; i < ops.size(); ++i) {
    for (Value operand : ops[i]->getOperands())
      if (Operation *op = operand.getDefiningOp(); op && isMoved(operand))
        add(op);
    for (OpResult result : ops[i]->getResults())
      if (isMoved(result))
        llvm::for_each(result.getUsers(), add);
  }
  auto sorted = ops.takeVector();
  llvm::sort(sorted, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  ops.insert(sorted.begin(), sorted.end());
}

/// Adds the change in transposed bytes and in epilogues if `value` enters the area transposed.
void Area::weighEntry(Value value, int64_t &bytes, int64_t &epilogues) const {
  if (folds(value) || isScalar(value))
    return;
  if (auto broadcast = value.getDefiningOp<BroadcastOp>()) {
    if (!llvm::is_sorted(permuteDims(broadcast.getDims(), permutation)))
      bytes += bytesOf(broadcast.getOperand());
    return;
  }
  auto transpose = value.getDefiningOp<TransposeOp>();
  if (!transpose) {
    bytes += bytesOf(value);
    epilogues -= isContraction(value);
    return;
  }
  if (isInside(transpose.getOperand())) { // the area also has the operand: the transpose stays
    bytes += isUsedOutside(value) ? bytesOf(value) : 0;
    return;
  }
  if (!isUsedOutside(value))
    bytes -= bytesOf(value);
  if (!isIdentity(applyPermutation(transpose.getPermutation(), permutation)))
    bytes += bytesOf(value);
  else
    epilogues += isContraction(transpose.getOperand());
}

/// The same for users of `value` outside the area.
void Area::weighExit(OpResult value, int64_t &bytes) const {
  if (!isMoved(value)) {
    if (!value.use_empty() && !gradc::restoredOrder(value, permutation).empty())
      bytes += bytesOf(value);
    return;
  }
  auto isMine = [&](Operation *user) { return isMember(user); };
  bool asItWas = false;
  for (Operation *user : value.getUsers()) {
    if (isMember(user))
      continue;
    auto transpose = dyn_cast<TransposeOp>(user);
    if (!transpose)
      asItWas = true;
    else if (isIdentity(afterArea(transpose)) && llvm::none_of(transpose->getUsers(), isMine))
      bytes -= bytesOf(value);
  }
  if (asItWas)
    bytes += bytesOf(value);
}

bool Area::isWorthwhile() const {
  int64_t bytes = 0, epilogues = 0;
  llvm::SetVector<Value> entering;
  for (Operation *op : ops) {
    for (Value operand : op->getOperands())
      if (!isInside(operand))
        entering.insert(operand);
    for (OpResult result : op->getResults())
      weighExit(result, bytes);
  }
  for (Value value : entering)
    weighEntry(value, bytes, epilogues);
  return bytes < 0 || (bytes == 0 && epilogues > 0);
}

Value Area::enter(OpBuilder &b, Value value) const {
  if (isScalar(value))
    return value;
  if (auto broadcast = value.getDefiningOp<BroadcastOp>())
    return transposedBroadcast(b, broadcast, permutation);
  auto transpose = value.getDefiningOp<TransposeOp>();
  if (!transpose)
    return transposed(b, value.getLoc(), value, permutation);
  return transposed(b, value.getLoc(), transpose.getOperand(),
                    applyPermutation(transpose.getPermutation(), permutation));
}

/// Replaces `value` with `moved` in its users outside the area.
void Area::leave(OpBuilder &b, OpResult value, Value moved) const {
  if (!isUsedOutside(value))
    return;
  Permutation back = invertPermutationVector(permutation);
  if (!isMoved(value))
    back = gradc::restoredOrder(value, permutation);
  else
    for (Operation *user : llvm::make_early_inc_range(value.getUsers()))
      if (auto transpose = dyn_cast<TransposeOp>(user)) {
        b.setInsertionPoint(transpose);
        Value direct = transposed(b, transpose.getLoc(), moved, afterArea(transpose));
        transpose.replaceAllUsesWith(direct);
        transpose.erase();
      }
  b.setInsertionPointAfterValue(moved);
  Value asItWas;
  for (OpOperand &use : llvm::make_early_inc_range(value.getUses())) {
    if (isMember(use.getOwner()))
      continue;
    if (!asItWas)
      asItWas = back.empty() ? moved : transposed(b, value.getLoc(), moved, back);
    use.set(asItWas);
  }
}

void Area::permute() const {
  IRMapping moved;
  for (Operation *op : ops) {
    OpBuilder b(op);
    SmallVector<Value> operands;
    for (Value operand : op->getOperands()) {
      if (!moved.contains(operand))
        moved.map(operand, enter(b, operand));
      operands.push_back(moved.lookup(operand));
    }
    Operation *permuted = gradc::buildPermuted(b, op, operands, permutation);
    for (auto [result, replacement] : llvm::zip_equal(op->getResults(), permuted->getResults())) {
      if (isMoved(result))
        moved.map(result, replacement);
      leave(b, result, replacement);
    }
  }
  for (Operation *op : llvm::reverse(ops))
    op->erase();
}

// The pass ----------------------------------------------------------------------------------------

namespace {

/// 1. Compose transposes, move them above broadcasts and into contractions.
/// 2. For every transpose and each adjacent op, find the area around that op that can work in the
///    order before (after) the transpose. If worthwhile, permute the area and start again.
/// The pass terminates, because every round reduces the transposed bytes, or keeps them and adds
/// epilogues.
struct MoveTransposes : gradc::impl::MoveTransposesBase<MoveTransposes> {
  void runOnOperation() override {
    RewritePatternSet local(&getContext());
    TransposeOp::getCanonicalizationPatterns(local, &getContext());
    local.add<TransposeOfBroadcast>(&getContext());
    gradc::populateReadTransposed(local);
    FrozenRewritePatternSet patterns(std::move(local));
    do {
      if (failed(applyPatternsGreedily(getOperation(), patterns)))
        return signalPassFailure();
    } while (turnOne());
  }

private:
  bool turnOne() {
    std::set<std::pair<Operation *, Permutation>> seen;
    auto tryArea = [&](Operation *seed, ArrayRef<int64_t> permutation) {
      if (!seed || seen.count({seed, Permutation(permutation)}))
        return false;
      Area area(seed, permutation);
      for (Operation *op : area.getOps())
        seen.insert({op, Permutation(permutation)});
      if (area.getOps().empty() || !area.isWorthwhile())
        return false;
      area.permute();
      return true;
    };
    WalkResult result = getOperation().walk([&](TransposeOp transpose) {
      Permutation back = invertPermutationVector(transpose.getPermutation());
      for (Operation *user : transpose->getUsers())
        if (tryArea(user, back))
          return WalkResult::interrupt();
      return tryArea(transpose.getOperand().getDefiningOp(), transpose.getPermutation())
                 ? WalkResult::interrupt()
                 : WalkResult::advance();
    });
    return result.wasInterrupted();
  }
};

} // namespace
