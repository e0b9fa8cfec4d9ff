// Inputs with given tensors: bound if a node reads them as a shape, ordinary inputs otherwise.
#include "dialects/Pch.h"

#include "compiler/import/onnx/model/GraphBuilder.h"
#include "compiler/import/onnx/model/OnnxModel.h"
#include "test/unit/compiler/import/Importing.h"
#include "llvm/Support/FileSystem.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

namespace {

/// y = Reshape(x, s + t).
class GivenInputsTest : public Importing {
protected:
  GivenInputsTest() {
    proto.set_ir_version(8);
    proto.add_opset_import()->set_version(17);
    addInput("x", 1, {4, 6});
    addInput("s", 7, {2});
    addInput("t", 7, {2});
    builder.add("Add", {"s", "t"}, {"shape"});
    builder.add("Reshape", {"x", "shape"}, {"y"});
    proto.mutable_graph()->add_output()->set_name("y");
  }

  FailureOr<Imported> importWith(const std::map<std::string, std::pair<int64_t, int64_t>> &given) {
    ImportOptions options;
    for (const auto &[name, values] : given) {
      HostTensor tensor(RankedTensorType::get({2}, IntegerType::get(&context, 64)));
      tensor.setInt(0, values.first);
      tensor.setInt(1, values.second);
      options.inputs[name] = tensor;
    }
    llvm::SmallString<128> path;
    int file;
    EXPECT_FALSE(llvm::sys::fs::createTemporaryFile("gradc-given", "onnx", file, path));
    llvm::raw_fd_ostream(file, /*shouldClose=*/true) << proto.SerializeAsString();
    FailureOr<Imported> imported = importModel(context, path, options);
    llvm::sys::fs::remove(path);
    return imported;
  }

  void addInput(const char *name, int32_t type, std::vector<int64_t> shape) {
    auto *info = proto.mutable_graph()->add_input();
    info->set_name(name);
    auto *tensor = info->mutable_type()->mutable_tensor_type();
    tensor->set_elem_type(type);
    for (int64_t size : shape)
      tensor->mutable_shape()->add_dim()->set_dim_value(size);
  }
  onnx::ModelProto proto;
  GraphBuilder builder{*proto.mutable_graph()};
};

TEST_F(GivenInputsTest, BindWhatAShapeFollowsFrom) {
  auto imported = importWith({{"s", {1, 2}}, {"t", {7, 1}}});
  ASSERT_TRUE(succeeded(imported)) << everything();
  EXPECT_EQ(imported->boundInputs, (std::set<std::string>{"s", "t"}));
  EXPECT_EQ(imported->foldedNodes, std::set<std::string>{"shape"});
  auto forward = imported->module->lookupSymbol<func::FuncOp>("forward");
  ASSERT_EQ(forward.getNumArguments(), 1u);
  EXPECT_EQ(forward.getArgAttrOfType<StringAttr>(0, "grad.name").getValue(), "x");
  EXPECT_EQ(describe(forward.getResultTypes()[0]), "f32 [8, 3]");
}

TEST_F(GivenInputsTest, AreConstantsWhereverABoundOneIsRead) {
  proto.mutable_graph()->add_output()->set_name("twice");
  builder.add("Add", {"s", "s"}, {"twice"});
  auto imported = importWith({{"s", {1, 2}}, {"t", {7, 1}}});
  ASSERT_TRUE(succeeded(imported)) << everything();
  auto forward = imported->module->lookupSymbol<func::FuncOp>("forward");
  EXPECT_EQ(forward.getNumArguments(), 1u);
}

TEST_F(GivenInputsTest, StayInputsWhereNoShapeFollows) {
  proto.mutable_graph()->clear_node();
  builder.add("Add", {"s", "t"}, {"y"});
  auto imported = importWith({{"s", {1, 2}}, {"t", {7, 1}}});
  ASSERT_TRUE(succeeded(imported)) << everything();
  EXPECT_TRUE(imported->boundInputs.empty());
  EXPECT_TRUE(imported->foldedNodes.empty());
  EXPECT_EQ(imported->module->lookupSymbol<func::FuncOp>("forward").getNumArguments(), 2u);
}

/// Exporters keep inputs that nothing reads, and other runtimes take them.
TEST_F(GivenInputsTest, AreNoArgumentsWhereNoOutputDependsOnThem) {
  addInput("aside", 7, {2});
  builder.add("Neg", {"aside"}, {"nothing"});
  auto imported = importWith({{"s", {1, 2}}, {"t", {7, 1}}, {"aside", {0, 0}}});
  ASSERT_TRUE(succeeded(imported)) << everything();
  EXPECT_EQ(imported->unreadInputs, std::set<std::string>{"aside"});
  EXPECT_EQ(imported->module->lookupSymbol<func::FuncOp>("forward").getNumArguments(), 1u);
}

TEST_F(GivenInputsTest, AreAllNeeded) {
  EXPECT_TRUE(failed(importWith({{"s", {1, 2}}})));
  expectSaid({"expected the shape to be known at compile time"});
}

} // namespace
