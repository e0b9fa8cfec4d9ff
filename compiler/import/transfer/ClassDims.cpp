// Walks from a classifier to the outputs. A node is an error unless it is known to work with any
// number of classes.
#include "dialects/Pch.h"

#include "compiler/import/onnx/States.h"
#include "compiler/import/transfer/ClassDims.h"
#include "compiler/import/transfer/Layers.h"

using namespace mlir;
using namespace gradc;

LogicalResult ClassDimWalk::refuse(const onnx::NodeProto &node, const Twine &why) {
  return emitError(where) << "head: node \"" << nodeName(model.nodeLoc(node)) << "\" ("
                          << node.op_type() << ") " << why;
}

void ClassDimWalk::carry(const onnx::NodeProto &node, int axis) {
  if (dims.values.try_emplace(node.output(0), axis).second)
    queue.push_back(node.output(0));
}

/// Finds the class axis of an initializer: exactly one axis must have `count` elements.
LogicalResult ClassDimWalk::addParameter(const onnx::NodeProto &node, StringRef name, int axis) {
  const onnx::TensorProto &tensor = *uses.initializer(name);
  int rank = tensor.dims_size(), at = axis < 0 ? rank + axis : axis;
  if (at < 0 || at >= rank || tensor.dims(at) != count)
    return refuse(node, "takes \"" + name + "\", whose dims are not those of its classes");
  for (const ValueUse &use : uses.of(name))
    if (use.node != &node)
      return refuse(node, "shares \"" + name + "\" with node \"" +
                              nodeName(model.nodeLoc(*use.node)) + "\", which needs the old size");
  dims.parameters[name.str()] = at;
  return success();
}

/// A second operand is either a bias of the classes, the same for all classes, or has a class dim
/// itself.
LogicalResult ClassDimWalk::combine(const ValueUse &use, int axis) {
  const onnx::NodeProto &node = *use.node;
  if (node.input_size() < 2)
    return refuse(node, "has one operand, expected two");
  const std::string &other = node.input(1 - use.operand);
  const onnx::TensorProto *tensor = uses.initializer(other);
  const onnx::NodeProto *producer = uses.producer(other);
  if (dims.values.contains(other)) {
    carry(node, axis);
    return success();
  }
  if (!tensor && producer && producer->op_type() == "Constant") {
    const onnx::AttributeProto *value = findAttribute(*producer, "value");
    if (!value || value->t().dims_size() == 0 ||
        llvm::all_of(value->t().dims(), [](int64_t dim) { return dim == 1; })) {
      carry(node, axis);
      return success();
    }
  }
  if (!tensor) { // may turn out to have a class dim
    pending.push_back(use);
    return success();
  }
  bool isSingle = llvm::all_of(tensor->dims(), [](int64_t dim) { return dim == 1; });
  if (!isSingle) {
    int matches = int(llvm::count(tensor->dims(), count));
    if (node.op_type() != "Add" || matches != 1)
      return refuse(node, "has numbers of its own for each class in \"" + other + "\"");
    int at = int(llvm::find(tensor->dims(), count) - tensor->dims().begin());
    if (failed(addParameter(node, other, at - tensor->dims_size())))
      return failure();
  }
  carry(node, axis);
  return success();
}

LogicalResult ClassDimWalk::reshape(const onnx::NodeProto &node, int axis) {
  if (node.input_size() < 2)
    return refuse(node, "has one operand, expected two");
  std::optional<SmallVector<int64_t>> shape = uses.integers(node.input(1));
  if (!shape)
    return refuse(node, "has a shape that is computed, and may contain the old number of classes");
  SmallVector<int> matches;
  int open = -1;
  for (auto [i, size] : llvm::enumerate(*shape)) {
    if (size == count)
      matches.push_back(int(i));
    if (size == -1)
      open = int(i);
  }
  // The first dim may be a batch of the same size.
  if (matches.size() > 1 || (matches.size() == 1 && matches[0] == 0 && shape->size() > 1))
    return refuse(node, "has a shape in which the dim of the classes is not clear");
  if (matches.empty() && open < 0)
    return refuse(node, "has a shape that fits the old number of classes only");
  int position = matches.empty() ? open : matches[0];
  // The classes stay in a dim that is copied, or in an open dim after the batch.
  if (matches.empty() && axis >= 0 && axis < int(shape->size()) && (*shape)[axis] == 0)
    position = axis;
  if (!matches.empty())
    dims.reshapes[node.output(0)] = {*shape, position};
  carry(node, position - int(shape->size()));
  return success();
}

/// Squeeze, Unsqueeze, and reductions of dims other than the classes.
LogicalResult ClassDimWalk::reduce(const onnx::NodeProto &node, int axis) {
  SmallVector<int64_t> axes;
  if (const onnx::AttributeProto *attribute = findAttribute(node, "axes"))
    axes.assign(attribute->ints().begin(), attribute->ints().end());
  else if (auto operand = node.input_size() > 1 ? uses.integers(node.input(1)) : std::nullopt)
    axes = *operand;
  // Only axes counted from the same end are comparable.
  bool isBehind = !axes.empty() && axis >= 0 && llvm::all_of(axes, [&](int64_t a) {
    return a > axis || (a < 0 && -a <= 2 && axis == 1);
  });
  bool isBefore = !axes.empty() && axis < 0 && llvm::all_of(axes, [](int64_t a) { return a == 1; });
  if (!isBehind && !(isBefore && node.op_type() != "Unsqueeze"))
    return refuse(node, "works on dims that may be the one of the classes");
  carry(node, axis);
  return success();
}

LogicalResult ClassDimWalk::transpose(const onnx::NodeProto &node, int axis) {
  const onnx::AttributeProto *order = findAttribute(node, "perm");
  if (!order)
    return refuse(node, "turns all dims around");
  int rank = order->ints_size(), from = axis < 0 ? rank + axis : axis;
  for (int i = 0; i < rank; ++i)
    if (order->ints(i) == from)
      carry(node, i - rank);
  return success();
}

LogicalResult ClassDimWalk::visit(const ValueUse &use, StringRef value, int axis) {
  const onnx::NodeProto &node = *use.node;
  StringRef op = node.op_type();
  if (use.operand < 0)
    return refuse(node, "reads \"" + value + "\" in a graph of its own");
  if (llvm::is_contained({"Add", "Sub", "Mul", "Div", "Pow"}, op))
    return combine(use, axis);
  if (use.operand != 0)
    return refuse(node, "takes \"" + value + "\" as operand " + Twine(use.operand));
  if (op == "Reshape")
    return reshape(node, axis);
  if (op == "Transpose")
    return transpose(node, axis);
  if (op == "Squeeze" || op == "Unsqueeze" || op.starts_with("Reduce"))
    return reduce(node, axis);
  bool isPool = op.starts_with("Global") || op == "AveragePool" || op == "MaxPool";
  bool resizes = op == "Resize" && (node.input_size() < 4 || node.input(3).empty());
  if ((isPool || resizes) && axis == 1) {
    carry(node, axis);
    return success();
  }
  if (op == "Flatten" && integerAttribute(node, "axis", 1) == 1) {
    carry(node, -1);
    return success();
  }
  static constexpr StringLiteral elementwise[] = {
      "Softmax", "LogSoftmax", "Hardmax", "Sigmoid", "Identity", "Dropout",  "Cast", "Relu",
      "Tanh",    "Softplus",   "Clip",    "Neg",     "Exp",      "Log",      "Sqrt", "Abs",
      "Erf",     "LeakyRelu",  "Elu",     "Gelu",    "Softsign", "HardSwish"};
  if (llvm::is_contained(elementwise, op)) {
    carry(node, axis);
    return success();
  }
  // The class dim ends here.
  if (op == "ArgMax" || op == "ArgMin" || op == "Shape" || op == "Size" ||
      ((op == "SoftmaxCrossEntropyLoss" || op == "NegativeLogLikelihoodLoss") &&
       node.input_size() < 3))
    return success();
  return refuse(node, "comes behind the classifier and may need the old number of classes, " +
                          Twine(count));
}

LogicalResult ClassDimWalk::fromNode(const onnx::NodeProto &node, StringRef weight, int axis) {
  const onnx::TensorProto &tensor = *uses.initializer(weight);
  count = tensor.dims(axis);
  dims.parameters[weight.str()] = axis;
  bool isConvolution = node.op_type() == "Conv";
  if (isConvolution && integerAttribute(node, "group", 1) != 1)
    return refuse(node, "has groups");
  if (node.input_size() > 2 && !node.input(2).empty()) {
    const onnx::TensorProto *bias = uses.initializer(node.input(2));
    if (!bias)
      return refuse(node, "has a computed bias");
    bool isSingle = llvm::all_of(bias->dims(), [](int64_t dim) { return dim == 1; });
    if ((!isSingle || count == 1) && bias->dims_size() &&
        failed(addParameter(node, bias->name(), -1)))
      return failure();
  }
  carry(node, isConvolution ? 1 : -1);
  return walk();
}

LogicalResult ClassDimWalk::walk() {
  while (!queue.empty()) {
    std::string value = queue.front();
    queue.pop_front();
    for (const ValueUse &use : uses.of(value))
      if (failed(visit(use, value, dims.values[value])))
        return failure();
    if (!queue.empty())
      continue;
    for (const ValueUse &use : std::exchange(pending, {})) {
      const std::string &other = use.node->input(1 - use.operand);
      if (!dims.values.contains(other))
        return refuse(*use.node,
                      "combines the classes with \"" + other + "\", which has no classes");
      carry(*use.node, dims.values[use.node->input(use.operand)]);
    }
  }
  return success();
}

FailureOr<ClassDims> ClassDimWalk::fromWeight(StringRef weight) {
  auto all = uses.of(weight);
  if (all.size() == 1 && all[0].node->op_type() == "Conv" && all[0].operand == 1) {
    if (failed(fromNode(*all[0].node, weight, 0)))
      return failure();
    return dims;
  }
  SmallVector<LinearUse> linear = linearUses(uses, weight);
  if (linear.size() != 1) {
    auto error = emitError(where) << "head: expected \"" << weight
                                  << "\" to be the weight of one Gemm, MatMul or Conv, found";
    for (auto [i, use] : llvm::enumerate(all))
      error << (i ? ", \"" : " \"") << nodeName(model.nodeLoc(*use.node)) << "\" ("
            << use.node->op_type() << ")";
    if (all.empty())
      error << " no node that uses it";
    return error;
  }
  if (failed(fromNode(*linear.front().node, weight, linear.front().inputsFirst ? 1 : 0)))
    return failure();
  return dims;
}

FailureOr<ClassDims> ClassDimWalk::fromOutput(StringRef output) {
  LastProduct last = lastProduct(uses, output);
  if (!last.weight.empty())
    return fromWeight(last.weight);
  if (last.node)
    return refuse(*last.node, "computes \"" + output + "\", and multiplies by no initializer");
  return emitError(where) << "head: no Gemm, MatMul or Conv computes \"" << output << "\"",
         failure();
}
