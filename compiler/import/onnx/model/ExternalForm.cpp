// Splits a model into a graph and the bytes of its tensors.
#include "dialects/Pch.h"

#include "compiler/import/onnx/model/ExternalForm.h"
#include "compiler/import/onnx/model/OnnxModel.h"
#include "runtime/include/gradc/artifact.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace gradc;

namespace {
/// Moves tensors one by one, so that no message ever holds all of them.
class Splitter {
public:
  Splitter(MLIRContext &context, StringRef path, Location where)
      : context(context), path(path), where(where) {}

  LogicalResult split(onnx::GraphProto &graph, bool isOuter) {
    for (onnx::TensorProto &tensor : *graph.mutable_initializer())
      if (failed(move(tensor, isOuter)))
        return failure();
    for (onnx::NodeProto &node : *graph.mutable_node())
      for (onnx::AttributeProto &attribute : *node.mutable_attribute())
        if ((attribute.has_t() && failed(move(*attribute.mutable_t(), /*isInitializer=*/false))) ||
            (attribute.has_g() && failed(split(*attribute.mutable_g(), /*isOuter=*/false))))
          return failure();
    return success();
  }

  std::string data;
  std::vector<InitializerRange> ranges; ///< in `data`

private:
  /// Small tensors stay, because readers inspect some of them before they load others.
  static constexpr size_t least = 1024, alignment = 64;

  LogicalResult move(onnx::TensorProto &tensor, bool isInitializer) {
    if (failed(inlineExternalData(tensor, path, where)) || failed(makeRaw(tensor, context, where)))
      return failure();
    if (tensor.raw_data().size() < least)
      return success();
    data.resize(llvm::alignTo(data.size(), alignment));
    if (isInitializer)
      ranges.push_back({tensor.name(), data.size(), tensor.raw_data().size()});
    auto add = [&](const char *key, std::string value) {
      onnx::StringStringEntryProto &entry = *tensor.add_external_data();
      entry.set_key(key);
      entry.set_value(std::move(value));
    };
    add("location", ExternalForm::placeholder());
    add("offset", std::to_string(data.size()));
    add("length", std::to_string(tensor.raw_data().size()));
    tensor.set_data_location(1);
    data += tensor.raw_data();
    tensor.clear_raw_data();
    return success();
  }

  MLIRContext &context;
  StringRef path;
  Location where;
};
} // namespace

/// The text, its tag, and a length of two bytes take GRADC_LOCATION_BYTES.
std::string ExternalForm::placeholder() {
  std::string text = "the name of the file of weights, which an export writes here";
  text.resize(GRADC_LOCATION_BYTES - 3, '.');
  return text;
}

FailureOr<ExternalForm> gradc::externalForm(MLIRContext &context, const std::string &model,
                                            StringRef path, Location where) {
  onnx::ModelProto proto;
  Splitter splitter(context, path, where);
  if (!proto.ParseFromString(model) ||
      failed(splitter.split(*proto.mutable_graph(), /*isOuter=*/true)))
    return failure();
  ExternalForm form;
  form.bytes = proto.SerializeAsString();
  form.graphBytes = form.bytes.size();
  std::string placeholder = ExternalForm::placeholder();
  for (size_t at = form.bytes.find(placeholder); at != std::string::npos;
       at = form.bytes.find(placeholder, at + placeholder.size()))
    form.locations.push_back(at - 3);
  // Ranges of tensors inside the graph come first, then those of moved tensors.
  form.ranges = initializerRanges(form.bytes);
  for (InitializerRange &range : splitter.ranges) {
    range.offset += form.graphBytes;
    form.ranges.push_back(std::move(range));
  }
  form.bytes += splitter.data;
  return form;
}
