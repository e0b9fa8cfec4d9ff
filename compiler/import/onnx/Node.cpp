// Node: checks, and building blocks shared by the functions that import ops.
#include "dialects/Pch.h"

#include "compiler/import/onnx/ExportSigns.h"
#include "compiler/import/onnx/ImportGraph.h"
#include "compiler/import/onnx/model/GraphOrder.h"
#include "compiler/import/onnx/model/Narrow.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

Node::Node(EntryImport &entry, const onnx::NodeProto &proto, unsigned index,
           ArrayRef<Value> operands)
    : entry(entry), proto(proto), index(index), location(entry.getModel().nodeLoc(proto)),
      operands(operands), results(proto.output_size()) {}

int64_t Node::opset() const { return entry.getModel().opset(); }
bool Node::training() const { return entry.isTraining(); }
bool Node::mayDifferentiate() const { return entry.mayDifferentiate(); }
OpBuilder &Node::builder() { return entry.getBuilder(); }

InFlightDiagnostic Node::error() {
  return emitError(location) << (proto.domain().empty() ? "" : proto.domain() + "::")
                             << proto.op_type() << " ";
}

// Operands ----------------------------------------------------------------------------------------

RankedTensorType Node::type(unsigned i) const {
  return cast<RankedTensorType>(operands[i].getType());
}

const SmallVector<Value> *Node::findSequence(unsigned i) const {
  return i < operands.size() ? entry.findSequence(proto.input(int(i))) : nullptr;
}

Expr Node::expr(Value value) { return Expr(builder(), location, value); }

Expr Node::detached(Expr x) {
  return mayDifferentiate() ? x.splat(0).apply<StraightThroughOp>(x) : x;
}

bool Node::isDetach() const { return gradc::isDetach(proto); }
std::optional<int64_t> Node::paddingRow() const { return findPaddingRow(proto); }
std::optional<EmbeddingBagCall> Node::embeddingBag() const { return findEmbeddingBag(proto); }
std::optional<bool> Node::scatterMean() const { return findScatterMean(proto); }

std::string Node::describeOperand(unsigned i) const {
  bool initializer = entry.getModel().initializer(proto.input(i));
  return llvm::formatv("operand {0} ({1}\"{2}\", {3})", i, initializer ? "initializer " : "",
                       proto.input(i), entry.describeValue(operand(i)));
}

bool Node::isText(unsigned i) const { return operand(i) && entry.isText(operand(i)); }
void Node::markText(unsigned i) { entry.markText(results[i]); }
const NarrowType *Node::narrow(unsigned i) const {
  return operand(i) ? entry.findNarrow(operand(i)) : nullptr;
}
LogicalResult Node::setNarrow(unsigned i, Value codes, const NarrowType *type) {
  if (type && entry.findNarrow(codes) != type)
    entry.markNarrow(codes, type);
  return set(i, codes);
}

LogicalResult Node::expect(unsigned i, Kind kind) {
  Type e = element(i);
  bool isFloat = isa<FloatType>(e), isBool = e.isInteger(1);
  static constexpr const char *names[] = {"", "a number", "a float", "an integer", "a bool"};
  bool ok = kind == Kind::Any || (kind == Kind::Number && !isBool) ||
            (kind == Kind::Float && isFloat) || (kind == Kind::Int && !isFloat && !isBool) ||
            (kind == Kind::Bool && isBool);
  if (ok)
    return success();
  return error() << "expected " << names[int(kind)] << " as " << describeOperand(i);
}

LogicalResult Node::expectSameElement(unsigned i, unsigned j) {
  if (element(i) == element(j) && narrow(i) == narrow(j))
    return success();
  return error() << "expected operands of one element type, found " << describeOperand(i) << " and "
                 << describeOperand(j);
}

LogicalResult Node::expectRank(unsigned i, int64_t expected) {
  if (rank(i) == expected)
    return success();
  return error() << "expected rank " << expected << ", found " << describeOperand(i);
}

std::optional<HostTensor> Node::tryKnown(unsigned i) {
  ElementsAttr attribute;
  if (!operand(i) || extent(i) || type(i).getNumElements() > mostKnown ||
      !matchPattern(operands[i], m_Constant(&attribute)))
    return std::nullopt;
  return HostTensor(attribute);
}

FailureOr<HostTensor> Node::known(unsigned i, StringRef what) {
  if (extent(i))
    return error() << "expected " << what
                   << " to be known at compile time, but only a run knows the extent of "
                   << describeOperand(i);
  if (type(i).getNumElements() > mostKnown)
    return error() << "expected " << what << " of at most " << mostKnown << " elements, found "
                   << describeOperand(i);
  if (std::optional<HostTensor> value = entry.known(operands[i]))
    return *value;
  if (entry.lacksWork())
    return error() << "expected " << what << " to be known at compile time, but computing "
                   << describeOperand(i) << " exceeds the " << maxWork / workPerOp
                   << " ops that an import evaluates, counted once for each iteration of loops";
  return error() << "expected " << what << " to be known at compile time, but "
                 << describeOperand(i) << " is computed; only static shapes are supported";
}

FailureOr<SmallVector<int64_t>> Node::knownInts(unsigned i, StringRef what) {
  if (failed(expect(i, Kind::Int)))
    return failure();
  if (rank(i) > 1)
    return error() << "expected a list as " << what << ", found " << describeOperand(i);
  FailureOr<HostTensor> value = known(i, what);
  if (failed(value))
    return failure();
  SmallVector<int64_t> values;
  for (int64_t k = 0; k < value->size(); ++k)
    values.push_back(value->getInt(k));
  return values;
}

void Node::fixRows(unsigned i, llvm::function_ref<bool(int64_t)> isRead) {
  if (operand(i))
    entry.fixRows(operand(i), nodeName(location), /*mayBeProportional=*/false, isRead);
}

void Node::fixRowsOfSizes(unsigned i) {
  if (operand(i))
    entry.fixRows(operand(i), nodeName(location), /*mayBeProportional=*/true,
                  [](int64_t) { return true; });
}

void Node::sizeByRows(Value sized, int64_t dim, unsigned i, int64_t element) {
  if (operand(i))
    entry.sizeByRows(sized, dim, operand(i), element, nodeName(location));
}

void Node::numberRows(Value numbers, unsigned i) { entry.numberRows(numbers, operand(i)); }

// Attributes --------------------------------------------------------------------------------------

/// For example "a list of integers"; the index is ONNX's number of the type.
static std::string attributeTypeName(int32_t type) {
  static constexpr const char *names[] = {
      "undefined", "a float",          "an integer",         "a string",         "a tensor",
      "a graph",   "a list of floats", "a list of integers", "a list of strings"};
  return type >= 0 && type < int32_t(std::size(names)) ? names[type]
                                                       : "of type " + std::to_string(type);
}

const onnx::AttributeProto *Node::attribute(StringRef name, AttributeType type) {
  read.insert(name);
  for (const onnx::AttributeProto &a : proto.attribute()) {
    if (a.name() != name)
      continue;
    // In IR version 1, only the value tells the attribute's type.
    if (!a.type() || a.type() == int32_t(type))
      return &a;
    if (mistyped.insert(name).second)
      error() << "expected attribute \"" << name << "\" to be " << attributeTypeName(int32_t(type))
              << ", found " << attributeTypeName(a.type());
  }
  return nullptr;
}

bool Node::has(StringRef name) {
  return llvm::any_of(proto.attribute(), [&](auto &a) { return a.name() == name; });
}

int64_t Node::integer(StringRef name, int64_t otherwise) {
  const onnx::AttributeProto *a = attribute(name, AttributeType::integer);
  return a ? a->i() : otherwise;
}

double Node::real(StringRef name, double otherwise) {
  const onnx::AttributeProto *a = attribute(name, AttributeType::real);
  return a ? double(a->f()) : otherwise;
}

StringRef Node::string(StringRef name, StringRef otherwise) {
  const onnx::AttributeProto *a = attribute(name, AttributeType::string);
  return a ? StringRef(a->s()) : otherwise;
}

std::optional<SmallVector<int64_t>> Node::integers(StringRef name) {
  const onnx::AttributeProto *a = attribute(name, AttributeType::integers);
  if (!a)
    return std::nullopt;
  return SmallVector<int64_t>(a->ints().begin(), a->ints().end());
}

std::optional<SmallVector<float>> Node::reals(StringRef name) {
  const onnx::AttributeProto *a = attribute(name, AttributeType::reals);
  if (!a)
    return std::nullopt;
  return SmallVector<float>(a->floats().begin(), a->floats().end());
}

std::optional<std::vector<std::string>> Node::strings(StringRef name) {
  const onnx::AttributeProto *a = attribute(name, AttributeType::strings);
  if (!a)
    return std::nullopt;
  return std::vector<std::string>(a->strings().begin(), a->strings().end());
}

FailureOr<std::optional<SmallVector<int64_t>>> Node::integersOrOperand(StringRef name, unsigned i) {
  if (std::optional<SmallVector<int64_t>> values = integers(name))
    return std::optional(*values);
  if (!operand(i))
    return std::optional<SmallVector<int64_t>>();
  FailureOr<SmallVector<int64_t>> values = knownInts(i, name);
  if (failed(values))
    return failure();
  return std::optional(*values);
}

FailureOr<int64_t> Node::axis(int64_t value, int64_t rank) {
  if (value < -rank || value >= rank)
    return error() << "expected an axis from " << -rank << " to " << rank - 1 << ", found "
                   << value;
  return value < 0 ? value + rank : value;
}

FailureOr<SmallVector<int64_t>> Node::axes(ArrayRef<int64_t> values, int64_t rank) {
  SmallVector<int64_t> dims;
  for (int64_t v : values) {
    FailureOr<int64_t> dim = axis(v, rank);
    if (failed(dim))
      return failure();
    dims.push_back(*dim);
  }
  llvm::sort(dims);
  if (std::adjacent_find(dims.begin(), dims.end()) != dims.end()) {
    auto diagnostic = error() << "expected distinct axes, found [";
    llvm::interleaveComma(values, diagnostic);
    return diagnostic << "]";
  }
  return dims;
}

FailureOr<SmallVector<int64_t>>
Node::axesInOrder(const std::optional<SmallVector<int64_t>> &values) {
  if (!values)
    return llvm::to_vector(llvm::seq<int64_t>(0, rank(0)));
  if (failed(axes(*values, rank(0))))
    return failure();
  return llvm::map_to_vector(*values, [&](int64_t v) { return *axis(v, rank(0)); });
}

// Building ----------------------------------------------------------------------------------------

std::optional<SmallVector<int64_t>> gradc::broadcastShape(ArrayRef<int64_t> a,
                                                          ArrayRef<int64_t> b) {
  if (a.size() < b.size())
    std::swap(a, b);
  SmallVector<int64_t> shape(a);
  for (auto [to, n] : llvm::zip(MutableArrayRef(shape).take_back(b.size()), b)) {
    if (to == 1)
      to = n;
    else if (n != 1 && n != to)
      return std::nullopt;
  }
  return shape;
}

Value Node::broadcast(Value value, ArrayRef<int64_t> shape) {
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getShape() == shape)
    return value;
  RankedTensorType result = type.clone(shape);
  // A constant of one element becomes a splat of any size, which repeats no data.
  DenseElementsAttr splat;
  if (matchPattern(value, m_Constant(&splat)) && splat.isSplat())
    return ConstantOp::create(builder(), location, result, splat.resizeSplat(result));
  SmallVector<int64_t> kept, dims;
  int64_t offset = int64_t(shape.size()) - type.getRank();
  for (int64_t d = 0; d < type.getRank(); ++d)
    if (type.getDimSize(d) == shape[d + offset]) {
      kept.push_back(type.getDimSize(d));
      dims.push_back(d + offset);
    }
  return expr(value).reshape(kept).broadcast(result, dims);
}

FailureOr<SmallVector<Value>> Node::broadcastOperands(unsigned begin, unsigned end) {
  SmallVector<int64_t> common(shape(begin));
  for (unsigned i = begin + 1; i < end; ++i) {
    auto next = broadcastShape(common, shape(i));
    if (!next) {
      auto diagnostic = error() << "expected shapes that broadcast to one, found ";
      llvm::interleave(
          llvm::seq(begin, end), diagnostic, [&](unsigned k) { diagnostic << describeOperand(k); },
          " and ");
      return diagnostic;
    }
    common = *next;
  }
  if (failed(expectSensible(common)))
    return failure();
  SmallVector<Value> values;
  for (unsigned i = begin; i < end; ++i)
    values.push_back(broadcast(operand(i), common));
  return values;
}

LogicalResult Node::expectSensible(ArrayRef<int64_t> shape) {
  if (fits(shape))
    return success();
  auto diagnostic =
      error() << "expected a result with sizes of 0 or more and fewer than 2^40 elements, found [";
  llvm::interleaveComma(shape, diagnostic);
  return diagnostic << "]";
}

Value Node::constant(const HostTensor &value) {
  return mlir::grad::constant(builder(), location, value);
}

Value Node::constantInts(ArrayRef<int64_t> values, bool scalar) {
  SmallVector<int64_t> shape;
  if (!scalar)
    shape.push_back(values.size());
  HostTensor tensor(RankedTensorType::get(shape, builder().getI64Type()));
  for (auto [i, v] : llvm::enumerate(values))
    tensor.setInt(i, v);
  return constant(tensor);
}

// Results -----------------------------------------------------------------------------------------

bool Node::isRead(unsigned i) const {
  if (!wants(i))
    return false;
  const std::string &name = proto.output(int(i));
  const onnx::GraphProto &graph = entry.getGraph();
  return llvm::any_of(graph.output(), [&](auto &output) { return output.name() == name; }) ||
         llvm::any_of(graph.node(), [&](auto &node) { return readsName(node, name); });
}

LogicalResult Node::set(unsigned i, Value value) {
  if (i < results.size())
    results[i] = value;
  return success();
}

LogicalResult Node::setSequence(unsigned i, ArrayRef<Value> values) {
  withoutValue.insert(i);
  if (wants(i))
    entry.setSequence(proto.output(int(i)), values);
  return success();
}

LogicalResult Node::setAbsent(unsigned i) {
  withoutValue.insert(i);
  if (wants(i))
    entry.setAbsent(proto.output(int(i)));
  return success();
}

LogicalResult Node::finish() {
  bool ok = mistyped.empty();
  for (const onnx::AttributeProto &a : proto.attribute()) {
    if (!a.ref_attr_name().empty()) {
      error() << "attribute \"" << a.name()
              << "\" refers to a function's attribute, but the node is in no function";
      ok = false;
    } else if (!read.contains(a.name())) {
      error() << "attribute \"" << a.name() << "\" is not known in "
              << entry.getModel().describeOpset(proto.domain());
      ok = false;
    }
  }
  for (unsigned i = 0; i < results.size(); ++i)
    if (wants(i) && !results[i] && !withoutValue.contains(i)) {
      error() << "output " << i << " (\"" << proto.output(i) << "\") is not supported";
      ok = false;
    }
  return success(ok);
}
