// Imports arbitrary bytes as an ONNX model; they must be accepted, or refused with a diagnostic.
// Half of the mutations change the model instead of its bytes.
#include "compiler/import/Import.h"
#include "compiler/import/onnx/Node.h"
#include "mlir/IR/Diagnostics.h"

#include <random>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

using namespace mlir;
using namespace gradc;

/// MLIR itself is not instrumented, so the bookkeeping of containers and arenas passed to it is
/// incomplete.
extern "C" const char *__asan_default_options() {
  return "detect_container_overflow=0:allow_user_poisoning=0";
}

/// A file in memory, since the importer takes a path.
static std::string fileOf(const uint8_t *data, size_t size) {
  static const int file = memfd_create("model.onnx", 0);
  if (ftruncate(file, 0) || pwrite(file, data, size, 0) != ssize_t(size))
    __builtin_trap();
  return "/proc/self/fd/" + std::to_string(file);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  // A context keeps all attributes it has seen, so it is replaced periodically.
  static std::unique_ptr<MLIRContext> context;
  static unsigned runs = 0;
  if (runs++ % 100 == 0)
    context = std::make_unique<MLIRContext>(MLIRContext::Threading::DISABLED);
  bool hasReason = false;
  ScopedDiagnosticHandler handler(context.get(), [&](Diagnostic &diagnostic) {
    hasReason |= diagnostic.getSeverity() == DiagnosticSeverity::Error;
    return success();
  });
  std::string path = fileOf(data, size);
  auto model = OnnxModel::read(*context, path);
  ImportOptions options;
  if (succeeded(model))
    for (const onnx::ValueInfoProto &input : (*model)->graph().input()) {
      for (const auto &dim : input.type().tensor_type().shape().dim())
        if (!dim.dim_param().empty())
          options.dims[dim.dim_param()] = 4;
      if (input.type().has_sequence_type())
        options.shapes[input.name()] = {2};
    }
  if (failed(importModel(*context, path, options)) && !hasReason)
    __builtin_trap();
  return 0;
}

namespace {

/// Changes a model like a user's mistake would: it remains readable.
class ModelMutator {
  unsigned below(size_t count) { return random() % count; }
  template <typename List> auto pick(List *list) { return list->Mutable(int(below(list->size()))); }

public:
  ModelMutator(onnx::ModelProto &model, unsigned seed)
      : graph(*model.mutable_graph()), model(model), random(seed) {}

  void mutate() {
    switch (below(8)) {
    case 0:
      return pick(graph.mutable_node())->set_op_type(opName());
    case 1:
      return connect(*pick(graph.mutable_node()));
    case 2:
      return changeAttribute(*pick(graph.mutable_node()));
    case 3:
      return changeTensor();
    case 4:
      return appendNode();
    case 5:
      return changeInput();
    case 6:
      return changeOpset();
    case 7:
      return std::swap(*pick(graph.mutable_node()), *pick(graph.mutable_node()));
    }
  }

private:
  int64_t number() {
    static constexpr int64_t odd[] = {-1,      0,          1,         2,         3,        4,
                                      6,       7,          16,        -2,        -7,       255,
                                      1 << 16, 1000000000, INT32_MAX, INT64_MAX, INT64_MIN};
    return odd[below(std::size(odd))];
  }

  std::string opName() {
    static const std::vector<std::string> names = [] {
      std::vector<std::string> names;
      for (const auto &op : onnxOps())
        names.push_back(op.getKey().str());
      llvm::sort(names);
      return names;
    }();
    return names[below(names.size())];
  }

  std::string valueName() {
    std::vector<std::string> names{""};
    for (const onnx::ValueInfoProto &input : graph.input())
      names.push_back(input.name());
    for (const onnx::TensorProto &tensor : graph.initializer())
      names.push_back(tensor.name());
    for (const onnx::NodeProto &node : graph.node())
      names.insert(names.end(), node.output().begin(), node.output().end());
    return names[below(names.size())];
  }

  void connect(onnx::NodeProto &node) {
    if (node.input().empty() || below(3) == 0)
      node.add_input(valueName());
    else
      *pick(node.mutable_input()) = valueName();
  }

  void changeAttribute(onnx::NodeProto &node) {
    const onnx::NodeProto &other = *pick(graph.mutable_node());
    if (node.attribute().empty() || below(3) == 0) {
      if (other.attribute_size())
        *node.add_attribute() = other.attribute(int(below(other.attribute_size())));
      return;
    }
    onnx::AttributeProto &attribute = *pick(node.mutable_attribute());
    if (below(8) == 0)
      attribute.set_type(int(below(12)));
    else if (attribute.ints_size())
      attribute.set_ints(int(below(attribute.ints_size())), number());
    else if (attribute.has_f())
      attribute.set_f(float(number()));
    else
      attribute.set_i(number());
  }

  void changeTensor() {
    if (graph.initializer().empty())
      return;
    onnx::TensorProto &tensor = *pick(graph.mutable_initializer());
    unsigned how = below(4);
    if (how == 0)
      tensor.set_data_type(int(below(24)));
    else if (how == 1 && tensor.dims_size())
      tensor.set_dims(int(below(tensor.dims_size())), number());
    else if (tensor.raw_data().size() >= 8) {
      int64_t value = number();
      size_t at = 8 * below(tensor.raw_data().size() / 8);
      std::memcpy(tensor.mutable_raw_data()->data() + at, &value, 8);
    }
  }

  void appendNode() {
    onnx::NodeProto &node = *graph.add_node();
    node = graph.node(int(below(graph.node_size())));
    node.set_name("node" + std::to_string(graph.node_size()));
    for (std::string &output : *node.mutable_output())
      output = "value" + std::to_string(random());
    connect(node);
    if (node.output_size())
      graph.add_output()->set_name(node.output(0));
  }

  void changeInput() {
    if (graph.input().empty())
      return;
    onnx::TypeProto::Tensor &type =
        *pick(graph.mutable_input())->mutable_type()->mutable_tensor_type();
    if (below(2) || type.shape().dim().empty())
      type.set_elem_type(int(below(24)));
    else
      pick(type.mutable_shape()->mutable_dim())->set_dim_value(number());
  }

  void changeOpset() {
    if (model.opset_import_size())
      model.mutable_opset_import(0)->set_version(6 + below(23));
  }

  onnx::GraphProto &graph;
  onnx::ModelProto &model;
  std::minstd_rand random;
};

} // namespace

extern "C" __attribute__((weak)) size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed) {
  onnx::ModelProto model;
  if (seed % 2 || !model.ParseFromArray(data, int(size)) || model.graph().node().empty())
    return LLVMFuzzerMutate(data, size, most);
  ModelMutator mutator(model, seed);
  for (unsigned i = 0; i <= seed / 2 % 3; ++i)
    mutator.mutate();
  std::string bytes = model.SerializePartialAsString();
  if (bytes.size() > most)
    return LLVMFuzzerMutate(data, size, most);
  std::memcpy(data, bytes.data(), bytes.size());
  return bytes.size();
}
