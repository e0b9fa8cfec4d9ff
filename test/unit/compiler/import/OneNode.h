// Models of one node, built and run in a test, for what ONNX's own cases leave out.
#ifndef TEST_UNIT_COMPILER_IMPORT_ONENODE_H
#define TEST_UNIT_COMPILER_IMPORT_ONENODE_H

#include "Importing.h"
#include "compiler/Interpreter.h"
#include "compiler/import/onnx/model/DataType.h"
#include "compiler/import/onnx/model/GraphBuilder.h"
#include "compiler/import/onnx/model/OnnxModel.h"
#include "llvm/Support/FileSystem.h"
#include <cmath>
#include <numeric>

namespace gradc {

using Floats = std::vector<float>;

/// `count` different numbers from -1 to 1.
inline Floats waveOf(int64_t count, double phase) {
  Floats values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(float(std::sin(phase + 0.7 * double(i))));
  return values;
}

/// `count` codes of 8 bits, `step` apart.
inline Floats codesOf(int64_t count, int64_t step, bool isSigned = false) {
  Floats values;
  for (int64_t i = 0; i < count; ++i) {
    auto code = uint8_t(i * step);
    values.push_back(isSigned ? float(int8_t(code)) : float(code));
  }
  return values;
}

/// `OneNode("Pad", 19).input({3}).ints({2, 1}).set("mode", "wrap")`. Inputs are f32 0, 1, 2, ... by
/// default; `ints` and `floats` are operands known at compile time.
class OneNode {
public:
  using Shape = std::vector<int64_t>;
  OneNode(llvm::StringRef op, int64_t opset, int outputs = 1) {
    model.set_ir_version(8);
    model.add_opset_import()->set_version(opset);
    model.mutable_graph()->add_node()->set_op_type(op.str());
    node().set_name("node");
    for (int i = 0; i < outputs; ++i) {
      node().add_output("y" + std::to_string(i));
      model.mutable_graph()->add_output()->set_name(node().output(i));
    }
  }

  OneNode &input(const Shape &shape, std::vector<float> values = {}, int32_t type = 1) {
    std::string name = "x" + std::to_string(node().input_size());
    auto *info = model.mutable_graph()->add_input();
    info->set_name(name);
    info->mutable_type()->mutable_tensor_type()->set_elem_type(type);
    auto *dims = info->mutable_type()->mutable_tensor_type()->mutable_shape();
    int64_t count = 1;
    for (int64_t d : shape) {
      dims->add_dim()->set_dim_value(d);
      count *= d;
    }
    if (values.empty()) {
      values.resize(count);
      std::iota(values.begin(), values.end(), 0.0f);
    }
    node().add_input(name);
    data.push_back(values);
    return *this;
  }
  /// An f32 input of such numbers.
  OneNode &wave(const Shape &shape, double phase) {
    return input(shape, waveOf(llvm::product_of(shape), phase));
  }
  OneNode &floats(const Shape &shape, const std::vector<float> &values) {
    onnx::TensorProto &tensor = initializer(1, shape);
    tensor.mutable_float_data()->Add(values.begin(), values.end());
    return *this;
  }
  OneNode &ints(const Shape &values) { return ints({int64_t(values.size())}, values); }
  OneNode &ints(const Shape &shape, const Shape &values) {
    onnx::TensorProto &tensor = initializer(7, shape);
    tensor.mutable_int64_data()->Add(values.begin(), values.end());
    return *this;
  }
  /// u8, known at compile time, or a type whose elements bytes hold.
  OneNode &bytes(const Shape &shape, const std::vector<uint8_t> &values, int32_t type = 2) {
    initializer(type, shape).set_raw_data(std::string(values.begin(), values.end()));
    return *this;
  }
  OneNode &nothing() {
    node().add_input("");
    return *this;
  }

  OneNode &in(llvm::StringRef domain) {
    node().set_domain(domain.str());
    return *this;
  }
  OneNode &set(llvm::StringRef name, const char *text) { return setTo(name, text); }
  OneNode &set(llvm::StringRef name, const std::vector<std::string> &texts) {
    return setTo(name, texts);
  }
  OneNode &set(llvm::StringRef name, int64_t value) { return setTo(name, value); }
  OneNode &set(llvm::StringRef name, double value) { return setTo(name, value); }
  OneNode &set(llvm::StringRef name, const Shape &values) { return setTo(name, values); }
  OneNode &setFloats(llvm::StringRef name, const Floats &values) { return setTo(name, values); }

  onnx::NodeProto &node() { return *model.mutable_graph()->mutable_node(0); }

  onnx::ModelProto model;
  std::vector<std::vector<float>> data;

private:
  onnx::TensorProto &initializer(int32_t type, const Shape &shape) {
    onnx::TensorProto &tensor = *model.mutable_graph()->add_initializer();
    tensor.set_name("c" + std::to_string(node().input_size()));
    tensor.set_data_type(type);
    tensor.mutable_dims()->Add(shape.begin(), shape.end());
    node().add_input(tensor.name());
    return tensor;
  }
  template <typename T> OneNode &setTo(llvm::StringRef name, const T &value) {
    NodeBuilder(node()).set(name, value);
    return *this;
  }
};

/// A node of ONNX Runtime's domain.
inline OneNode contrib(llvm::StringRef op, int outputs = 1) {
  return OneNode(op, 17, outputs).in("com.microsoft");
}

/// A node of the domain of classical machine learning.
inline OneNode learned(llvm::StringRef op, int outputs = 1) {
  return OneNode(op, 17, outputs).in("ai.onnx.ml");
}

/// The node with requests for the derivatives of the sum of y0 by the first of `inputs`, of the sum
/// of that by the second, and so on.
inline OneNode differentiated(OneNode one, const std::vector<std::string> &inputs = {"x0"}) {
  onnx::OperatorSetIdProto &opset = *one.model.add_opset_import();
  opset.set_domain("ai.onnx.preview.training");
  opset.set_version(1);
  onnx::GraphProto &graph = *one.model.mutable_graph();
  std::string of = "y0";
  for (const std::string &x : inputs) {
    GraphBuilder(graph, "of ")
        .add("Gradient", {x}, {of + "'"})
        .in("ai.onnx.preview.training")
        .set("xs", std::vector<std::string>{x})
        .set("y", of);
    of += "'";
    graph.add_output()->set_name(of);
  }
  return one;
}

class OneNodeTest : public Importing {
protected:
  mlir::FailureOr<Imported> import(const OneNode &one) {
    llvm::SmallString<128> path;
    int file;
    EXPECT_FALSE(llvm::sys::fs::createTemporaryFile("gradc-node", "onnx", file, path));
    llvm::raw_fd_ostream(file, /*shouldClose=*/true) << one.model.SerializeAsString();
    mlir::FailureOr<Imported> imported = importModel(context, path);
    llvm::sys::fs::remove(path);
    return imported;
  }

  /// The node's outputs; empty after a failure.
  llvm::SmallVector<mlir::grad::HostTensor> run(const OneNode &one) {
    auto imported = import(one);
    EXPECT_TRUE(mlir::succeeded(imported)) << everything();
    if (mlir::failed(imported))
      return {};
    auto forward = imported->module->lookupSymbol<mlir::func::FuncOp>("forward");
    std::vector<mlir::grad::HostTensor> arguments;
    for (auto [type, values] : llvm::zip(forward.getArgumentTypes(), one.data)) {
      arguments.emplace_back(mlir::cast<mlir::RankedTensorType>(type));
      for (auto [i, value] : llvm::enumerate(values))
        arguments.back().setFloat(int64_t(i), value);
    }
    return Interpreter(*imported->module).run(forward, arguments);
  }

  /// Expects the node's output `i` to equal `expected`, row by row.
  void expect(const OneNode &one, const OneNode::Shape &shape, const Floats &expected,
              unsigned i = 0) {
    auto results = run(one);
    ASSERT_GT(results.size(), i);
    EXPECT_EQ(results[i].getShape(), llvm::ArrayRef(shape));
    ASSERT_EQ(size_t(results[i].size()), expected.size());
    for (auto [k, value] : llvm::enumerate(expected))
      if (results[i].getFloat(int64_t(k)) != value) // infinities have no difference
        EXPECT_NEAR(results[i].getFloat(int64_t(k)), value, 1e-5) << "element " << k;
  }

  void expectFails(const OneNode &one, llvm::ArrayRef<llvm::StringRef> errors) {
    said.clear();
    EXPECT_TRUE(mlir::failed(import(one)));
    expectSaid(errors);
  }

  /// The number of ops of one kind that a node is imported to.
  template <typename Op> int count(const OneNode &one) {
    auto imported = import(one);
    EXPECT_TRUE(mlir::succeeded(imported)) << everything();
    int n = 0;
    if (mlir::succeeded(imported))
      imported->module.get()->walk([&](Op) { ++n; });
    return n;
  }
};

} // namespace gradc

#endif
