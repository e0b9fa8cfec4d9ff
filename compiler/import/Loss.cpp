// Builds the loss and the metrics behind the model's outputs.
#include "dialects/Pch.h"

#include "compiler/import/Loss.h"
#include "passes/support/MicroBatches.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

Expr LossBuilder::expr(Value value) {
  return Expr(entry.getBuilder(),
              NameLoc::get(entry.getBuilder().getStringAttr("loss"), spec.at({"loss"})), value);
}

/// The mean over everything, as f32: what the runtime prints.
Value LossBuilder::mean(Value value) {
  Expr x = expr(value);
  OpBuilder &b = entry.getBuilder();
  SmallVector<int64_t> dims = llvm::to_vector(llvm::seq<int64_t>(0, x.type().getRank()));
  if (!dims.empty())
    x = x.with(b.createOrFold<ReduceMeanOp>(x.getLoc(), x, dims));
  return x.cast(b.getF32Type());
}

/// The mean of `losses`: as many as `field` has elements in `dims`.
LossTerm LossBuilder::meanTerm(Value losses, Value field, ArrayRef<int64_t> dims) {
  Expr x = expr(losses);
  OpBuilder &b = entry.getBuilder();
  x = x.sum(llvm::to_vector(llvm::seq<int64_t>(0, x.type().getRank()))).cast(b.getF32Type());
  Expr count = x.with(CountOp::create(b, x.getLoc(), field, dims, IntegerAttr()));
  return {x, count.cast(b.getF32Type())};
}

/// Multiplied by the reciprocal, as in the gradient of a mean, whose scalar this shares.
Value LossTerm::quotient(OpBuilder &builder) const {
  Expr x(builder, numerator.getLoc(), numerator);
  return denominator ? x * (1 / x.with(denominator)) : x;
}

std::vector<std::string> LossBuilder::outputs() const {
  std::vector<std::string> names;
  const spec::Loss &loss = spec.get().loss();
  switch (loss.kind_case()) {
  case spec::Loss::kSoftmaxCrossEntropy:
    names.push_back(loss.softmax_cross_entropy().logits());
    break;
  case spec::Loss::kBinaryCrossEntropy:
    names.push_back(loss.binary_cross_entropy().logits());
    break;
  case spec::Loss::kMeanSquaredError:
    names.push_back(loss.mean_squared_error().predictions());
    break;
  case spec::Loss::kScalar:
    names.push_back(loss.scalar());
    break;
  case spec::Loss::KIND_NOT_SET:
    break;
  }
  for (const spec::Metric &metric : spec.get().metric())
    names.push_back(metric.accuracy().logits());
  return names;
}

FailureOr<Value> LossBuilder::output(StringRef name, Location where) {
  if (Value value = entry.value(name)) {
    if (isa<FloatType>(getElementTypeOrSelf(value.getType())))
      return value;
    return emitError(where) << "expected float outputs, found \"" << name << "\", "
                            << describe(value.getType());
  }
  return failure(); // What is missing was said when the nodes were imported.
}

FailureOr<Value> LossBuilder::field(StringRef name, RankedTensorType otherwise,
                                    StringRef argumentName, Location where) {
  Value &argument = arguments[name.str()];
  if (argument)
    return argument;
  FailureOr<const FieldType *> known = data.find(name, where);
  if (failed(known))
    return failure();
  RankedTensorType type = otherwise;
  if (*known) {
    SmallVector<int64_t> shape{entry.batchSize()};
    llvm::append_range(shape, (*known)->shape);
    type = RankedTensorType::get(shape, (*known)->element);
  }
  Builder &b = entry.getBuilder();
  argument = entry.addArgument(type, argumentName, GRADC_ROLE_DATA,
                               b.getNamedAttr("grad.field", b.getStringAttr(name)));
  if (type.getRank() > 0 && type.getDimSize(0) == entry.batchSize())
    entry.markBatch(argument);
  return argument;
}

/// The scores before a final softmax or sigmoid, from which the losses are stable.
template <typename... Activations> static Value withoutActivation(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    auto dim = op->getAttrOfType<IntegerAttr>("dim");
    if (!isa<Activations...>(op) ||
        (dim && dim.getInt() != cast<RankedTensorType>(value.getType()).getRank() - 1))
      break;
    value = op->getOperand(0);
  }
  return value;
}

/// Integer labels of the scores' shape without the classes, or a distribution of the scores' shape.
FailureOr<Value> LossBuilder::labels(StringRef name, Value scores, Location where) {
  auto type = cast<RankedTensorType>(scores.getType());
  ArrayRef<int64_t> indices = type.getShape().drop_back();
  OpBuilder &b = entry.getBuilder();
  auto argument = field(name, RankedTensorType::get(indices, b.getI64Type()), name, where);
  if (failed(argument))
    return failure();
  auto found = cast<RankedTensorType>((*argument).getType());
  bool distribution = isa<FloatType>(found.getElementType());
  if (found.getElementType().isInteger(1) ||
      found.getShape() != (distribution ? type.getShape() : indices))
    return emitError(where) << "expected labels as integers "
                            << describe(RankedTensorType::get(indices, b.getI64Type()))
                            << " or as a distribution " << describe(type) << " for scores "
                            << describe(type) << ", found field \"" << name << "\", "
                            << describe(found);
  if (distribution)
    return expr(*argument).cast(type.getElementType()).get();
  auto known = data.fields.find(name.str());
  if (known != data.fields.end() && known->second.classes > type.getShape().back())
    return emitError(where) << "expected labels of " << type.getShape().back()
                            << " classes for scores " << describe(type) << ", found "
                            << known->second.classes << " classes in field \"" << name << "\" of \""
                            << data.file << "\"";
  entry.setClasses(*argument, type.getShape().back());
  return *argument;
}

static LogicalResult expectClasses(Value scores, StringRef name, int64_t batch, Location where) {
  auto type = cast<RankedTensorType>(scores.getType());
  if (type.getRank() >= 2 && type.getDimSize(0) == batch && type.getShape().back() > 0)
    return success();
  return emitError(where) << "expected scores [" << batch << ", ..., classes], found \"" << name
                          << "\", " << describe(type);
}

FailureOr<LossTerm> LossBuilder::softmaxCrossEntropy(const spec::SoftmaxCrossEntropy &loss) {
  Location where = spec.at({"loss", "softmax_cross_entropy"});
  FailureOr<Value> result = output(loss.logits(), where);
  if (failed(result) || failed(expectClasses(*result, loss.logits(), entry.batchSize(), where)))
    return failure();
  Value scores = withoutActivation<SoftmaxOp, LogSoftmaxOp>(*result);
  FailureOr<Value> target = labels(loss.labels(), scores, where);
  if (failed(target))
    return failure();
  // All positions of all samples are rows.
  Expr x = expr(scores), y = expr(*target);
  int64_t classes = x.shape().back(), rows = x.type().getNumElements() / classes;
  bool distribution = isa<FloatType>(y.type().getElementType());
  if (distribution)
    entry.setClasses(arguments[loss.labels()], classes);
  SmallVector<int64_t> positions =
      llvm::to_vector(llvm::seq<int64_t>(0, y.type().getRank() - distribution));
  y = distribution ? y.reshape({rows, classes}) : y.reshape({rows});
  x = x.reshape({rows, classes});
  return meanTerm(entry.getBuilder().createOrFold<SoftmaxCrossEntropyOp>(x.getLoc(), x, y),
                  arguments[loss.labels()], positions);
}

FailureOr<LossTerm> LossBuilder::regression(StringRef prediction, StringRef target, bool logits,
                                            Location where) {
  FailureOr<Value> result = output(prediction, where);
  if (failed(result))
    return failure();
  Value predicted = logits ? withoutActivation<SigmoidOp>(*result) : *result;
  auto type = cast<RankedTensorType>(predicted.getType());
  FailureOr<Value> argument = field(target, type, target, where);
  if (failed(argument))
    return failure();
  auto found = cast<RankedTensorType>((*argument).getType());
  if (found.getNumElements() != type.getNumElements() || type.getRank() == 0 ||
      type.getDimSize(0) != entry.batchSize())
    return emitError(where) << "expected as many targets as \"" << prediction << "\", "
                            << describe(type) << ", has elements, found field \"" << target
                            << "\", " << describe(found);
  // Probabilities are a class each, 0 to 1; whole numbers are one of two.
  if (logits)
    entry.setClasses(*argument, isa<FloatType>(found.getElementType()) ? 1 : 2);
  Expr x = expr(predicted);
  Expr y = expr(*argument).cast(type.getElementType()).reshape(type.getShape());
  OpBuilder &b = entry.getBuilder();
  return meanTerm(logits ? b.createOrFold<BinaryCrossEntropyOp>(x.getLoc(), x, y)
                         : b.createOrFold<SquaredErrorOp>(x.getLoc(), x, y),
                  *argument, llvm::to_vector(llvm::seq<int64_t>(0, found.getRank())));
}

FailureOr<LossTerm> LossBuilder::loss() {
  const spec::Loss &loss = spec.get().loss();
  if (loss.has_softmax_cross_entropy())
    return softmaxCrossEntropy(loss.softmax_cross_entropy());
  if (loss.has_binary_cross_entropy())
    return regression(loss.binary_cross_entropy().logits(), loss.binary_cross_entropy().targets(),
                      /*logits=*/true, spec.at({"loss", "binary_cross_entropy"}));
  if (loss.has_mean_squared_error())
    return regression(loss.mean_squared_error().predictions(), loss.mean_squared_error().targets(),
                      /*logits=*/false, spec.at({"loss", "mean_squared_error"}));
  Location where = spec.at({"loss", "scalar"});
  FailureOr<Value> value = output(loss.scalar(), where);
  if (failed(value))
    return failure();
  auto type = cast<RankedTensorType>((*value).getType());
  if (type.getNumElements() != 1)
    return emitError(where) << "expected a scalar loss, found \"" << loss.scalar() << "\", "
                            << describe(type);
  return LossTerm{expr(*value).reshape({}).cast(entry.getBuilder().getF32Type()), nullptr};
}

/// The share of samples whose best class is the label's; with one score a sample, whose sign is.
FailureOr<Value> LossBuilder::accuracy(const spec::Accuracy &metric, Location where) {
  FailureOr<Value> result = output(metric.logits(), where);
  if (failed(result))
    return failure();
  OpBuilder &b = entry.getBuilder();
  auto full = cast<RankedTensorType>((*result).getType());
  if (full.getRank() == 1 || (full.getRank() == 2 && full.getDimSize(1) == 1)) {
    Expr x = expr(withoutActivation<SigmoidOp>(*result));
    auto argument = field(metric.labels(), x.type(), metric.labels(), where);
    if (failed(argument))
      return failure();
    if (cast<RankedTensorType>((*argument).getType()).getNumElements() != full.getNumElements())
      return emitError(where) << "expected as many labels as \"" << metric.logits() << "\", "
                              << describe(full) << ", has elements, found "
                              << describe((*argument).getType());
    Expr y = expr(*argument).cast(full.getElementType()).reshape(full.getShape());
    Expr equal = x.compare(ComparePredicate::gt, x.splat(0))
                     .apply<XorOp>(y.compare(ComparePredicate::le, y.splat(0.5)));
    return mean(equal.cast(b.getF32Type()));
  }
  if (failed(expectClasses(*result, metric.logits(), entry.batchSize(), where)))
    return failure();
  Value scores = withoutActivation<SoftmaxOp, LogSoftmaxOp>(*result);
  FailureOr<Value> target = labels(metric.labels(), scores, where);
  if (failed(target))
    return failure();
  auto best = [&](Value value) {
    Expr x = expr(value);
    IntegerAttr dim = b.getI64IntegerAttr(x.type().getRank() - 1);
    return x.with(b.createOrFold<ArgmaxOp>(x.getLoc(), x, dim));
  };
  Expr y = expr(*target);
  if (isa<FloatType>(y.type().getElementType()))
    y = best(y);
  return mean(
      best(scores).compare(ComparePredicate::eq, y.cast(b.getI64Type())).cast(b.getF32Type()));
}

LogicalResult LossBuilder::build() {
  FailureOr<LossTerm> term = loss();
  bool ok = succeeded(term);
  if (ok)
    entry.addResult(term->quotient(entry.getBuilder()), "loss", GRADC_ROLE_LOSS);
  for (auto [i, metric] : llvm::enumerate(spec.get().metric())) {
    FailureOr<Value> share = accuracy(metric.accuracy(), spec.at({{"metric", int(i)}}));
    ok &= succeeded(share);
    if (succeeded(share))
      entry.addResult(*share, metricName(metric), GRADC_ROLE_METRIC);
  }
  if (ok && entry.getFunction()->hasAttr(microBatchesName))
    returnTerm(*term);
  return success(ok);
}

/// For a step in several parts. A mean that the model made counts as much in each.
void LossBuilder::returnTerm(const LossTerm &term) {
  Builder &b = entry.getBuilder();
  Value one = expr(term.numerator).splat(1);
  for (auto [value, role] :
       {std::pair(term.numerator, lossNumeratorRole),
        std::pair(term.denominator ? term.denominator : one, lossDenominatorRole)})
    entry.addResult(value, role, GRADC_ROLE_LOSS,
                    b.getNamedAttr("grad.role", b.getStringAttr(role)));
}
