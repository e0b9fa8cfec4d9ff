// Applies the results of the walk over a classifier's graph.
#include "dialects/Pch.h"

#include "compiler/import/transfer/Heads.h"

#include "compiler/import/onnx/model/GraphBuilder.h"
#include "compiler/import/support/Names.h"
#include "compiler/import/transfer/ClassDims.h"

using namespace mlir;
using namespace gradc;

static void setClasses(onnx::ValueInfoProto &value, int axis, int64_t before, int64_t classes) {
  if (!value.type().tensor_type().has_shape())
    return;
  onnx::TensorShapeProto &shape = *value.mutable_type()->mutable_tensor_type()->mutable_shape();
  int at = axis < 0 ? shape.dim_size() + axis : axis;
  if (at >= 0 && at < shape.dim_size() && shape.dim(at).dim_value() == before)
    shape.mutable_dim(at)->set_dim_value(classes);
}

static void setClasses(onnx::TensorProto &tensor, int axis, int64_t classes) {
  int64_t bytes = int64_t(tensor.raw_data().size()) / std::max<int64_t>(tensor.dims(axis), 1);
  tensor.set_dims(axis, classes);
  tensor.set_raw_data(std::string(size_t(bytes * classes), '\0'));
}

/// Gives a node its own shape operand: other nodes may read the previous one.
static void setShape(onnx::GraphProto &graph, onnx::NodeProto &node,
                     const ClassDims::Target &target, int64_t classes) {
  SmallVector<int64_t> shape = target.shape;
  shape[target.position] = classes;
  std::string name = node.output(0) + ".shape_of_classes";
  GraphBuilder(graph).addInitializer(name, integersOf(shape));
  node.set_input(1, name);
}

static void apply(onnx::GraphProto &graph, const ClassDims &dims, int64_t before, int64_t classes) {
  auto change = [&](auto &list, const auto &axes, auto set) {
    for (auto &element : list)
      if (auto found = axes.find(element.name()); found != axes.end())
        set(element, found->second);
  };
  auto setTensor = [&](onnx::TensorProto &tensor, int axis) { setClasses(tensor, axis, classes); };
  auto setValue = [&](onnx::ValueInfoProto &value, int axis) {
    setClasses(value, axis, before, classes);
  };
  change(*graph.mutable_initializer(), dims.parameters, setTensor);
  // Up to IR version 3, initializers are also inputs.
  change(*graph.mutable_input(), dims.parameters, setValue);
  change(*graph.mutable_output(), dims.values, setValue);
  change(*graph.mutable_value_info(), dims.values, setValue);
  for (onnx::NodeProto &node : *graph.mutable_node())
    if (auto found = node.output_size() ? dims.reshapes.find(node.output(0)) : dims.reshapes.end();
        found != dims.reshapes.end())
      setShape(graph, node, found->second, classes);
}

static LogicalResult resize(const SpecFile &spec, OnnxModel &model, int index,
                            ResizedParameters &resized) {
  const spec::Head &head = spec.get().head(index);
  GraphUses uses(model.graph());
  SpecFile::Step block = {"head", index};
  Location where = spec.at({block, head.has_weight() ? "weight" : "output"});
  ClassDimWalk walk(model, uses, where);
  if (head.has_weight() && !model.initializer(head.weight()))
    return unknownName(where, "initializer", head.weight(), model.initializerNames());
  if (head.has_output() && !uses.producer(head.output())) {
    std::vector<std::string> outputs;
    for (const onnx::ValueInfoProto &output : model.graph().output())
      outputs.push_back(output.name());
    return unknownName(where, "output", head.output(), outputs);
  }
  FailureOr<ClassDims> dims =
      head.has_weight() ? walk.fromWeight(head.weight()) : walk.fromOutput(head.output());
  if (failed(dims))
    return failure();
  for (const auto &[name, axis] : dims->parameters) {
    const onnx::TensorProto &tensor = *model.initializer(name);
    if (!resized.try_emplace(name, tensor.dims().begin(), tensor.dims().end()).second)
      return emitError(where) << "head: \"" << name << "\" is of another head, too";
  }
  model.edit([&](onnx::ModelProto &proto) {
    apply(*proto.mutable_graph(), *dims, walk.classes(), head.classes());
  });
  return success();
}

LogicalResult gradc::resizeHeads(const SpecFile &spec, OnnxModel &model,
                                 ResizedParameters &resized) {
  bool ok = true;
  for (int i = 0; i < spec.get().head_size(); ++i)
    ok &= succeeded(resize(spec, model, i, resized));
  return success(ok);
}
