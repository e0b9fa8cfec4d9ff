// Constants, and tensors made of indices: ranges, identity matrices, one-hot vectors.
#include "dialects/Pch.h"

#include "compiler/import/onnx/ImportGraph.h"
#include "compiler/import/onnx/model/Narrow.h"
#include "compiler/import/onnx/ops/Pick.h"
#include "compiler/import/support/Names.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

/// A list attribute of Constant as a tensor.
template <typename List, typename Store>
static HostTensor listTensor(const List &list, Type element, Store store) {
  HostTensor tensor(RankedTensorType::get({int64_t(list.size())}, element));
  for (int i = 0; i < int(list.size()); ++i)
    store(tensor, i, list.Get(i));
  return tensor;
}

static LogicalResult importConstant(Node &n) {
  Builder &b = n.builder();
  auto storeFloat = [](HostTensor &t, int64_t i, float v) { t.setFloat(i, v); };
  auto storeInt = [](HostTensor &t, int64_t i, int64_t v) { t.setInt(i, v); };
  if (const onnx::AttributeProto *a = n.attribute("value", AttributeType::tensor);
      a && a->has_t()) {
    FailureOr<ElementsAttr> value = n.getEntry().getModel().value(a->t(), n.loc());
    if (failed(value))
      return failure();
    return n.setNarrow(0, ConstantOp::create(n.builder(), n.loc(), value->getType(), *value),
                       findNarrow(a->t().data_type()));
  }
  if (const onnx::AttributeProto *a = n.attribute("value_float", AttributeType::real)) {
    HostTensor scalar(RankedTensorType::get({}, b.getF32Type()));
    scalar.setFloat(0, a->f());
    return n.set(n.constant(scalar));
  }
  if (const onnx::AttributeProto *a = n.attribute("value_int", AttributeType::integer))
    return n.set(n.constantInts({a->i()}, /*scalar=*/true));
  if (const onnx::AttributeProto *a = n.attribute("value_floats", AttributeType::reals))
    return n.set(n.constant(listTensor(a->floats(), b.getF32Type(), storeFloat)));
  if (const onnx::AttributeProto *a = n.attribute("value_ints", AttributeType::integers))
    return n.set(n.constant(listTensor(a->ints(), b.getI64Type(), storeInt)));
  return n.error() << "expected a dense tensor, a number or numbers as value; sparse and string "
                      "constants are not supported";
}

static LogicalResult importConstantOfShape(Node &n) {
  FailureOr<RunShape> shape = n.knownShape(0, "the shape");
  if (failed(shape) || failed(n.expectSensible(shape->sizes)))
    return failure();
  n.fixRowsOfSizes(0);
  constexpr int64_t most = 1 << 29;
  if (ShapedType::getNumElements(shape->sizes) > most)
    return n.error() << "expected a constant of at most 2^29 elements, found "
                     << formatDims(shape->sizes);
  HostTensor one(RankedTensorType::get({1}, n.builder().getF32Type()));
  const NarrowType *narrow = nullptr;
  if (const onnx::AttributeProto *a = n.attribute("value", AttributeType::tensor);
      a && a->has_t()) {
    FailureOr<ElementsAttr> value = n.getEntry().getModel().value(a->t(), n.loc());
    if (failed(value))
      return failure();
    one = HostTensor(*value);
    narrow = findNarrow(a->t().data_type());
    if (one.size() != 1)
      return n.error() << "expected a value of one element, found " << describe(one.getType());
  }
  Value filled = n.broadcast(n.constant(one.reshaped({})), shape->sizes);
  if (shape->extent && !narrow)
    return n.set(0, filled, *shape->extent);
  return n.setNarrow(0, filled, narrow);
}

/// The number of elements of a range. Integers need not be exact in f64.
static double lengthOfRange(const HostTensor &start, const HostTensor &limit,
                            const HostTensor &delta) {
  if (isa<FloatType>(start.getElementType()))
    return std::ceil((limit.getFloat(0) - start.getFloat(0)) / delta.getFloat(0));
  int64_t from = start.getInt(0), to = limit.getInt(0), step = delta.getInt(0);
  if (step == 0)
    return std::numeric_limits<double>::infinity();
  if (step > 0 ? from >= to : from <= to)
    return 0;
  // Unsigned, since the distance of two int64 may be above 2^63.
  uint64_t distance = step > 0 ? uint64_t(to) - uint64_t(from) : uint64_t(from) - uint64_t(to);
  uint64_t width = step > 0 ? uint64_t(step) : -uint64_t(step);
  return double((distance - 1) / width + 1);
}

/// A limit that is the extent of a value of the run.
static std::optional<RunShape> limitOfRun(Node &n) {
  EntryImport &entry = n.getEntry();
  bool mayBe = entry.hasExtents() && n.rank(1) == 0 && n.element(1).isSignlessInteger() &&
               !entry.known(n.operand(1), /*mayBind=*/false);
  std::optional<RunShape> limit =
      mayBe ? entry.shapeOfRun(n.expr(1u).reshape({1})) : std::optional<RunShape>();
  return limit && limit->extent ? limit : std::nullopt;
}

static LogicalResult importRange(Node &n) {
  n.ignore("stash_type"); // 16-bit floats are rounded only once
  for (unsigned i = 0; i < 3; ++i)
    if (failed(n.expect(i, Kind::Number)) || failed(n.expectSameElement(0, i)))
      return failure();
  if (std::optional<RunShape> limit = limitOfRun(n)) {
    auto start = n.known(0, "the start"), delta = n.known(2, "the delta");
    if (failed(start) || failed(delta))
      return failure();
    if (start->size() != 1 || delta->size() != 1 || start->getInt(0) != 0 || delta->getInt(0) != 1)
      return n.error() << "expected a range of 0, 1, 2, ..., because only a run knows its limit";
    auto type = RankedTensorType::get(limit->sizes, n.element(0));
    return n.set(0, IotaOp::create(n.builder(), n.loc(), type, 0), *limit->extent);
  }
  auto start = n.known(0, "the start"), limit = n.known(1, "the limit"),
       delta = n.known(2, "the delta");
  if (failed(start) || failed(limit) || failed(delta))
    return failure();
  n.fixRows(0);
  n.fixRowsOfSizes(1);
  n.fixRows(2);
  if (start->size() != 1 || limit->size() != 1 || delta->size() != 1)
    return n.error() << "expected scalars, found " << n.describeOperand(0) << ", "
                     << n.describeOperand(1) << " and " << n.describeOperand(2);
  double size = lengthOfRange(*start, *limit, *delta);
  constexpr double most = 1 << 24;
  if (!(size < most)) // also catches NaN
    return n.error() << "expected a range of less than 2^24 elements, found a delta of "
                     << numberText(delta->getFloat(0));
  Type element = n.element(0);
  HostTensor values(RankedTensorType::get({int64_t(std::max(size, 0.0))}, element));
  for (int64_t i = 0; i < values.size(); ++i)
    if (isa<FloatType>(element))
      values.setFloat(i, start->getFloat(0) + double(i) * delta->getFloat(0));
    else
      values.setInt(i, start->getInt(0) + i * delta->getInt(0));
  Value numbers = n.constant(values);
  n.numberRows(numbers, 1);
  return n.set(numbers);
}

static LogicalResult importEyeLike(Node &n) {
  int64_t shift = n.integer("k", 0);
  Type element = n.element(0);
  if (n.has("dtype"))
    element = elementType(*n.builder().getContext(), int32_t(n.integer("dtype", 0)));
  if (!element)
    return n.error() << "dtype " << n.integer("dtype", 0) << " is not supported";
  if (failed(n.expectRank(0, 2)))
    return failure();
  auto index = RankedTensorType::get(n.shape(0), n.builder().getI64Type());
  Expr row = n.expr(IotaOp::create(n.builder(), n.loc(), index, 0));
  Expr column = n.expr(IotaOp::create(n.builder(), n.loc(), index, 1));
  return n.set((row + double(shift)).compare(ComparePredicate::eq, column).cast(element));
}

/// values[1] where the index of the new dim is in `indices` (negative: counted from the back),
/// values[0] elsewhere.
static LogicalResult importOneHot(Node &n) {
  auto depth = n.known(1, "the depth");
  if (failed(depth) || failed(n.expect(0, Kind::Number)))
    return failure();
  n.fixRows(1);
  if (depth->size() != 1 || n.rank(2) != 1 || n.shape(2)[0] != 2)
    return n.error() << "expected a scalar depth and two values, found " << n.describeOperand(1)
                     << " and " << n.describeOperand(2);
  FailureOr<int64_t> dim = n.axis(n.integer("axis", -1), n.rank(0) + 1);
  if (failed(dim))
    return failure();
  SmallVector<int64_t> shape(n.shape(0));
  shape.insert(shape.begin() + *dim, depth->getInt(0));
  if (failed(n.expectSensible(shape)))
    return failure();
  auto index = RankedTensorType::get(shape, n.builder().getI64Type());
  OpBuilder &b = n.builder();
  Expr indices = n.expr(0u).cast(b.getI64Type());
  Expr negative = indices.compare(ComparePredicate::lt, indices.splat(0));
  indices = negative.select(indices + double(depth->getInt(0)), indices);
  Expr wide = indices.broadcast(index, otherDims(index.getRank(), {*dim}));
  Expr hot = n.expr(IotaOp::create(b, n.loc(), index, *dim)).compare(ComparePredicate::eq, wide);
  auto value = [&](int64_t i) -> Value {
    return n.broadcast(n.expr(2u).slice(0, i, 1).reshape({}), shape);
  };
  return n.set(hot.select(value(1), value(0)));
}

void gradc::addIndexOps(OpTable &ops) {
  ops["Constant"] = {importConstant, 0, 0};
  ops["ConstantOfShape"] = {importConstantOfShape, 1, 1};
  ops["Range"] = {importRange, 3, 3};
  ops["EyeLike"] = {importEyeLike, 1, 1};
  ops["OneHot"] = {importOneHot, 3, 3};
}
