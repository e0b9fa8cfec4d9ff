// Writes ONNX, NumPy's format and a spec.
#include "test/unit/compiler/Perceptron.h"

#include "compiler/import/onnx/model/GraphBuilder.h"
#include "runtime/include/gradc/artifact.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>

using namespace gradc;

/// Adds an initializer of random numbers around 0.
static void addInitializer(GraphBuilder &builder, const std::string &name,
                           const std::vector<int64_t> &shape, double deviation,
                           std::mt19937 &random) {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  std::normal_distribution<float> normal(0, float(deviation));
  std::vector<float> values(size_t(count), 0.0f);
  if (deviation > 0)
    for (float &value : values)
      value = normal(random);
  builder.addInitializer(name, tensorOf(GRADC_F32, shape, rawData<float>(llvm::ArrayRef(values))));
}

/// Describes a graph input or output [`rows`, `columns`]; 0 rows: any number, N.
static void describe(onnx::ValueInfoProto &value, const std::string &name, int64_t rows,
                     int64_t columns) {
  value.set_name(name);
  auto &type = *value.mutable_type()->mutable_tensor_type();
  type.set_elem_type(GRADC_F32);
  auto &first = *type.mutable_shape()->add_dim();
  rows ? first.set_dim_value(rows) : first.set_dim_param("N");
  type.mutable_shape()->add_dim()->set_dim_value(columns);
}

/// Writes zeros as a .npy file.
static void writeZeros(const std::string &path, const std::string &type, int width,
                       const std::vector<int64_t> &shape) {
  std::string dims;
  int64_t count = 1;
  for (int64_t size : shape) {
    dims += std::to_string(size) + ", ";
    count *= size;
  }
  std::string header = "{'descr': '" + type + "', 'fortran_order': False, 'shape': (" + dims + ")}";
  header.resize((header.size() + 11 + 63) / 64 * 64 - 11, ' ');
  header += '\n';
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += {char(header.size() & 255), char(header.size() >> 8)};
  std::ofstream(path, std::ios::binary) << bytes + header + std::string(size_t(count * width), 0);
}

void gradc::test::writePerceptron(const std::string &folder, const std::vector<int64_t> &widths,
                                  int64_t batch, bool isFixed) {
  std::filesystem::create_directories(folder);
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(17);
  onnx::GraphProto &graph = *model.mutable_graph();
  graph.set_name("perceptron");
  int64_t rows = isFixed ? batch : 0;
  describe(*graph.add_input(), "x", rows, widths.front());
  describe(*graph.add_output(), "logits", rows, widths.back());
  std::mt19937 random{1};
  GraphBuilder builder(graph);
  std::string value = "x";
  for (size_t layer = 1; layer < widths.size(); ++layer) {
    bool isLast = layer + 1 == widths.size();
    std::string name = "fc" + std::to_string(layer), sums = isLast ? "logits" : name + ".out";
    addInitializer(builder, name + ".weight", {widths[layer - 1], widths[layer]},
                   std::sqrt(2.0 / double(widths[layer - 1])), random);
    addInitializer(builder, name + ".bias", {widths[layer]}, 0, random);
    builder.add("Gemm", {value, name + ".weight", name + ".bias"}, {sums});
    value = name + ".relu";
    if (!isLast)
      builder.add("Relu", {sums}, {value});
  }
  std::ofstream(folder + "/perceptron.onnx", std::ios::binary) << model.SerializeAsString();
  writeZeros(folder + "/x.npy", "<f4", 4, {batch, widths.front()});
  writeZeros(folder + "/labels.npy", "<i8", 8, {batch});
  std::ofstream(folder + "/train.textproto")
      << "model: \"perceptron.onnx\"\n"
         "loss { softmax_cross_entropy { logits: \"logits\"  labels: \"labels\" } }\n"
         "data {\n  source { npy { field { name: \"x\"  path: \"x.npy\" } "
         "field { name: \"labels\"  path: \"labels.npy\" } } }\n"
         "  stage { batch { size: "
      << batch << "  drop_remainder: true } }\n}\n";
}
