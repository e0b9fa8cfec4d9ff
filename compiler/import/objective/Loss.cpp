// The terms of a loss: sums of element losses, and the counts to divide them by.
#include "dialects/Pch.h"

#include "compiler/import/objective/Loss.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

/// Multiplies by the reciprocal, a scalar shared with the gradient of a mean.
Value LossTerm::quotient(OpBuilder &builder) const {
  Expr x(builder, numerator.getLoc(), numerator);
  if (!denominator)
    return x;
  Expr count = x.with(denominator), reciprocal = 1 / count;
  if (!isWeighted)
    return x * reciprocal;
  // If no element counts, the loss is 0 and trains nothing.
  Expr isZero = count.compare(ComparePredicate::eq, count.splat(0));
  return x * isZero.select(count.splat(0), reciprocal);
}

static FailureOr<ElementLosses> buildKind(SpecValues &v, const spec::Loss &loss, Location where) {
  switch (loss.kind_case()) {
  case spec::Loss::kSoftmaxCrossEntropy:
    return buildSoftmaxCrossEntropy(v, loss.softmax_cross_entropy(), where);
  case spec::Loss::kBinaryCrossEntropy:
    return buildBinaryCrossEntropy(v, loss.binary_cross_entropy(), where);
  case spec::Loss::kFocal:
    return buildFocal(v, loss.focal(), where);
  case spec::Loss::kKlDivergence:
    return buildKlDivergence(v, loss.kl_divergence(), where);
  case spec::Loss::kHinge:
    return buildHinge(v, loss.hinge(), where);
  case spec::Loss::kCosine:
    return buildCosine(v, loss.cosine(), where);
  case spec::Loss::kTriplet:
    return buildTriplet(v, loss.triplet(), where);
  case spec::Loss::kCtc:
    return buildCtc(v, loss.ctc(), where);
  default:
    return buildError(v, loss, where);
  }
}

static FailureOr<LossTerm> buildScalar(SpecValues &v, const spec::Loss &loss, Location where) {
  FailureOr<Value> value = v.output(loss.scalar(), where);
  if (failed(value))
    return failure();
  auto type = cast<RankedTensorType>((*value).getType());
  if (type.getNumElements() != 1)
    return emitError(where) << "expected a scalar loss, found \"" << loss.scalar() << "\", "
                            << describe(type);
  return LossTerm{v.expr(*value).reshape({}).cast(v.getBuilder().getF32Type()), nullptr};
}

/// The only function that turns element losses into a quotient.
static FailureOr<LossTerm> buildTerm(SpecValues &v, const spec::Loss &loss, int index) {
  std::string kind(loss.GetDescriptor()->FindFieldByNumber(loss.kind_case())->name());
  SpecPlace place = v.getStep().lossPlace(index);
  Location where = v.getSpec().at(place + kind.c_str());
  if (loss.has_scalar())
    return buildScalar(v, loss, where);
  FailureOr<ElementLosses> built = buildKind(v, loss, where);
  if (failed(built))
    return failure();
  Expr x = built->losses;
  OpBuilder &b = v.getBuilder();
  if (loss.has_sample_weights()) {
    SmallVector<int64_t> shape;
    for (int64_t dim : built->dims)
      shape.push_back(cast<RankedTensorType>(built->counted.getType()).getDimSize(dim));
    x = x.reshape(shape);
    if (built->denominators)
      built->denominators = built->denominators->reshape(shape);
    FailureOr<Expr> weights =
        v.weights(loss.sample_weights(), x.type(), v.getSpec().at(place + "sample_weights"));
    if (failed(weights))
      return failure();
    x = x * *weights;
    built->denominators = built->denominators ? *built->denominators * *weights : *weights;
  }
  if (built->denominators)
    return LossTerm{sumAll(x), sumAll(*built->denominators), /*isWeighted=*/true};
  Expr count = x.with(CountOp::create(b, x.getLoc(), built->counted, built->dims, IntegerAttr()));
  return LossTerm{sumAll(x), count.cast(b.getF32Type())};
}

FailureOr<SmallVector<LossTerm>> gradc::buildLosses(SpecValues &values) {
  SmallVector<LossTerm> terms;
  bool ok = true;
  for (auto [i, loss] : llvm::enumerate(values.getStep().losses())) {
    FailureOr<LossTerm> term = buildTerm(values, loss, int(i));
    ok &= succeeded(term);
    if (failed(term))
      continue;
    term->weight = loss.weight();
    terms.push_back(*term);
  }
  if (!ok)
    return failure();
  return terms;
}

Value gradc::sumTerms(OpBuilder &builder, ArrayRef<LossTerm> terms) {
  Value total;
  for (const LossTerm &term : terms) {
    Expr x(builder, term.numerator.getLoc(), term.quotient(builder));
    if (term.weight != 1)
      x = x * term.weight;
    total = total ? x.with(total) + x : x;
  }
  return total;
}
