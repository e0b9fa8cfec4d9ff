// Distance losses: prediction errors, distances between vectors, triplets.
#include "dialects/Pch.h"

#include "compiler/import/objective/Loss.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

/// d^2 / 2 up to |d| = delta, linear above it.
static Expr huber(Expr difference, double delta) {
  Expr size = difference.apply<AbsOp>();
  Expr isSmall = size.compare(ComparePredicate::le, size.splat(delta));
  return isSmall.select(difference * difference * 0.5, (size - delta / 2) * delta);
}

FailureOr<ElementLosses> gradc::buildError(SpecValues &v, const spec::Loss &loss, Location where) {
  auto build = [&](const auto &names, auto error) -> FailureOr<ElementLosses> {
    FailureOr<Value> x = v.output(names.predictions(), where);
    FailureOr<Expr> y =
        failed(x) ? FailureOr<Expr>() : v.targets(names.targets(), *x, names.predictions(), where);
    if (failed(y))
      return failure();
    Value field = v.argument(names.targets());
    return ElementLosses{error(v.expr(*x), *y), std::nullopt, field,
                         leadingDims(cast<RankedTensorType>(field.getType()).getRank())};
  };
  if (loss.has_mean_squared_error())
    return build(loss.mean_squared_error(),
                 [](Expr x, Expr y) { return x.apply<SquaredErrorOp>(y); });
  if (loss.has_mean_absolute_error())
    return build(loss.mean_absolute_error(), [](Expr x, Expr y) { return (x - y).apply<AbsOp>(); });
  double delta = loss.huber().has_delta() ? loss.huber().delta() : 1;
  return build(loss.huber(), [=](Expr x, Expr y) { return huber(x - y, delta); });
}

/// One loss per row of the batch; an input of the entry determines the number of rows.
static ElementLosses overRows(SpecValues &v, Expr losses) {
  return {losses, std::nullopt, v.batched(), {0}};
}

/// The cosine of rows, with PyTorch's epsilon against division by 0; of 16-bit floats in f32.
static Expr cosine(Expr a, Expr b) {
  Type element = a.element();
  a = a.wide();
  b = b.wide();
  auto squares = [](Expr x) { return (x * x).sum({1}) + 1e-12; };
  return ((a * b).sum({1}) * (squares(a) * squares(b)).apply<RsqrtOp>()).cast(element);
}

FailureOr<ElementLosses> gradc::buildCosine(SpecValues &v, const spec::Cosine &loss,
                                            Location where) {
  FailureOr<Expr> a = v.vectors(loss.predictions(), where);
  if (failed(a))
    return failure();
  FailureOr<Expr> b = loss.has_other() ? v.vectors(loss.other(), where)
                                       : v.targets(loss.targets(), *a, loss.predictions(), where);
  if (failed(b))
    return failure();
  if (a->type() != b->type())
    return emitError(where) << "expected vectors of one size, found \"" << loss.predictions()
                            << "\", " << describe(a->type()) << ", and \"" << loss.other() << "\", "
                            << describe(b->type());
  Expr similarity = cosine(*a, *b), losses = 1 - similarity;
  if (loss.has_similar()) {
    FailureOr<Expr> similar = v.targets(loss.similar(), losses, loss.predictions(), where);
    if (failed(similar))
      return failure();
    Expr isSimilar = similar->compare(ComparePredicate::gt, similar->splat(0));
    losses = isSimilar.select(losses, (similarity - loss.margin()).apply<ReluOp>());
  }
  return overRows(v, losses);
}

FailureOr<ElementLosses> gradc::buildTriplet(SpecValues &v, const spec::Triplet &loss,
                                             Location where) {
  SmallVector<Expr> vectors;
  for (const std::string *name : {&loss.anchor(), &loss.positive(), &loss.negative()}) {
    FailureOr<Expr> vector = v.vectors(*name, where);
    if (failed(vector))
      return failure();
    if (!vectors.empty() && vector->type() != vectors.front().type())
      return emitError(where) << "expected vectors of one size, found \"" << loss.anchor() << "\", "
                              << describe(vectors.front().type()) << ", and \"" << *name << "\", "
                              << describe(vector->type());
    vectors.push_back(*vector);
  }
  // PyTorch's pairwise_distance, which adds an epsilon to each difference; of 16-bit floats in f32.
  auto distance = [](Expr a, Expr b) {
    Expr difference = a.wide() - b.wide() + 1e-6;
    return (difference * difference).sum({1}).apply<SqrtOp>().cast(a.element());
  };
  double margin = loss.has_margin() ? loss.margin() : 1;
  return overRows(v, (distance(vectors[0], vectors[1]) - distance(vectors[0], vectors[2]) + margin)
                         .apply<ReluOp>());
}
