// ONNX Runtime's operators that normalize a sum over its last dim: of two tensors, or of
// embeddings.
#include "dialects/Pch.h"

#include "compiler/import/onnx/ops/Indices.h"
#include "compiler/import/onnx/ops/Norm.h"
#include "compiler/import/onnx/ops/quantization/Quantization.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

/// Operand `i`, which has one number for each element of the last dim of operand `like`, for each
/// row of `x`, which has that last dim, too.
static FailureOr<Expr> alongLast(Node &n, unsigned i, unsigned like, Expr x) {
  if (failed(n.expectSameElement(like, i)))
    return failure();
  if (n.rank(i) != 1 || n.shape(i)[0] != x.shape().back())
    return n.error() << "expected " << x.shape().back() << " elements, as the last dim of "
                     << n.describeOperand(like) << " has, found " << n.describeOperand(i);
  return n.expr(n.broadcast(n.operand(i), x.shape()));
}

/// ONNX Runtime's layer normalization of a sum of operands 0 and 1, and operand `bias` if there is
/// one; `isSimple`: without a mean and without operand 3, what is added afterwards.
template <bool isSimple> static LogicalResult importSkipNormalization(Node &n) {
  constexpr unsigned bias = isSimple ? 3 : 4, sumResult = 3;
  double epsilon = n.real("epsilon", 1e-12f);
  if (failed(n.expect(0, Kind::Float)) || failed(n.expectSameElement(0, 1)))
    return failure();
  auto common = broadcastShape(n.shape(0), n.shape(1));
  if (n.rank(0) < 1 || !common || *common != n.shape(0) || n.shape(0).back() == 0 ||
      !(epsilon >= 0))
    return n.error() << "expected a tensor that broadcasts to " << n.describeOperand(0)
                     << ", found " << n.describeOperand(1) << ", and an epsilon of at least 0";
  Expr sum = n.expr(0u) + n.expr(n.broadcast(n.operand(1), n.shape(0)));
  if (n.operand(bias)) {
    FailureOr<Expr> added = alongLast(n, bias, 0, sum);
    if (failed(added))
      return failure();
    sum = sum + *added;
  }
  if (n.wants(sumResult))
    (void)n.set(sumResult, sum);
  int64_t last = n.rank(0) - 1;
  Expr x = sum.wide();
  if (isSimple) {
    Expr mean = x.with(n.builder().createOrFold<ReduceMeanOp>(n.loc(), x * x, ArrayRef({last})));
    x = x * (mean + epsilon).apply<RsqrtOp>().broadcast(x.type(), otherDims(n.rank(0), {last}));
  } else {
    auto normalized = normalize(n, x, {last}, epsilon);
    if (failed(normalized))
      return failure();
    x = normalized->result;
  }
  FailureOr<Expr> scale = alongLast(n, 2, 0, sum);
  if (failed(scale))
    return failure();
  Expr y = x.cast(n.element(0)) * *scale;
  if (!isSimple && n.operand(3)) {
    FailureOr<Expr> added = alongLast(n, 3, 0, sum);
    if (failed(added))
      return failure();
    y = y + *added;
  }
  return n.set(y);
}

namespace {
/// Operands of EmbedLayerNormalization; segments and their table may both be missing. Instead of
/// positions, QEmbedLayerNormalization has a scale and a zero point for each table, for `scale` and
/// for `shift`.
enum Operand : unsigned {
  ids,
  segments,
  wordTable,
  positionTable,
  segmentTable,
  scale,
  shift,
  mask,
  positions,
  operandsTaken
};

/// The scale of a table, `scale` or `shift` in QEmbedLayerNormalization, and its zero point.
constexpr unsigned codedOperandsTaken = 18;
unsigned scaleOf(unsigned i) { return i + 6; }
unsigned zeroPointOf(unsigned i) { return i + 11; }
} // namespace

/// Converts elements that were picked from operand `i` to floats, if they are codes.
static FailureOr<Expr> decoded(Node &n, unsigned i, FailureOr<Expr> picked, bool areCodes) {
  if (!areCodes || failed(picked))
    return picked;
  Expr zero = n.expr(zeroPointOf(i)).reshape({}).cast(n.builder().getI32Type());
  Expr x = picked->cast(zero.element());
  Expr step = n.expr(scaleOf(i)).reshape({});
  x = (x - zero.broadcastScalar(x.type())).cast(step.element());
  return x * step.broadcastScalar(x.type());
}

static LogicalResult expectCodes(Node &n, unsigned i) {
  for (unsigned operand : {scaleOf(i), zeroPointOf(i)})
    if (!n.operand(operand))
      return n.error() << "operand " << operand << " is missing";
    else if (n.type(operand).getNumElements() != 1)
      return n.error() << "expected one number as scale and zero point, found "
                       << n.describeOperand(operand);
  if (failed(expectQuantized(n, {i, scaleOf(i), zeroPointOf(i)})))
    return failure();
  return n.expectSameElement(scaleOf(wordTable), scaleOf(i));
}

static LogicalResult expectTables(Node &n, bool areCodes) {
  for (unsigned i : {wordTable, positionTable, scale, shift})
    if (!n.operand(i))
      return n.error() << "operand " << i << " is missing";
  for (unsigned i : {wordTable, positionTable, segmentTable, scale, shift})
    if (areCodes && n.operand(i) && failed(expectCodes(n, i)))
      return failure();
  if (bool(n.operand(segments)) != bool(n.operand(segmentTable)))
    return n.error() << "expected segments and a table for them, found one of them";
  if (failed(n.expectRank(ids, 2)))
    return failure();
  for (unsigned i : {wordTable, positionTable, segmentTable}) {
    if (!n.operand(i))
      continue;
    if ((!areCodes && failed(n.expect(i, Kind::Float))) ||
        failed(n.expectSameElement(wordTable, i)) || failed(n.expectRank(i, 2)))
      return failure();
    if (n.shape(i)[1] != n.shape(wordTable)[1])
      return n.error() << "expected tables of " << n.shape(wordTable)[1] << " columns, found "
                       << n.describeOperand(i);
  }
  return success();
}

/// The rows of operand `table` that operand `chosen`, [batch, positions], chooses.
static FailureOr<Expr> pickRows(Node &n, unsigned table, unsigned chosen) {
  if (failed(n.expect(chosen, Kind::Int)))
    return failure();
  auto common = broadcastShape(n.shape(chosen), n.shape(ids));
  if (!common || *common != n.shape(ids))
    return n.error() << "expected integers like " << n.describeOperand(ids) << ", found "
                     << n.describeOperand(chosen);
  Expr rows = n.expr(n.broadcast(n.operand(chosen), n.shape(ids))).cast(n.builder().getI64Type());
  if (failed(expectInRange(n, rows, n.shape(table)[0], n.describeOperand(table))))
    return failure();
  return rows.with(n.builder().createOrFold<GatherOp>(
      n.loc(), n.operand(table), rows.get(), ArrayRef<int64_t>{-1, 2}, ArrayRef<int64_t>{0, 1}));
}

/// The first rows of the table of positions, for each row of the batch.
static FailureOr<Expr> firstPositions(Node &n) {
  int64_t count = n.shape(ids)[1], columns = n.shape(wordTable)[1];
  if (n.shape(positionTable)[0] < count)
    return n.error() << "expected at least " << count << " positions, found "
                     << n.describeOperand(positionTable);
  auto type = RankedTensorType::get({n.shape(ids)[0], count, columns}, n.element(positionTable));
  return n.expr(positionTable).slice(0, 0, count).broadcast(type, {1, 2});
}

/// The layer normalization of a sum of embeddings of words, positions and segments. Result 1 is the
/// number of ones in each row of the mask.
template <bool areCodes> static LogicalResult importEmbedLayerNormalization(Node &n) {
  double epsilon = n.real("epsilon", 1e-12f);
  n.ignore("mask_index_type"); // which is for ONNX Runtime's inference of shapes
  if (failed(expectTables(n, areCodes)))
    return failure();
  FailureOr<Expr> words = decoded(n, wordTable, pickRows(n, wordTable, ids), areCodes);
  FailureOr<Expr> places = decoded(
      n, positionTable,
      !areCodes && n.operand(positions) ? pickRows(n, positionTable, positions) : firstPositions(n),
      areCodes);
  if (failed(words) || failed(places))
    return failure();
  Expr sum = *words + *places;
  if (n.operand(segments)) {
    FailureOr<Expr> parts = decoded(n, segmentTable, pickRows(n, segmentTable, segments), areCodes);
    if (failed(parts))
      return failure();
    sum = sum + *parts;
  }
  auto normalized = normalize(n, sum.wide(), {2}, epsilon);
  FailureOr<Expr> factor = decoded(n, scale, alongLast(n, scale, wordTable, sum), areCodes),
                  added = decoded(n, shift, alongLast(n, shift, wordTable, sum), areCodes);
  if (failed(normalized) || failed(factor) || failed(added))
    return failure();
  if (n.wants(1)) {
    Type i32 = n.builder().getI32Type();
    Expr ones =
        n.expr(splat(n.builder(), n.loc(), RankedTensorType::get({n.shape(ids)[0]}, i32), 0));
    if (n.operand(mask)) {
      if (failed(n.expect(mask, Kind::Int)))
        return failure();
      if (n.shape(mask) != n.shape(ids))
        return n.error() << "expected a mask like " << n.describeOperand(ids) << ", found "
                         << n.describeOperand(mask);
      Expr given = n.expr(mask);
      ones = given.compare(ComparePredicate::eq, given.splat(1)).cast(i32).sum({1});
    }
    (void)n.set(1, ones);
  }
  if (n.wants(2))
    (void)n.set(2, sum);
  return n.set(normalized->result.cast(sum.element()) * *factor + *added);
}

void gradc::addSumNormalizationOps(OpTable &ops) {
  ops["com.microsoft::SkipLayerNormalization"] = {importSkipNormalization<false>, 3, 5};
  ops["com.microsoft::SkipSimplifiedLayerNormalization"] = {importSkipNormalization<true>, 3, 4};
  ops["com.microsoft::EmbedLayerNormalization"] = {importEmbedLayerNormalization<false>, 1,
                                                   operandsTaken};
  ops["com.microsoft::QEmbedLayerNormalization"] = {importEmbedLayerNormalization<true>, 1,
                                                    codedOperandsTaken};
}
