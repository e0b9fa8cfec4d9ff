// Categories in ai.onnx.ml: each element of a tensor of numbers or strings is looked up in a list
// of keys.
#include "dialects/Pch.h"

#include "compiler/import/onnx/Text.h"
#include "compiler/import/onnx/model/DataType.h"
#include "compiler/import/onnx/ops/Indices.h"
#include "compiler/import/onnx/ops/Pick.h"
#include "compiler/import/onnx/ops/ml/Scores.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

namespace {
/// Numbers or strings; of strings, the last dim are their bytes.
struct List {
  HostTensor values;
  bool isText;
};
} // namespace

static List listOf(Node &n, ArrayRef<int64_t> integers) {
  HostTensor values(RankedTensorType::get({int64_t(integers.size())}, n.builder().getI64Type()));
  for (auto [i, value] : llvm::enumerate(integers))
    values.setInt(int64_t(i), value);
  return {values, false};
}

/// Whether each string of x [..., bytes] equals each key [keys, bytes]: bool [..., keys].
static Expr equalTexts(Expr x, const HostTensor &keys) {
  int64_t dims = x.type().getRank() - 1;
  int64_t bytes = std::max(x.shape().back(), keys.getShape().back());
  SmallVector<int64_t> none(dims + 1), behind(dims + 1);
  behind.back() = bytes - x.shape().back();
  x = padAround(x, none, behind);
  SmallVector<int64_t> pairs(x.shape().drop_back());
  pairs.append({keys.getShape()[0], bytes});
  SmallVector<int64_t> own = allDims(dims);
  own.push_back(dims + 1);
  Expr held = x.with(constant(x.getBuilder(), x.getLoc(), withBytes(keys, bytes)));
  auto type = x.type().clone(pairs);
  Expr equal =
      x.broadcast(type, own).compare(ComparePredicate::eq, held.broadcast(type, {dims, dims + 1}));
  return all(equal, dims + 1);
}

/// Whether each element of operand 0 is each of the keys: bool [..., keys]. NaN equals NaN.
static FailureOr<Expr> equalKeys(Node &n, const List &keys) {
  if (n.isText(0) != keys.isText)
    return n.error() << "expected " << (keys.isText ? "strings" : "numbers")
                     << ", as the keys are, found " << n.describeOperand(0);
  if (keys.isText)
    return equalTexts(n.expr(0u), keys.values);
  if (failed(n.expect(0, Kind::Number)))
    return failure();
  Expr x = n.expr(0u), held = n.expr(n.constant(keys.values));
  // Integers are compared as such; ONNX Runtime also rounds floats to integer keys.
  if (!isa<FloatType>(held.element()))
    x = x.cast(held.element());
  else if (isa<FloatType>(x.element()))
    held = held.cast(x.element());
  else
    return n.error() << "expected floats, as the keys are, found " << n.describeOperand(0);
  SmallVector<int64_t> pairs(x.shape());
  pairs.push_back(keys.values.size());
  if (failed(n.expectSensible(pairs)))
    return failure();
  auto type = x.type().clone(pairs);
  int64_t last = int64_t(pairs.size()) - 1;
  x = x.broadcast(type, allDims(last));
  held = held.broadcast(type, {last});
  Expr equal = x.compare(ComparePredicate::eq, held);
  if (!isa<FloatType>(x.element()))
    return equal;
  Expr areNaN =
      x.compare(ComparePredicate::ne, x).apply<AndOp>(held.compare(ComparePredicate::ne, held));
  return equal.apply<OrOp>(areNaN);
}

/// For each element, the position of the first key that it equals, or else their number.
static Expr positionOf(Node &n, Expr equal) {
  OpBuilder &b = n.builder();
  int64_t last = equal.type().getRank() - 1;
  auto type = equal.type().clone(b.getI64Type());
  Expr position = n.expr(IotaOp::create(b, n.loc(), type, last));
  Expr found = equal.select(position, position.splat(double(equal.shape().back())));
  return n.expr(b.createOrFold<ReduceMinOp>(n.loc(), found.get(), ArrayRef{last}));
}

/// The list in one of the attributes `name`_int64s, `name`_floats, `name`_strings and
/// `name`_tensor.
static FailureOr<std::optional<List>> readList(Node &n, const std::string &name) {
  Builder &b = n.builder();
  std::optional<List> list;
  int count = 0;
  if (auto integers = n.integers(name + "_int64s"); integers && ++count)
    list = listOf(n, *integers);
  if (auto floats = n.reals(name + "_floats"); floats && ++count) {
    HostTensor values(RankedTensorType::get({int64_t(floats->size())}, b.getF32Type()));
    for (auto [i, value] : llvm::enumerate(*floats))
      values.setFloat(int64_t(i), double(value));
    list = List{values, false};
  }
  if (auto strings = n.strings(name + "_strings"); strings && ++count)
    list = List{textOf(*strings, {int64_t(strings->size())}, *b.getContext()), true};
  if (const auto *a = n.attribute(name + "_tensor", AttributeType::tensor); a && ++count) {
    if (a->t().data_type() == data_type::STRING) {
      FailureOr<HostTensor> text = textOf(a->t(), *b.getContext(), n.loc());
      if (failed(text))
        return failure();
      list = List{*text, true};
    } else {
      FailureOr<ElementsAttr> values = n.getEntry().getModel().value(a->t(), n.loc());
      if (failed(values))
        return failure();
      list = List{HostTensor(*values), false};
    }
  }
  if (count > 1)
    return n.error() << "expected one list of " << name << ", found " << count;
  return list;
}

/// The value of elements that equal no key: `default_tensor`, or the attribute for the values'
/// type.
static FailureOr<HostTensor> readDefault(Node &n, const List &values) {
  Builder &b = n.builder();
  StringRef text = n.string("default_string", "_Unused");
  double number = n.real("default_float", -0.0);
  int64_t integer = n.integer("default_int64", -1);
  FailureOr<std::optional<List>> given = readList(n, "default");
  if (failed(given))
    return failure();
  if (*given) {
    const List &list = **given;
    bool fits = list.isText == values.isText && list.values.size() > 0 &&
                list.values.getElementType() == values.values.getElementType();
    if (!fits || (!list.isText && list.values.size() != 1))
      return n.error() << "expected one default of the type of the values";
    return list.isText ? list.values : list.values.reshaped({1});
  }
  if (values.isText)
    return textOf({text.str()}, {1}, *b.getContext());
  HostTensor one(RankedTensorType::get({1}, values.values.getElementType()));
  if (isa<FloatType>(one.getElementType()))
    one.setFloat(0, number);
  else
    one.setInt(0, integer);
  return one;
}

/// The values with the default behind them.
static HostTensor withDefault(const List &values, const HostTensor &other) {
  auto join = [](const HostTensor &a, const HostTensor &b) {
    SmallVector<int64_t> shape(a.getShape());
    shape[0] += b.getShape()[0];
    HostTensor all(a.getType().clone(shape));
    llvm::copy(b.bytes(), llvm::copy(a.bytes(), all.mutableBytes().begin()));
    return all;
  };
  if (!values.isText)
    return join(values.values, other);
  int64_t bytes = std::max(values.values.getShape().back(), other.getShape().back());
  return join(withBytes(values.values, bytes), withBytes(other, bytes));
}

static LogicalResult importLabelEncoder(Node &n) {
  auto keys = readList(n, "keys"), values = readList(n, "values");
  if (failed(keys) || failed(values))
    return failure();
  if (!*keys || !*values)
    return n.error() << "expected keys and values (ai.onnx.ml 2 or newer)";
  auto lengthOf = [](const List &list) {
    return list.values.getShape().empty() ? 1 : list.values.getShape()[0];
  };
  int64_t count = lengthOf(**keys);
  if (count == 0 || lengthOf(**values) != count ||
      (*keys)->values.getShape().size() != ((*keys)->isText ? 2 : 1) ||
      (*values)->values.getShape().size() != ((*values)->isText ? 2 : 1))
    return n.error() << "expected lists of keys and values of one length, found "
                     << formatDims((*keys)->values.getShape()) << " and "
                     << formatDims((*values)->values.getShape());
  FailureOr<HostTensor> other = readDefault(n, **values);
  FailureOr<Expr> equal = equalKeys(n, **keys);
  if (failed(other) || failed(equal))
    return failure();
  Expr position = positionOf(n, *equal);
  Expr table = n.expr(n.constant(withDefault(**values, *other)));
  int64_t rank = position.type().getRank();
  SmallVector<int64_t> places{-1};
  if ((*values)->isText)
    places.push_back(rank);
  (void)n.set(n.builder().createOrFold<GatherOp>(n.loc(), table.get(), position.get(), places,
                                                 allDims(rank)));
  if ((*values)->isText)
    n.markText(0);
  return success();
}

/// For each element, 1 at the place of its category and 0 at the others; of an unknown one, zeros,
/// or an error of the run.
static LogicalResult importOneHotEncoder(Node &n) {
  bool mayBeUnknown = n.integer("zeros", 1) != 0;
  std::optional<SmallVector<int64_t>> integers = n.integers("cats_int64s");
  std::optional<std::vector<std::string>> strings = n.strings("cats_strings");
  int64_t count = integers ? int64_t(integers->size()) : strings ? int64_t(strings->size()) : 0;
  if (count == 0 || (integers && strings))
    return n.error() << "expected categories in one of \"cats_int64s\" and \"cats_strings\"";
  List keys = integers ? listOf(n, *integers)
                       : List{textOf(*strings, {count}, *n.builder().getContext()), true};
  FailureOr<Expr> equal = equalKeys(n, keys);
  if (failed(equal))
    return failure();
  if (!mayBeUnknown &&
      failed(expectInRange(n, positionOf(n, *equal), count, "the categories of the node")))
    return failure();
  return n.set(equal->cast(n.builder().getF32Type()));
}

static LogicalResult importZipMap(Node &n) {
  return n.error() << "is not supported, since its results are maps: export the model with arrays "
                      "instead (skl2onnx: options={\"zipmap\": False}; onnxmltools: zipmap=False)";
}

void gradc::addCategoriesOps(OpTable &ops) {
  ops["ai.onnx.ml::LabelEncoder"] = {importLabelEncoder, 1, 1};
  ops["ai.onnx.ml::OneHotEncoder"] = {importOneHotEncoder, 1, 1};
  ops["ai.onnx.ml::ZipMap"] = {importZipMap, 1, 1};
  for (StringRef name : {"LabelEncoder", "OneHotEncoder", "ZipMap"})
    ops[("ai.onnx.ml::" + name).str()].strings = true;
}
