// Attention: constraints, and both ops as products around a softmax.
#include "dialects/grad/math/Attention.h"

#include "dialects/grad/Backward.h"
#include "dialects/grad/math/Random.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;
using namespace mlir::grad;

static constexpr double infinity = std::numeric_limits<double>::infinity();

// Sizes and constraints ---------------------------------------------------------------------------

int64_t grad::storedDim(ArrayRef<int64_t> order, int64_t dim) {
  return std::distance(order.begin(), llvm::find(order, dim));
}

static SmallVector<int64_t> orderOf(std::optional<ArrayRef<int64_t>> order) {
  return order ? SmallVector<int64_t>(*order) : SmallVector<int64_t>{0, 1, 2, 3};
}

/// The dims of a stored type as [batch, heads, positions, size].
static SmallVector<int64_t> logicalShape(Type type, ArrayRef<int64_t> order) {
  return applyPermutation(cast<RankedTensorType>(type).getShape(), invertPermutationVector(order));
}

AttentionSizes::AttentionSizes(const AttentionForm &form) {
  SmallVector<int64_t> query = logicalShape(form.query.getType(), form.order),
                       value = logicalShape(form.value.getType(), form.order);
  batch = query[0];
  heads = query[1];
  queries = query[2];
  size = query[3];
  keyHeads = value[1];
  keys = value[2];
  width = value[3];
  pairsOfHead = queries * keys;
  if (form.causal) {
    pairsOfHead = 0;
    for (int64_t t = 0; t < queries; ++t)
      pairsOfHead += std::clamp<int64_t>(t + 1 + *form.causal, 0, keys);
  }
}

/// C6.
template <typename Adaptor>
static LogicalResult checkDropout(std::optional<Location> loc, Adaptor op, double scores) {
  // Parsing infers types before the dictionary's attributes are set; verification infers again.
  if (!op.getProperties().scale)
    return success();
  Value seed = op.getSeed(), step = op.getStep();
  bool isGiven = bool(seed);
  if (bool(step) != isGiven || op.getStream().has_value() != isGiven ||
      op.getRatio().has_value() != isGiven)
    return emitOptionalError(
        loc, "expected seed, step, `stream` and `ratio` of a dropout together or none of them");
  if (!isGiven)
    return success();
  for (Value v : {seed, step})
    if (auto type = cast<RankedTensorType>(v.getType());
        type.getRank() != 0 || !type.getElementType().isInteger(32))
      return emitOptionalError(
          loc, "expected seed and step to be 32-bit integers of rank 0, found ", type);
  double ratio = op.getRatio()->convertToDouble();
  if (!(ratio >= 0 && ratio < 1))
    return emitOptionalError(loc, "expected ratio in [0, 1), found ", ratio);
  if (scores > 0x1p32)
    return emitOptionalError(loc, "expected at most 2^32 scores to drop of, found ", scores);
  return success();
}

/// C1 to C6; the types of attention's results.
template <typename Adaptor>
static LogicalResult inferAttention(std::optional<Location> loc, Adaptor op,
                                    SmallVectorImpl<Type> &types) {
  Value factors[] = {op.getQuery(), op.getKey(), op.getValue()}, mask = op.getMask();
  auto query = cast<RankedTensorType>(factors[0].getType());
  constexpr StringLiteral names[] = {"query", "key", "value"};
  for (auto [name, factor] : llvm::zip(names, factors)) {
    auto type = cast<RankedTensorType>(factor.getType());
    if (type.getRank() != 4 || type.getElementType() != query.getElementType())
      return emitOptionalError(loc, "expected a ", name, " of rank 4 and of ",
                               query.getElementType(), ", found ", type);
    if (type.getNumElements() == 0)
      return emitOptionalError(loc, "expected no dim of size 0, found ", name, " ", type);
  }
  SmallVector<int64_t> order = orderOf(op.getOrder());
  if (order.size() != 4 || !isPermutationVector(order))
    return emitOptionalError(loc, "expected `order` to be a permutation of 4 dims, found ",
                             formatDims(order));
  SmallVector<int64_t> q = logicalShape(query, order),
                       k = logicalShape(factors[1].getType(), order),
                       v = logicalShape(factors[2].getType(), order);
  if (q[0] != k[0] || q[0] != v[0])
    return emitOptionalError(loc, "expected query, key and value of one batch, found ", q[0], ", ",
                             k[0], " and ", v[0]);
  if (k[1] != v[1] || q[1] % k[1] != 0)
    return emitOptionalError(loc,
                             "expected as many heads of keys as of values, and a multiple of "
                             "them of queries, found ",
                             k[1], ", ", v[1], " and ", q[1]);
  if (q[3] != k[3] || k[2] != v[2])
    return emitOptionalError(loc,
                             "expected queries and keys of one size and as many keys as "
                             "values, found sizes ",
                             q[3], " and ", k[3], ", ", k[2], " keys and ", v[2], " values");
  if (mask) {
    auto type = cast<RankedTensorType>(mask.getType());
    Type element = type.getElementType();
    if (!element.isInteger(1) && element != query.getElementType())
      return emitOptionalError(loc, "expected a mask of bools or of ", query.getElementType(),
                               ", found ", type);
    SmallVector<int64_t> scores{q[0], q[1], q[2], k[2]};
    bool fits = type.getRank() == 4;
    if (fits)
      for (auto [d, size] : llvm::enumerate(logicalShape(type, order)))
        fits &= size == scores[d] || (size == 1 && d < 3);
    if (!fits)
      return emitOptionalError(loc, "expected the dims of a mask to be 1 or those of the scores ",
                               formatDims(scores), ", found ", type);
  }
  if (failed(checkDropout(loc, op, double(q[0]) * q[1] * q[2] * k[2])))
    return failure();
  for (int64_t last : {v[3], int64_t(2)})
    types.push_back(
        query.clone(applyPermutation(SmallVector<int64_t>{q[0], q[1], q[2], last}, order)));
  return success();
}

LogicalResult AttentionOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                                            Adaptor adaptor, SmallVectorImpl<Type> &types) {
  return inferAttention(loc, adaptor, types);
}

LogicalResult AttentionGradOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                                                Adaptor adaptor, SmallVectorImpl<Type> &types) {
  SmallVector<Type> forward;
  if (failed(inferAttention(loc, adaptor, forward)))
    return failure();
  if (adaptor.getResult().getType() != forward[0] ||
      adaptor.getGradient().getType() != forward[0] ||
      adaptor.getStatistic().getType() != forward[1])
    return emitOptionalError(loc, "expected a result, a statistic and a gradient of ", forward[0],
                             ", ", forward[1], " and ", forward[0], ", found ",
                             adaptor.getResult().getType(), ", ", adaptor.getStatistic().getType(),
                             " and ", adaptor.getGradient().getType());
  types.append(
      {adaptor.getQuery().getType(), adaptor.getKey().getType(), adaptor.getValue().getType()});
  return success();
}

template <typename Op>
static AttentionForm formOf(Op op, Value result, Value statistic, Value gradient) {
  AttentionForm form{op.getQuery(),  op.getKey(),
                     op.getValue(),  op.getMask(),
                     result,         statistic,
                     gradient,       op.getScale().convertToDouble(),
                     op.getCausal(), orderOf(op.getOrder()),
                     std::nullopt};
  if (op.getSeed())
    form.dropout = {op.getSeed(), op.getStep(), *op.getStream(), op.getRatio()->convertToDouble()};
  return form;
}
AttentionForm AttentionOp::getAttention() {
  return formOf(*this, getResult(), getStatistic(), Value());
}
AttentionForm AttentionGradOp::getAttention() {
  return formOf(*this, getResult(), getStatistic(), getGradient());
}

int64_t AttentionOp::getFlops() {
  AttentionSizes s(getAttention());
  return 2 * s.pairs() * (s.size + s.width);
}
int64_t AttentionGradOp::getFlops() {
  AttentionSizes s(getAttention());
  return 2 * s.pairs() * (3 * s.size + 2 * s.width);
}

/// The op over transposed operands: the same op with another `order`.
template <typename Op>
static Operation *permuted(Op op, OpBuilder &b, ValueRange operands,
                           ArrayRef<int64_t> permutation) {
  SmallVector<int64_t> order = applyPermutation(orderOf(op.getOrder()), permutation);
  NamedAttrList attributes(op->getAttrDictionary());
  attributes.set(op.getOrderAttrName(), b.getDenseI64ArrayAttr(order));
  return Op::create(b, op.getLoc(), operands, attributes.getAttrs());
}
Operation *AttentionOp::buildPermuted(OpBuilder &b, ValueRange operands,
                                      ArrayRef<int64_t> permutation) {
  return permuted(*this, b, operands, permutation);
}
Operation *AttentionGradOp::buildPermuted(OpBuilder &b, ValueRange operands,
                                          ArrayRef<int64_t> permutation) {
  return permuted(*this, b, operands, permutation);
}

// As primitives -----------------------------------------------------------------------------------

AttentionParts::AttentionParts(OpBuilder &builder, Location location, const AttentionForm &form)
    : builder(builder), location(location), form(form), sizes(form) {}

Expr AttentionParts::logical(Value value) const {
  return Expr(builder, location, value).transpose(invertPermutationVector(form.order));
}
Value AttentionParts::stored(Expr value) const { return value.transpose(form.order); }

Expr AttentionParts::byKeyHead(Expr lhs, Expr rhs, bool transposeRhs) const {
  ArrayRef<int64_t> s = lhs.shape();
  // The rows of the heads that share a key head are contiguous, so one product computes them.
  Expr rows = lhs.reshape({s[0], sizes.keyHeads, sizes.group() * s[2], s[3]});
  UnitAttr transposed = transposeRhs ? builder.getUnitAttr() : UnitAttr();
  Expr product =
      lhs.with(builder.createOrFold<MatmulOp>(location, rows, rhs, UnitAttr(), transposed));
  return product.reshape({s[0], s[1], s[2], product.shape()[3]});
}

Expr AttentionParts::overQueries(Expr lhs, Expr rhs) const {
  auto rows = [&](Expr x) {
    ArrayRef<int64_t> s = x.shape();
    return x.reshape({s[0], sizes.keyHeads, sizes.group() * s[2], s[3]});
  };
  return lhs.with(builder.createOrFold<MatmulOp>(location, rows(lhs), rows(rhs),
                                                 builder.getUnitAttr(), UnitAttr()));
}

Expr AttentionParts::visible(Expr scores) const {
  RankedTensorType type = scores.type().clone(builder.getI64Type());
  Expr query = scores.with(IotaOp::create(builder, location, type, 2));
  Expr key = scores.with(IotaOp::create(builder, location, type, 3));
  return (query + double(*form.causal)).compare(ComparePredicate::ge, key);
}

Expr AttentionParts::scores() const {
  Expr scores =
      byKeyHead(logical(form.query) * form.scale, logical(form.key), /*transposeRhs=*/true);
  Expr none = scores.splat(-infinity);
  if (form.mask) {
    Expr mask = logical(form.mask);
    SmallVector<int64_t> shape, dims;
    for (auto [d, size] : llvm::enumerate(mask.shape()))
      if (size == scores.shape()[d]) {
        shape.push_back(size);
        dims.push_back(int64_t(d));
      }
    Type element = mask.element();
    mask = mask.reshape(shape).broadcast(scores.type().clone(element), dims);
    scores = element.isInteger(1) ? mask.select(scores, none) : scores + mask;
  }
  return form.causal ? visible(scores).select(scores, none) : scores;
}

Expr AttentionParts::alongKeys(int64_t column) const {
  Expr statistic = logical(form.statistic);
  Expr rows = statistic.slice(3, column, 1).reshape(statistic.shape().drop_back());
  SmallVector<int64_t> all(rows.shape());
  all.push_back(sizes.keys);
  return rows.broadcast(rows.type().clone(all), {0, 1, 2});
}

Expr AttentionParts::probabilities() const {
  return (scores() - alongKeys(0)).apply<ExpOp>() * alongKeys(1);
}

Expr AttentionParts::dropped(Expr weights) const {
  if (!form.dropout)
    return weights;
  const auto &[seed, step, stream, ratio] = *form.dropout;
  return dropout(weights, seed, step, stream, ratio);
}

Expr AttentionParts::scoreGradients(Expr probabilities) const {
  Expr gradient = logical(form.gradient);
  Expr towards = dropped(byKeyHead(gradient, logical(form.value), /*transposeRhs=*/true));
  Expr mean = (gradient * logical(form.result)).sum({3});
  return probabilities * (towards - mean.broadcast(probabilities.type(), {0, 1, 2}));
}

SmallVector<Value> AttentionOp::decompose(OpBuilder &b) {
  AttentionForm form = getAttention();
  AttentionParts parts(b, getLoc(), form);
  Expr scores = parts.scores();
  Expr top = scores.with(b.createOrFold<ReduceMaxOp>(getLoc(), scores, ArrayRef<int64_t>{3}));
  Expr isEmpty = top.compare(ComparePredicate::eq, top.splat(-infinity));
  Expr shift = isEmpty.select(top.splat(0), top);
  Expr e = (scores - shift.broadcast(scores.type(), {0, 1, 2})).apply<ExpOp>();
  Expr sum = e.sum({3});
  Expr share = isEmpty.select(sum.splat(0), 1.0 / isEmpty.select(sum.splat(1), sum));
  Expr weights = parts.dropped(e * share.broadcast(scores.type(), {0, 1, 2}));
  Expr result = parts.byKeyHead(weights, parts.logical(getValue()), /*transposeRhs=*/false);
  SmallVector<int64_t> column(sum.shape());
  column.push_back(1);
  Value columns[] = {shift.reshape(column), share.reshape(column)};
  Expr statistic = sum.with(b.createOrFold<ConcatenateOp>(getLoc(), columns, 3));
  return {parts.stored(result), parts.stored(statistic)};
}

SmallVector<Value> AttentionGradOp::decompose(OpBuilder &b) {
  AttentionForm form = getAttention();
  AttentionParts parts(b, getLoc(), form);
  Expr p = parts.probabilities();
  Expr ds = parts.scoreGradients(p) * form.scale;
  Expr query = parts.byKeyHead(ds, parts.logical(getKey()), /*transposeRhs=*/false);
  return {parts.stored(query), parts.stored(parts.overQueries(ds, parts.logical(getQuery()))),
          parts.stored(parts.overQueries(parts.dropped(p), parts.logical(getGradient())))};
}

// Gradients ---------------------------------------------------------------------------------------

/// The gradient of a float mask: the scores' gradient, summed along the mask's dims of size 1.
static Value maskGradient(OpBuilder &b, AttentionGradOp op) {
  AttentionForm form = op.getAttention();
  AttentionParts parts(b, op.getLoc(), form);
  Expr gradient = parts.scoreGradients(parts.probabilities());
  SmallVector<int64_t> summed, shape(parts.logical(form.mask).shape());
  for (auto [d, size] : llvm::enumerate(shape))
    if (size != gradient.shape()[d])
      summed.push_back(int64_t(d));
  if (!summed.empty())
    gradient = gradient.sum(summed).reshape(shape);
  return parts.stored(gradient);
}

// The ops for the mask's gradient are dead, and erased, if it is not requested.
LogicalResult AttentionOp::buildGradient(OpBuilder &b, ValueRange resultGradients,
                                         SmallVectorImpl<Value> &operandGradients) {
  if (resultGradients[1]) // of the statistic, which is only used by second derivatives
    return gradientByDecomposition(*this, b, resultGradients, operandGradients);
  auto gradient = AttentionGradOp::create(
      b, getLoc(), getQuery(), getKey(), getValue(), getResult(), getStatistic(),
      resultGradients[0], getMask(), getSeed(), getStep(), getScaleAttr(), getCausalAttr(),
      getOrderAttr(), getStreamAttr(), getRatioAttr());
  llvm::copy(gradient.getResults(), operandGradients.begin());
  if (getMask() && isDifferentiable(getMask()))
    operandGradients[3] = maskGradient(b, gradient);
  return success();
}

LogicalResult AttentionGradOp::buildGradient(OpBuilder &b, ValueRange resultGradients,
                                             SmallVectorImpl<Value> &operandGradients) {
  return gradientByDecomposition(*this, b, resultGradients, operandGradients);
}
