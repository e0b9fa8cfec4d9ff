// Finds outputs and fields by name, and reports those that do not fit.
#include "dialects/Pch.h"

#include "compiler/import/objective/SpecValues.h"
#include "compiler/import/onnx/Labels.h"
#include "dialects/grad/EntryAttributes.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

SmallVector<int64_t> gradc::leadingDims(int64_t rank, int64_t without) {
  return llvm::to_vector(llvm::seq<int64_t>(0, rank - without));
}

Value gradc::sumAll(Expr x) {
  // Losses of all rows may exceed f16.
  return x.wide().sum(leadingDims(x.type().getRank())).cast(x.getBuilder().getF32Type());
}

Expr ClassRows::isLabel() const { return gradc::isLabel(scores, labels); }

Expr ClassRows::pick(Expr x) const { return pickLabels(x, labels); }

Expr ClassRows::ones() const {
  if (counts)
    return counts->cast(scores.element());
  auto type = RankedTensorType::get(labels.shape(), scores.element());
  return scores.with(splat(scores.getBuilder(), scores.getLoc(), type, 1));
}

Expr SpecValues::expr(Value value) {
  return Expr(entry.getBuilder(),
              NameLoc::get(entry.getBuilder().getStringAttr("loss"), spec.at({{"loss", 0}})),
              value);
}

FailureOr<Value> SpecValues::output(StringRef name, Location where) {
  if (Value value = entry.value(name)) {
    if (failed(entry.expectWhole(name, value, where)))
      return failure();
    auto type = cast<RankedTensorType>(value.getType());
    if (isa<FloatType>(type.getElementType()) && type.getNumElements() > 0)
      return value;
    return emitError(where) << "expected float outputs with elements, found \"" << name << "\", "
                            << describe(type);
  }
  return failure(); // The import of the nodes has reported missing values.
}

static int64_t lastDim(Value value) {
  return cast<RankedTensorType>(value.getType()).getRank() - 1;
}

/// The scores before a final sigmoid, or a softmax over the dim; losses computed from them are
/// numerically stable.
template <typename... Activations> static Value withoutActivation(Value value, int64_t classes) {
  while (Operation *op = value.getDefiningOp()) {
    auto dim = op->getAttrOfType<IntegerAttr>("dim");
    if (!isa<Activations...>(op) || (dim && dim.getInt() != classes))
      break;
    value = op->getOperand(0);
  }
  return value;
}

static Value withoutSoftmax(Value value, int64_t classes) {
  return withoutActivation<SoftmaxOp, LogSoftmaxOp>(value, classes);
}

Value gradc::withoutSoftmax(Value value) { return ::withoutSoftmax(value, lastDim(value)); }

FailureOr<Value> SpecValues::scores(StringRef name, bool sigmoid, Location where) {
  FailureOr<Value> value = output(name, where);
  if (failed(value))
    return failure();
  return sigmoid ? withoutActivation<SigmoidOp>(*value, lastDim(*value)) : withoutSoftmax(*value);
}

/// Whether `found` is `expected`, or has one dim of 1 more: the last one, or the second.
static bool isShape(ArrayRef<int64_t> found, ArrayRef<int64_t> expected) {
  if (found == expected)
    return true;
  if (found.size() != expected.size() + 1)
    return false;
  for (size_t dim : {found.size() - 1, size_t(1)}) {
    SmallVector<int64_t> others(found);
    others.erase(others.begin() + dim);
    if (found[dim] == 1 && ArrayRef(others) == expected)
      return true;
  }
  return false;
}

FailureOr<Value> SpecValues::classScores(StringRef name, StringRef labelField, Location where) {
  FailureOr<Value> value = output(name, where);
  if (failed(value) || failed(expectClasses(*value, name, where)))
    return failure();
  auto type = cast<RankedTensorType>((*value).getType());
  Type i64 = entry.getBuilder().getI64Type();
  FailureOr<Value> found =
      field(labelField, RankedTensorType::get(type.getShape().drop_back(), i64), labelField, where);
  if (failed(found))
    return failure();
  auto labels = cast<RankedTensorType>((*found).getType());
  SmallVector<int64_t> withoutSecond(type.getShape());
  withoutSecond.erase(withoutSecond.begin() + 1);
  if (!isa<IntegerType>(labels.getElementType()) ||
      isShape(labels.getShape(), type.getShape().drop_back()) ||
      !isShape(labels.getShape(), withoutSecond))
    return withoutSoftmax(*value);
  SmallVector<int64_t> order = leadingDims(type.getRank());
  std::rotate(order.begin() + 1, order.begin() + 2, order.end());
  return expr(::withoutSoftmax(*value, /*classes=*/1)).transpose(order).get();
}

FailureOr<Expr> SpecValues::vectors(StringRef name, Location where) {
  FailureOr<Value> value = output(name, where);
  if (failed(value))
    return failure();
  auto type = cast<RankedTensorType>((*value).getType());
  if (type.getRank() != 2 || type.getDimSize(0) != entry.batchSize())
    return emitError(where) << "expected vectors [" << entry.batchSize() << ", size], found \""
                            << name << "\", " << describe(type);
  return expr(*value);
}

FailureOr<Value> SpecValues::field(StringRef name, RankedTensorType otherwise,
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
  } else if (auto made = data.made.find(name.str()); made != data.made.end()) {
    type = made->second.of(otherwise);
  }
  Builder &b = entry.getBuilder();
  argument = entry.addArgument(type, argumentName, GRADC_ROLE_DATA,
                               b.getNamedAttr(fieldName, b.getStringAttr(name)));
  if (type.getRank() > 0 && type.getDimSize(0) == entry.batchSize())
    entry.markBatch(argument);
  return argument;
}

Value SpecValues::plainLabels(Value labels, ArrayRef<int64_t> expected) {
  auto type = cast<RankedTensorType>(labels.getType());
  if (!isa<IntegerType>(type.getElementType()))
    return labels;
  Expr result = expr(labels);
  if (type.getElementType().isInteger(1))
    result = result.cast(entry.getBuilder().getI64Type());
  if (type.getShape() != expected && isShape(type.getShape(), expected))
    result = result.reshape(expected);
  return result.get();
}

FailureOr<Value> SpecValues::labels(StringRef name, Value scores, Location where) {
  auto type = cast<RankedTensorType>(scores.getType());
  ArrayRef<int64_t> indices = type.getShape().drop_back();
  OpBuilder &b = entry.getBuilder();
  auto argument = field(name, RankedTensorType::get(indices, b.getI64Type()), name, where);
  if (failed(argument))
    return failure();
  Value plain = plainLabels(*argument, indices);
  auto found = cast<RankedTensorType>(plain.getType());
  bool distribution = isa<FloatType>(found.getElementType());
  if (found.getShape() != (distribution ? type.getShape() : indices))
    return emitError(where) << "expected labels as integers "
                            << describe(RankedTensorType::get(indices, b.getI64Type()))
                            << " or as a distribution " << describe(type) << " for scores "
                            << describe(type) << ", found field \"" << name << "\", "
                            << describe(cast<RankedTensorType>((*argument).getType()));
  if (distribution)
    return expr(*argument).cast(type.getElementType()).get();
  auto known = data.fields.find(name.str());
  if (known != data.fields.end() && known->second.classes > type.getShape().back())
    return emitError(where) << "expected labels of " << type.getShape().back()
                            << " classes for scores " << describe(type) << ", found "
                            << known->second.classes << " classes in field \"" << name << "\" of \""
                            << data.file << "\"";
  entry.setClasses(*argument, type.getShape().back());
  return plain;
}

LogicalResult SpecValues::expectClasses(Value scores, StringRef name, Location where) {
  auto type = cast<RankedTensorType>(scores.getType());
  if (type.getRank() >= 2 && type.getDimSize(0) == entry.batchSize() && type.getShape().back() > 0)
    return success();
  return emitError(where) << "expected scores [" << entry.batchSize() << ", ..., classes], found \""
                          << name << "\", " << describe(type);
}

FailureOr<Expr> SpecValues::targets(StringRef name, Value like, StringRef output, Location where) {
  auto type = cast<RankedTensorType>(like.getType());
  FailureOr<Value> argument = field(name, type, name, where);
  if (failed(argument))
    return failure();
  auto found = cast<RankedTensorType>((*argument).getType());
  if (found.getNumElements() != type.getNumElements() || type.getRank() == 0 ||
      type.getDimSize(0) != entry.batchSize())
    return emitError(where) << "expected as many targets as \"" << output << "\", "
                            << describe(type) << ", has elements, found field \"" << name << "\", "
                            << describe(found);
  return expr(*argument).cast(type.getElementType()).reshape(type.getShape());
}

FailureOr<ClassRows> SpecValues::classRows(StringRef name, StringRef labelField,
                                           std::optional<int64_t> ignore, Location where) {
  FailureOr<Value> result = classScores(name, labelField, where);
  if (failed(result))
    return failure();
  auto type = cast<RankedTensorType>((*result).getType());
  OpBuilder &b = entry.getBuilder();
  auto expected = RankedTensorType::get(type.getShape().drop_back(), b.getI64Type());
  FailureOr<Value> argument =
      ignore ? field(labelField, expected, labelField, where) : labels(labelField, *result, where);
  if (failed(argument))
    return failure();
  Value plain = plainLabels(*argument, expected.getShape());
  auto found = cast<RankedTensorType>(plain.getType());
  if (!isa<IntegerType>(found.getElementType()) || found.getShape() != expected.getShape())
    return emitError(where) << "expected labels as integers " << describe(expected)
                            << " for scores " << describe(type) << ", found field \"" << labelField
                            << "\", " << describe(cast<RankedTensorType>((*argument).getType()));
  int64_t classes = type.getShape().back(), count = type.getNumElements() / classes;
  ClassRows rows{expr(*result).reshape({count, classes}),
                 expr(plain).cast(b.getI64Type()).reshape({count}), std::nullopt,
                 this->argument(labelField)};
  if (!ignore)
    return rows;
  Expr label = rows.labels;
  Expr isIgnored = label.compare(ComparePredicate::eq, label.splat(double(*ignore)));
  rows.counts = isIgnored.apply<NotOp>();
  rows.labels = isIgnored.select(label.splat(0), label);
  requireBelow(rows.labels, classes, "labels of field " + labelField, where);
  return rows;
}

/// Unlike ONNX's indices, these numbers do not count from the end.
void SpecValues::requireBelow(Expr numbers, int64_t limit, const Twine &what, Location where) {
  Expr isNegative = numbers.compare(ComparePredicate::lt, numbers.splat(0));
  entry.requireIndices(isNegative.select(numbers - double(limit), numbers), limit,
                       NameLoc::get(entry.getBuilder().getStringAttr(what), where));
}

FailureOr<Expr> SpecValues::weights(StringRef name, RankedTensorType like, Location where) {
  auto single = RankedTensorType::get({entry.batchSize()}, like.getElementType());
  FailureOr<Value> argument = field(name, single, name, where);
  if (failed(argument))
    return failure();
  auto found = cast<RankedTensorType>((*argument).getType());
  ArrayRef<int64_t> shape = found.getShape();
  // One number per row may be written as [1].
  if (found.getRank() == 2 && shape[1] == 1 && like.getRank() == 1)
    shape = shape.drop_back();
  if (shape.empty() || shape.size() > size_t(like.getRank()) ||
      shape != like.getShape().take_front(shape.size()))
    return emitError(where) << "expected one weight a row, or dims like those of the losses, "
                            << describe(like) << ", found field \"" << name << "\", "
                            << describe(found);
  SmallVector<int64_t> dims = leadingDims(shape.size());
  return expr(*argument).cast(like.getElementType()).reshape(shape).broadcast(like, dims);
}

Value SpecValues::batched() const {
  for (BlockArgument argument : entry.getFunction().getArguments())
    if (entry.isBatched(argument))
      return argument;
  return nullptr;
}
