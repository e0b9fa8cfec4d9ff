// Recognizes attention in products and softmaxes. It names the ops because it matches the forms
// that exporters and the import produce.
#include "dialects/exec/Level.h"
#include "dialects/grad/Build.h"
#include "dialects/grad/TensorTypes.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "passes/Passes.h"
#include "passes/entry/Extents.h"
#include "passes/entry/Functions.h"
#include "passes/raise/CausalMask.h"
#include "passes/raise/Match.h"
#include "passes/schedule/OneOpKernel.h"

using namespace mlir;
using namespace mlir::grad;

namespace gradc {
#define GEN_PASS_DEF_FORMATTENTION
#include "passes/Passes.h.inc"

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Returns x if `value` is x times a constant number, and multiplies `factor` by the number.
Value stripFactor(Value value, double &factor) {
  if (auto product = value.getDefiningOp<MulOp>())
    for (unsigned i : {0u, 1u})
      if (std::optional<double> number = numberOf(product->getOperand(1 - i))) {
        factor *= *number;
        return product->getOperand(i);
      }
  if (auto quotient = value.getDefiningOp<DivOp>())
    if (std::optional<double> number = numberOf(quotient->getOperand(1))) {
      factor /= *number;
      return quotient->getOperand(0);
    }
  return value;
}

/// The same, also if the factor comes before a reshape.
Value stripFactor(OpBuilder &b, Value value, double &factor) {
  auto reshape = value.getDefiningOp<ReshapeOp>();
  if (!reshape)
    return stripFactor(value, factor);
  Value operand = stripFactor(reshape.getOperand(), factor);
  if (operand == reshape.getOperand())
    return value;
  return Expr(b, value.getLoc(), operand).reshape(shapeOf(value)).get();
}

/// The tensor [B, G, ..] whose heads `value` repeats as [B, H, ..].
Value stripRepeatedHeads(Value value) {
  Value repeated = value;
  while (auto reshape = repeated.getDefiningOp<ReshapeOp>())
    repeated = reshape.getOperand();
  auto broadcast = repeated.getDefiningOp<BroadcastOp>();
  if (!broadcast || broadcast.getDims() != ArrayRef<int64_t>{0, 1, 3, 4})
    return value;
  ArrayRef<int64_t> wide = shapeOf(broadcast), all = shapeOf(value);
  bool merges = all.size() == 4 && all[0] == wide[0] && all[1] == wide[1] * wide[2] &&
                all.drop_front(2) == wide.drop_front(3);
  return merges ? broadcast.getOperand() : value;
}

/// The softmax's weights, or the op that replaces NaN weights by 0. PyTorch's exporters emit it for
/// queries that attend to no key; the attention op handles them itself.
Value skipNanGuard(Value weights) {
  if (!weights.hasNUses(3))
    return weights;
  for (Operation *user : weights.getUsers())
    if (auto select = dyn_cast<SelectOp>(user)) {
      auto isNan = ownedBy<CompareOp>(select.getCondition());
      if (isNan && isNan.getPredicate() == ComparePredicate::ne && isNan.getLhs() == weights &&
          isNan.getRhs() == weights && numberOf(select.getOnTrue()) == 0.0)
        return select.getResult();
    }
  return weights;
}

/// The operand of a reshape that keeps the last two dims; null for any other value.
Value mergedMatrices(Value v) {
  auto reshape = v.getDefiningOp<ReshapeOp>();
  return reshape && shapeOf(reshape.getOperand()).size() >= 2 &&
                 shapeOf(reshape.getOperand()).take_back(2) == shapeOf(v).take_back(2)
             ? reshape.getOperand()
             : Value();
}

/// `v`, with its last two dims swapped if `swaps`. An exporter's transpose is undone instead of
/// adding a second one, also if heads are merged with the batch.
Value arrange(OpBuilder &b, Value v, bool swaps) {
  ArrayRef<int64_t> shape = shapeOf(v);
  auto order = llvm::to_vector(llvm::seq<int64_t>(0, shape.size()));
  if (swaps)
    std::swap(order[order.size() - 1], order[order.size() - 2]);
  if (Value merged = mergedMatrices(v); swaps && merged) {
    Value swapped = arrange(b, merged, true);
    return Expr(b, v.getLoc(), swapped).reshape(applyPermutation(shape, order)).get();
  }
  if (auto transpose = v.getDefiningOp<TransposeOp>()) {
    v = transpose.getOperand();
    order = applyPermutation(transpose.getPermutation(), order);
  }
  return llvm::is_sorted(order) ? v : Expr(b, v.getLoc(), v).transpose(order).get();
}

/// Whether `arrange` would swap the last two dims by a change of a transpose, without a new one.
bool isTransposed(Value v) {
  if (Value merged = mergedMatrices(v))
    return isTransposed(merged);
  return bool(v.getDefiningOp<TransposeOp>());
}

/// The right operand of a product, and whether the product transposes it.
struct RightOperand {
  Value value;
  UnitAttr isTransposed;
};

/// `v`, the right operand of the product up to a factor, arranged to be transposed by it or not, as
/// `transposes` says. A value that is stored in the other form is kept, since its transpose would
/// be a copy.
RightOperand arrangeStored(OpBuilder &b, MatmulOp product, Value v, bool transposes) {
  bool swaps = product.getTransposeRhs() != transposes;
  if (swaps && !isTransposed(v))
    return {v, product.getTransposeRhsAttr()};
  return {arrange(b, v, swaps), transposes ? b.getUnitAttr() : UnitAttr()};
}

/// The match of one softmax and the ops around it.
class Match {
public:
  explicit Match(SoftmaxOp softmax) : softmax(softmax) {}

  /// Matches the product after the softmax, and the product of queries and keys before it. False:
  /// it is not an attention.
  bool find() {
    auto type = cast<RankedTensorType>(softmax.getType());
    rank = type.getRank();
    if ((rank != 3 && rank != 4) || int64_t(softmax.getDim()) != rank - 1 ||
        !isa<Float32Type, Float64Type>(type.getElementType()) || type.getNumElements() == 0)
      return false;
    Value scores = softmax.getOperand(), weights = skipNanGuard(softmax.getResult());
    if (!weights.hasOneUse())
      return false;
    stripGuard(scores, weights);
    if (!weights.hasOneUse())
      return false;
    if ((dropout = dyn_cast<DropoutOp>(*weights.user_begin()))) {
      weights = dropout;
      if (!weights.hasOneUse())
        return false;
    }
    if (auto rows = dyn_cast<ReshapeOp>(*weights.user_begin());
        rows && rows->hasOneUse() && joinsHeads(rows.getType(), weights.getType()))
      weights = rows;
    last = dyn_cast<MatmulOp>(*weights.user_begin());
    if (!last || last.getLhs() != weights || last.getTransposeLhs() || !findScores(scores))
      return false;
    // An attention has no dims of size 0.
    return !llvm::is_contained(shapeOf(first.getLhs()), 0) && !llvm::is_contained(shapeOf(last), 0);
  }

  /// Builds the attention's operands at `b`. False: one product joins heads that the other has each
  /// by itself, and an attention has as many heads of keys as of values.
  bool build(OpBuilder &b, CausalMasks &masks, SmallVectorImpl<Value> &factors) {
    Location loc = softmax.getLoc();
    Value query = arrange(b, stripFactor(b, first.getLhs(), scale), first.getTransposeLhs());
    if (rank == 4) {
      SmallVector<int64_t> separate(shapeOf(softmax.getResult()));
      separate[3] = shapeOf(query)[3];
      query = Expr(b, loc, query).reshape(separate);
    }
    Value key = arrange(b, stripFactor(b, first.getRhs(), scale), !first.getTransposeRhs());
    Value value = arrange(b, last.getRhs(), last.getTransposeRhs());
    Value fewerKeys = stripRepeatedHeads(key), fewerValues = stripRepeatedHeads(value);
    if (shapeOf(fewerKeys)[1] == shapeOf(fewerValues)[1])
      std::tie(key, value) = {fewerKeys, fewerValues};
    if (rank == 4 && shapeOf(key)[1] != shapeOf(value)[1])
      return false;
    for (Value v : {query, key, value})
      factors.push_back(withHeads(Expr(b, loc, v)));
    if (mask)
      readMask(b, masks);
    return true;
  }

  /// For an attention that stays in parts: its products read keys and values as they are, neither
  /// repeated for each query head nor scaled. With few queries, these copies would take longer than
  /// the products.
  void shareHeads() {
    if (rank != 4)
      return;
    OpBuilder b(first);
    double factor = 1;
    Value scaled = stripFactor(b, first.getRhs(), factor);
    RightOperand key = arrangeStored(b, first, scaled, /*transposes=*/true);
    Value fewer = stripRepeatedHeads(key.value);
    if (fewer != key.value || factor != 1) {
      Expr query(b, first.getLoc(), arrange(b, first.getLhs(), first.getTransposeLhs()));
      shareRhs(b, first, factor == 1 ? query : query * factor, fewer, key.isTransposed);
    }
    b.setInsertionPoint(last);
    RightOperand value = arrangeStored(b, last, last.getRhs(), /*transposes=*/false);
    fewer = stripRepeatedHeads(value.value);
    if (fewer != value.value)
      shareRhs(b, last, Expr(b, last.getLoc(), last.getLhs()), fewer, value.isTransposed);
  }

  /// Whether a query may see no key, and its hidden keys would share the weights: the attention op
  /// gives them none. Known after `build`.
  bool mayShareHiddenKeys() const { return needsVisibleKeys && causal.value_or(-1) < 0; }

  /// [B, H, T, S].
  Value withHeads(Expr x) const {
    if (rank == 4)
      return x;
    ArrayRef<int64_t> s = x.shape();
    return x.reshape({s[0], 1, s[1], s[2]});
  }

  SoftmaxOp softmax;
  MatmulOp first, last;
  DropoutOp dropout; ///< of the weights; null: none
  double scale = 1;
  Value mask; ///< null: no key is masked
  std::optional<int64_t> causal;

private:
  /// Replaces a product by that of `lhs` and `rhs`, which has as many heads or fewer. Rows of heads
  /// that share one are concatenated.
  static void shareRhs(OpBuilder &b, MatmulOp product, Expr lhs, Value rhs, UnitAttr transposeRhs) {
    ArrayRef<int64_t> rows = lhs.shape();
    int64_t heads = shapeOf(rhs)[1];
    Expr joined = lhs.reshape({rows[0], heads, rows[1] / heads * rows[2], rows[3]});
    Expr result = joined.with(
        b.createOrFold<MatmulOp>(product.getLoc(), joined, rhs, UnitAttr(), transposeRhs));
    product.replaceAllUsesWith(result.reshape(shapeOf(product.getResult())).get());
    product.erase();
  }

  /// Whether `rows` concatenates the rows of neighbouring heads: [B, G, .. T, S] for [B, H, T, S].
  /// These heads then share the other factor.
  static bool joinsHeads(Type rows, Type heads) {
    ArrayRef<int64_t> joined = cast<RankedTensorType>(rows).getShape(),
                      each = cast<RankedTensorType>(heads).getShape();
    return joined.size() == 4 && each.size() == 4 && joined[0] == each[0] && joined[3] == each[3] &&
           each[1] % joined[1] == 0 && joined[1] * joined[2] == each[1] * each[2];
  }

  /// The guard for queries that attend to no key: isEmpty ? 0 : softmax(isEmpty ? 0 : scores),
  /// where isEmpty compares the maximum of the scores with -inf. The attention op does the same.
  void stripGuard(Value &scores, Value &weights) {
    auto outer = dyn_cast<SelectOp>(*weights.user_begin());
    auto inner = ownedBy<SelectOp>(scores);
    if (!outer || !inner || outer.getCondition() != inner.getCondition() ||
        outer.getOnFalse() != weights || numberOf(outer.getOnTrue()) != 0.0 ||
        numberOf(inner.getOnTrue()) != 0.0)
      return;
    auto broadcast = inner.getCondition().getDefiningOp<BroadcastOp>();
    auto isEmpty = broadcast ? broadcast.getOperand().getDefiningOp<CompareOp>() : CompareOp();
    auto top = isEmpty ? isEmpty.getLhs().getDefiningOp<ReduceMaxOp>() : ReduceMaxOp();
    if (!top || isEmpty.getPredicate() != ComparePredicate::eq ||
        numberOf(isEmpty.getRhs()) != -infinity || top.getOperand() != inner.getOnFalse() ||
        top.getDims() != ArrayRef<int64_t>{rank - 1} || !top->hasOneUse())
      return;
    guarded = inner.getOnFalse();
    scores = guarded;
    weights = outer.getResult();
  }

  /// Whether the attention is the value's only reader.
  bool isOwned(Value value) const { return value.hasNUses(value == guarded ? 2 : 1); }

  /// Walks up from the softmax's operand: a mask, then a factor, then the product.
  bool findScores(Value scores) {
    if (!isOwned(scores))
      return false;
    if (auto select = scores.getDefiningOp<SelectOp>()) {
      std::optional<double> low = numberOf(select.getOnFalse());
      hidesOnTrue = !low;
      if (hidesOnTrue)
        low = numberOf(select.getOnTrue());
      if (!low || !(*low <= hidingTerm))
        return false;
      needsVisibleKeys = *low != -infinity;
      mask = select.getCondition();
      scores = hidesOnTrue ? select.getOnFalse() : select.getOnTrue();
    } else if (auto sum = scores.getDefiningOp<AddOp>()) {
      bool isSecond = isProduct(sum->getOperand(1));
      mask = sum->getOperand(isSecond ? 0 : 1);
      scores = sum->getOperand(isSecond ? 1 : 0);
      if (numberOf(mask) == 0.0)
        mask = Value(); // exporters also add masks that hide nothing
    }
    if (!isProduct(scores))
      return false;
    first = productOf(scores, scale);
    return !first.getWide() && !last.getWide();
  }

  /// The product that computes the value, possibly scaled by a number and with its heads split off.
  MatmulOp productOf(Value value, double &factor) const {
    Value product = stripFactor(value, factor);
    if (product != value && !product.hasOneUse())
      return {};
    auto heads = product.getDefiningOp<ReshapeOp>();
    if (heads && joinsHeads(heads.getOperand().getType(), heads.getType()))
      return ownedBy<MatmulOp>(heads.getOperand());
    return product.getDefiningOp<MatmulOp>();
  }
  bool isProduct(Value value) const {
    double factor = 1;
    return isOwned(value) && productOf(value, factor);
  }

  /// Drops the mask's repeated dims, and replaces a triangular mask by `causal`.
  void readMask(OpBuilder &b, CausalMasks &masks) {
    Expr values(b, softmax.getLoc(), mask);
    SmallVector<int64_t> shape(values.shape());
    if (auto broadcast = mask.getDefiningOp<BroadcastOp>();
        broadcast && llvm::is_contained(broadcast.getDims(), rank - 1)) {
      for (auto [d, size] : llvm::enumerate(shape))
        if (!llvm::is_contained(broadcast.getDims(), int64_t(d)))
          size = 1;
      values = values.with(broadcast.getOperand());
    }
    if (shape[rank - 2] > 1)
      causal = masks.offsetOf(values, hidesOnTrue);
    if (hidesOnTrue)
      values = values.apply<NotOp>();
    mask = causal ? Value() : withHeads(values.reshape(shape));
  }

  int64_t rank = 0;
  bool hidesOnTrue = false;      ///< a mask of bools is true for keys that are hidden
  bool needsVisibleKeys = false; ///< scores of hidden keys are a number, not -inf
  Value guarded;                 ///< scores that are also tested for queries that attend to no key
};

/// Whether `value` is computed from a parameter: it then has a gradient, which needs all scores.
bool dependsOnParameter(Value value) {
  SmallVector<Value> work{value};
  llvm::DenseSet<Operation *> seen;
  while (!work.empty()) {
    Operation *op = work.pop_back_val().getDefiningOp();
    if (!op || !seen.insert(op).second)
      continue;
    auto read = dyn_cast<ReadOp>(op);
    auto state =
        read ? SymbolTable::lookupNearestSymbolFrom<StateOp>(read, read.getStateAttr()) : StateOp();
    if (state && state.getKind() == StateKind::parameter)
      return true;
    llvm::append_range(work, op->getOperands());
  }
  return false;
}

/// 1. For each softmax along the last dim between two products, find queries, keys and values, the
///    factor and the mask. A mask that depends on a parameter is left alone.
/// 2. If a kernel computes the attention whole, and only its batch dim holds rows of the batch,
///    replace the ops by an attention. Otherwise let products on CPUs read each key head once.
struct FormAttention : impl::FormAttentionBase<FormAttention> {
  using FormAttentionBase::FormAttentionBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    for (auto function : functionsOf(module)) {
      if (function->hasAttr("grad.precision"))
        continue; // products in 16 bits are separate kernels
      SmallVector<SoftmaxOp> found(function.getOps<SoftmaxOp>());
      if (found.empty())
        continue;
      ExtentAnalysis extents = analyzeFunction(function);
      CausalMasks masks;
      for (SoftmaxOp softmax : found)
        form(softmax, extents, masks);
      for (Operation &op : llvm::make_early_inc_range(llvm::reverse(function.getBody().front())))
        if (isOpTriviallyDead(&op))
          op.erase();
    }
  }

private:
  /// Whether only the first dim may hold rows of the batch.
  static bool hasRowsOutermost(Value value, const ExtentAnalysis &extents) {
    const Extents *known = extents.find(value);
    return !known || llvm::none_of(ArrayRef(*known).drop_front(), [](int64_t e) { return e > 0; });
  }

  void form(SoftmaxOp softmax, const ExtentAnalysis &extents, CausalMasks &masks) {
    Match match(softmax);
    if (!match.find() || (match.mask && dependsOnParameter(match.mask)))
      return;
    for (Value v : {softmax.getResult(), match.last.getResult(), match.last.getRhs()})
      if (!hasRowsOutermost(v, extents))
        return;
    OpBuilder b(match.last);
    DropoutOp drops = match.dropout;
    SmallVector<Value> factors;
    if (!match.build(b, masks, factors) || match.mayShareHiddenKeys())
      return;
    auto attention = AttentionOp::create(
        b, b.getFusedLoc({match.first.getLoc(), softmax.getLoc(), match.last.getLoc()}), factors[0],
        factors[1], factors[2], match.mask, drops ? drops.getSeed() : Value(),
        drops ? drops.getStep() : Value(), b.getF64FloatAttr(match.scale),
        match.causal ? b.getI64IntegerAttr(*match.causal) : IntegerAttr(), DenseI64ArrayAttr(),
        drops ? drops.getStreamAttr() : IntegerAttr(), drops ? drops.getRatioAttr() : FloatAttr());
    if (!suitsOneOpKernel(attention, exec::kernelLimits(cuda))) {
      attention.erase();
      if (!cuda)
        match.shareHeads();
      return;
    }
    Expr result(b, attention.getLoc(), attention.getResult());
    match.last.replaceAllUsesWith(result.reshape(match.last.getType().getShape()).get());
    match.last.erase();
  }
};

} // namespace
} // namespace gradc
