// Connectionist temporal classification: the forward variables of all alignments, in logarithms.
#include "dialects/Pch.h"

#include "compiler/import/objective/Loss.h"
#include "dialects/grad/control/Control.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

/// The logarithm of a probability of 0. It is finite, so that differences are never NaN.
static constexpr double nothing = -1e30;

namespace {
/// Rows of scores over steps, and the label sequence with a blank before, between, and after the
/// labels.
struct Alignment {
  Expr logits;  ///< [rows, steps, classes]
  Expr symbols; ///< i64 [rows, 2 labels + 1]

  int64_t rows() const { return logits.shape()[0]; }
  int64_t steps() const { return logits.shape()[1]; }
  int64_t size() const { return symbols.shape()[1]; }
};
} // namespace

/// `x` [rows, size] moved to the right, with `value` in the vacated places.
static Expr moved(Expr x, int64_t by, double value) {
  OpBuilder &b = x.getBuilder();
  Value head = x.slice(1, 0, x.shape()[1] - by);
  return x.with(PadOp::create(b, x.getLoc(), head, ArrayRef<int64_t>{0, by},
                              ArrayRef<int64_t>{0, 0}, ArrayRef<int64_t>{0, 0},
                              llvm::APFloat(value)));
}

static Expr withBlanks(Expr labels, int64_t blank) {
  OpBuilder &b = labels.getBuilder();
  int64_t rows = labels.shape()[0], size = labels.shape()[1];
  auto pad = [&](Expr x, ArrayRef<int64_t> low, ArrayRef<int64_t> high) {
    SmallVector<int64_t> interior(low.size(), 0);
    return x.with(
        PadOp::create(b, x.getLoc(), x, low, high, interior, llvm::APFloat(double(blank))));
  };
  Expr pairs = pad(labels.reshape({rows, size, 1}), {0, 0, 1}, {0, 0, 0});
  return pad(pairs.reshape({rows, 2 * size}), {0, 0}, {0, 1});
}

/// The log-probability of each symbol in each step, [steps, rows, symbols].
static Expr emissions(const Alignment &a) {
  OpBuilder &b = a.logits.getBuilder();
  Expr logs = a.logits.with(
      b.createOrFold<LogSoftmaxOp>(a.logits.getLoc(), a.logits, b.getI64IntegerAttr(2)));
  int64_t classes = a.logits.shape()[2];
  auto type = RankedTensorType::get({a.rows(), a.size(), classes}, b.getI64Type());
  Expr iota = logs.with(IotaOp::create(b, logs.getLoc(), type, 2));
  Expr isSymbol = iota.compare(ComparePredicate::eq, a.symbols.broadcast(type, {0, 1}));
  Expr picks = isSymbol.cast(logs.element());
  Expr picked =
      logs.with(b.createOrFold<MatmulOp>(logs.getLoc(), logs, picks, UnitAttr(), b.getUnitAttr()));
  return picked.transpose({1, 0, 2});
}

/// `nothing` for a symbol that must not follow the one two places before it: a blank or a repeated
/// label.
static Expr skipPenalties(const Alignment &a, int64_t blank, Type element) {
  Expr before = moved(a.symbols, 2, -1);
  Expr repeats =
      a.symbols.compare(ComparePredicate::eq, before)
          .apply<OrOp>(a.symbols.compare(ComparePredicate::eq, a.symbols.splat(double(blank))));
  return repeats.cast(element) * nothing;
}

static Expr logSum(ArrayRef<Expr> terms) {
  Expr most = terms[0];
  for (Expr term : terms.drop_front())
    most = most.apply<MaxOp>(term);
  Expr sum = (terms[0] - most).apply<ExpOp>();
  for (Expr term : terms.drop_front())
    sum = sum + (term - most).apply<ExpOp>();
  return most + sum.apply<LogOp>();
}

/// The forward variables after the last step, [rows, symbols]. `isActive` [steps, rows, symbols] is
/// false past a row's own end; null if all rows end with the last step.
static Expr lastAlphas(const Alignment &a, Expr scores, Expr penalties, Value isActive) {
  OpBuilder &b = scores.getBuilder();
  // The zeros depend on the rows of the run; a constant would have those of the largest batch.
  Expr zeros = zerosWithRowsOf(penalties);
  auto index = zeros.type().clone(b.getI64Type());
  Expr iota = zeros.with(IotaOp::create(b, scores.getLoc(), index, 1));
  Expr place = zeros + iota.cast(zeros.element());
  Expr isFirst = place.compare(ComparePredicate::eq, place.splat(0));
  Expr start = isFirst.select(penalties.splat(0), penalties.splat(nothing));
  ScanOperands operands{{start}, {scores}, {penalties}};
  if (isActive)
    operands.stacks.push_back(isActive);
  auto scan = buildScan(b, scores.getLoc(), a.steps(), /*isReverse=*/false, operands,
                        [&](OpBuilder &body, Block::BlockArgListType arguments) {
                          Expr alpha(body, scores.getLoc(), arguments[0]);
                          Expr skipped = moved(alpha, 2, nothing) + alpha.with(arguments.back());
                          Expr next = logSum({alpha, moved(alpha, 1, nothing), skipped}) +
                                      alpha.with(arguments[1]);
                          if (isActive)
                            next = alpha.with(arguments[2]).select(next, alpha);
                          return SmallVector<Value>{next};
                        });
  return scores.with(scan.getResult(0));
}

/// A field with one length per row, from 0 to `most`; null if the spec names none.
static FailureOr<Value> lengths(SpecValues &v, StringRef name, int64_t rows, int64_t most,
                                Location where) {
  if (name.empty())
    return Value();
  Type i64 = v.getBuilder().getI64Type();
  FailureOr<Value> argument = v.field(name, RankedTensorType::get({rows}, i64), name, where);
  if (failed(argument))
    return failure();
  auto found = cast<RankedTensorType>((*argument).getType());
  if (!isa<IntegerType>(found.getElementType()) || found.getNumElements() != rows)
    return emitError(where) << "expected one length a row, integers [" << rows
                            << "], found field \"" << name << "\", " << describe(found);
  Expr length = v.expr(*argument).cast(i64).reshape({rows});
  v.requireBelow(length, most + 1, "lengths of field " + name, where);
  return length.get();
}

FailureOr<ElementLosses> gradc::buildCtc(SpecValues &v, const spec::Ctc &loss, Location where) {
  // 1. Read scores, labels, and lengths.
  FailureOr<Value> scores = v.scores(loss.logits(), /*sigmoid=*/false, where);
  if (failed(scores) || failed(v.expectClasses(*scores, loss.logits(), where)))
    return failure();
  Expr x = v.expr(*scores);
  OpBuilder &b = v.getBuilder();
  if (x.type().getRank() != 3)
    return emitError(where) << "expected scores [batch, steps, classes], found \"" << loss.logits()
                            << "\", " << describe(x.type());
  int64_t rows = x.shape()[0], classes = x.shape()[2];
  if (loss.blank() >= classes)
    return emitError(where) << "expected blank to be one of " << classes << " classes, found "
                            << loss.blank();
  auto expected = RankedTensorType::get({rows, 1}, b.getI64Type());
  FailureOr<Value> labels = v.field(loss.labels(), expected, loss.labels(), where);
  if (failed(labels))
    return failure();
  auto found = cast<RankedTensorType>((*labels).getType());
  if (!isa<IntegerType>(found.getElementType()) || found.getRank() != 2)
    return emitError(where) << "expected labels as integers [" << rows
                            << ", labels], found field \"" << loss.labels() << "\", "
                            << describe(found);
  v.getEntry().setClasses(*labels, classes);
  int64_t most = found.getDimSize(1);
  FailureOr<Value> labelLengths = lengths(v, loss.label_lengths(), rows, most, where);
  FailureOr<Value> stepLengths = lengths(v, loss.logit_lengths(), rows, x.shape()[1], where);
  if (failed(labelLengths) || failed(stepLengths))
    return failure();

  // 2. Compute the forward variables.
  Alignment a{x, withBlanks(v.expr(*labels).cast(b.getI64Type()), loss.blank())};
  Value isActive;
  if (*stepLengths) {
    auto type = RankedTensorType::get({a.steps(), rows, a.size()}, b.getI64Type());
    Expr step = x.with(IotaOp::create(b, x.getLoc(), type, 0));
    isActive = step.compare(ComparePredicate::lt, x.with(*stepLengths).broadcast(type, {1}));
  }
  Expr alphas = lastAlphas(a, emissions(a), skipPenalties(a, loss.blank(), x.element()), isActive);

  // 3. Combine the paths that end with the last label or with the blank after it.
  auto type = alphas.type().clone(b.getI64Type());
  Expr place = x.with(IotaOp::create(b, x.getLoc(), type, 1));
  Expr length = *labelLengths
                    ? x.with(*labelLengths)
                    : x.with(splat(b, x.getLoc(), RankedTensorType::get({rows}, b.getI64Type()),
                                   double(most)));
  Expr end = (length + length).broadcast(type, {0});
  Expr isEnd = place.compare(ComparePredicate::eq, end)
                   .apply<OrOp>(place.compare(ComparePredicate::eq, end - 1.0));
  Expr ends = isEnd.select(alphas, alphas.splat(nothing));
  Expr highest = x.with(b.createOrFold<ReduceMaxOp>(x.getLoc(), ends, ArrayRef<int64_t>{1}));
  Expr total = (ends - highest.broadcast(ends.type(), {0})).apply<ExpOp>().sum({1});
  Expr losses = -(highest + total.apply<LogOp>());
  Expr isPossible = losses.compare(ComparePredicate::lt, losses.splat(-nothing / 2));
  losses = isPossible.select(losses, losses.splat(loss.zero_infinity() ? 0 : INFINITY));
  Expr count = length.apply<MaxOp>(length.splat(1)).cast(losses.element());
  return ElementLosses{losses / count, std::nullopt, *labels, {0}};
}
