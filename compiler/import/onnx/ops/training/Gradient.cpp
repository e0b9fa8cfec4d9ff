// Gradient from ai.onnx.preview.training: a request for derivatives of a value of the graph.
#include "dialects/Pch.h"

#include "compiler/import/onnx/ImportGraph.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

/// The strings of an attribute; empty if the node does not have it.
static std::vector<std::string> names(Node &n, StringRef attribute) {
  const onnx::AttributeProto *found = n.attribute(attribute, AttributeType::strings);
  return found ? std::vector<std::string>(found->strings().begin(), found->strings().end())
               : std::vector<std::string>();
}

/// The node asks for derivatives at the values of its operands. These must be the values that `y`
/// was computed from: the graph is not computed again for other values.
static LogicalResult expectOperands(Node &n, ArrayRef<std::string> xs, ArrayRef<std::string> zs) {
  if (xs.empty() || xs.size() + zs.size() != n.operandCount())
    return n.error() << "expected an operand for each name in xs and zs, found " << xs.size()
                     << " and " << zs.size() << " names and " << n.operandCount() << " operands";
  if (n.resultCount() > xs.size())
    return n.error() << "expected at most " << xs.size() << " results, one for each name in xs, "
                     << "found " << n.resultCount();
  bool ok = true;
  for (unsigned i = 0; i < n.operandCount(); ++i) {
    const std::string &name = i < xs.size() ? xs[i] : zs[i - xs.size()];
    if (n.operand(i) != n.getEntry().value(name)) {
      n.error() << "expected \"" << name << "\" itself as operand " << i << ", found \""
                << n.inputName(i) << "\"; derivatives at other values are not supported";
      ok = false;
    } else if (i < xs.size() && failed(n.expect(i, Kind::Float))) {
      ok = false;
    }
  }
  return success(ok);
}

/// For example "[N, 6]", the shape declared in the file.
static std::string declaredShape(const onnx::TensorShapeProto &shape) {
  std::string text;
  for (const auto &dim : shape.dim())
    text += (text.empty() ? "" : ", ") + (dim.has_dim_value() ? std::to_string(dim.dim_value())
                                          : dim.dim_param().empty() ? "?"
                                                                    : dim.dim_param());
  return "[" + text + "]";
}

/// A result declared with fewer dims than it has would be broadcast by its readers, silently.
static LogicalResult expectDeclared(Node &n, unsigned result) {
  for (const onnx::ValueInfoProto &declared : n.getEntry().getGraph().value_info()) {
    const onnx::TypeProto::Tensor &tensor = declared.type().tensor_type();
    if (declared.name() != n.resultName(result) || !tensor.has_shape())
      continue;
    ArrayRef<int64_t> shape = n.shape(result);
    bool fits = tensor.shape().dim_size() == int(shape.size());
    for (int d = 0; fits && d < int(shape.size()); ++d)
      fits =
          !tensor.shape().dim(d).has_dim_value() || tensor.shape().dim(d).dim_value() == shape[d];
    if (!fits)
      return n.error() << "expected \"" << declared.name() << "\" to have the shape of "
                       << n.describeOperand(result) << ", found it declared as "
                       << declaredShape(tensor.shape());
  }
  return success();
}

/// The sum of all elements. Its gradient has rows if the value has rows; the gradient of a plain
/// sum would be a repeated number.
static Expr sumOf(Expr y) {
  if (y.type().getRank() == 0)
    return y;
  bool hasRows = mayHoldBatch(y.getBuilder(), y.type(), ArrayRef<int64_t>{0});
  Expr terms = hasRows ? y * (zerosWithRowsOf(y) + 1.0) : y;
  return terms.sum(llvm::to_vector(llvm::seq(y.type().getRank())));
}

static LogicalResult importGradient(Node &n) {
  std::vector<std::string> xs = names(n, "xs");
  std::string of = n.string("y", "").str();
  if (failed(expectOperands(n, xs, names(n, "zs"))))
    return failure();
  EntryImport &entry = n.getEntry();
  Block *block = n.builder().getInsertionBlock();
  if (block != &entry.getFunction().front())
    return n.error()
           << "stands in a graph of another node; it is supported in the model's own graph";
  Value y = of.empty() ? Value() : entry.value(of);
  if (!y)
    return n.error() << "expected y to name a value of the graph, found \"" << of << "\"";
  if (!isa<FloatType>(getElementTypeOrSelf(y.getType())))
    return n.error() << "expected y to hold floats, found \"" << of << "\", "
                     << describe(y.getType());
  SmallVector<Value> targets;
  for (unsigned i = 0; i < xs.size(); ++i) {
    if (failed(expectDeclared(n, i)))
      return failure();
    targets.push_back(n.operand(i));
  }
  auto request = GradientOp::create(n.builder(), n.loc(), sumOf(n.expr(y)), targets);
  for (auto [i, gradient] : llvm::enumerate(request.getResults()))
    if (n.wants(i) && failed(n.set(i, gradient)))
      return failure();
  return success();
}

void gradc::addGradientOps(OpTable &ops) {
  ops["ai.onnx.preview.training::Gradient"] = {importGradient, 1, OnnxOp::any};
}
