// Changes of a model that has been read: ties, and edits of what is imported and what is exported.
#include "dialects/Pch.h"

#include "compiler/import/onnx/model/GraphBuilder.h"
#include "compiler/import/onnx/model/OnnxModel.h"

using namespace mlir;
using namespace gradc;

LogicalResult OnnxModel::tie(StringRef a, StringRef b, bool transpose, Location where) {
  const onnx::TensorProto *first = initializer(a), *second = initializer(b);
  FailureOr<RankedTensorType> firstType = type(*first, where), secondType = type(*second, where);
  if (failed(firstType) || failed(secondType))
    return failure();
  ArrayRef<int64_t> shape = firstType->getShape();
  if (transpose && shape.size() != 2)
    return emitError(where) << "a transposed tie needs matrices, \"" << a << "\" is "
                            << describe(*firstType);
  auto expected = transpose ? firstType->clone({shape[1], shape[0]}) : *firstType;
  if (*secondType != expected)
    return emitError(where) << "expected \"" << b << "\" to be " << describe(expected) << " as \""
                            << a << "\"" << (transpose ? " transposed" : "") << ", found "
                            << describe(*secondType);

  size_t width = mlir::grad::elementBytes(firstType->getElementType());
  StringRef x = first->raw_data(), y = second->raw_data();
  int64_t columns = transpose ? shape[1] : 1,
          rows = transpose ? shape[0] : firstType->getNumElements();
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      if (x.substr((i * columns + j) * width, width) != y.substr((j * rows + i) * width, width))
        return emitError(where) << "\"" << a << "\" and \"" << b
                                << "\" hold different values, so they are not tied in this model";

  if (original.empty())
    original = proto->SerializeAsString();
  onnx::GraphProto &graph = *proto->mutable_graph();
  std::string alias = b.str();
  auto *list = graph.mutable_initializer();
  for (int i = 0; i < list->size(); ++i)
    if (list->Get(i).name() == alias) {
      list->DeleteSubrange(i, 1);
      break;
    }
  auto *inputs = graph.mutable_input();
  for (int i = inputs->size() - 1; i >= 0; --i)
    if (inputs->Get(i).name() == alias)
      inputs->DeleteSubrange(i, 1);
  initializers.erase(alias);
  ties[alias] = {a.str(), transpose};

  // A node that computes `b` from `a`, so the rest of the graph stays unchanged.
  GraphBuilder builder(graph, "tie:");
  builder.add(transpose ? "Transpose" : "Identity", {a.str()}, {alias});
  builder.moveToFront(graph.node_size() - 1);
  return success();
}

void OnnxModel::edit(llvm::function_ref<void(onnx::ModelProto &)> change) {
  change(*proto);
  for (const onnx::TensorProto &tensor : proto->graph().initializer())
    initializers[tensor.name()] = &tensor;
  if (original.empty())
    return;
  onnx::ModelProto whole;
  whole.ParseFromString(original);
  change(whole);
  for (onnx::TensorProto &tensor : *whole.mutable_graph()->mutable_initializer())
    if (tensor.has_raw_data()) { // replaces the data in a file
      tensor.clear_data_location();
      tensor.clear_external_data();
    }
  original = whole.SerializeAsString();
}

void OnnxModel::extend(llvm::function_ref<void(onnx::GraphProto &)> change) {
  if (original.empty())
    original = proto->SerializeAsString();
  change(*proto->mutable_graph());
  for (const onnx::TensorProto &tensor : proto->graph().initializer())
    initializers[tensor.name()] = &tensor;
}

LogicalResult OnnxModel::editExported(llvm::function_ref<void(onnx::ModelProto &)> change,
                                      Location where) {
  onnx::ModelProto whole;
  whole.ParseFromString(bytes());
  change(whole);
  if (whole.ByteSizeLong() > mostBytes)
    return emitError(where) << "the exported model would take " << whole.ByteSizeLong()
                            << " bytes, more than a file of its format holds";
  original = whole.SerializeAsString();
  return success();
}

OnnxModel::Tied OnnxModel::tiedTo(StringRef name) const {
  Tied tied{name, false};
  for (auto found = ties.find(name); found != ties.end(); found = ties.find(tied.initializer))
    tied = {found->second.first, tied.transposed != found->second.second};
  return tied;
}

std::string OnnxModel::bytes() const {
  return original.empty() ? proto->SerializeAsString() : original;
}
