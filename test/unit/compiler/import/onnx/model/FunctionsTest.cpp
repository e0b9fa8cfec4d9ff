// Calls of a model's own functions: their results, and the errors for wrong ones.
#include "dialects/Pch.h"

#include "test/unit/compiler/import/OneNode.h"

using namespace mlir;
using namespace gradc;

namespace {

class FunctionsTest : public OneNodeTest {
protected:
  /// A function of one node of `op`.
  static onnx::FunctionProto &add(OneNode &one, const std::string &name, const std::string &op,
                                  const std::string &domain = "") {
    onnx::FunctionProto &function = *one.model.add_functions();
    function.set_name(name);
    function.set_domain("own");
    function.add_input("a");
    function.add_output("b");
    function.add_opset_import()->set_version(17);
    onnx::NodeProto &node = *function.add_node();
    node.set_op_type(op);
    node.set_domain(domain);
    node.add_input("a");
    node.add_output("b");
    return function;
  }
  static OneNode call(const char *name) {
    OneNode one(name, 17);
    one.node().set_domain("own");
    return one.input({2}, {-2, 3});
  }
};

TEST_F(FunctionsTest, BodiesTakeThePlaceOfCalls) {
  OneNode one = call("Outer");
  add(one, "Outer", "Inner", "own");
  onnx::FunctionProto &inner = add(one, "Inner", "Neg");
  inner.mutable_node(0)->set_output(0, "x0"); // the name of a value outside
  onnx::NodeProto &second = *inner.add_node();
  second.set_op_type("LeakyRelu");
  second.add_input("x0");
  second.add_output("b");
  onnx::AttributeProto &alpha = *second.add_attribute();
  alpha.set_name("alpha");
  alpha.set_type(1);
  alpha.set_ref_attr_name("slope");
  inner.add_attribute("slope");
  expect(one, {2}, {2, -0.03}); // LeakyRelu's own default
  onnx::AttributeProto &otherwise = *inner.add_attribute_proto();
  otherwise.set_name("slope");
  otherwise.set_type(1);
  otherwise.set_f(0.5);
  expect(one, {2}, {2, -1.5});
  NodeBuilder(*one.model.mutable_functions(0)->mutable_node(0)).set("slope", 2.0);
  expect(one, {2}, {2, -6});
}

TEST_F(FunctionsTest, AResultMayBeAnOperand) {
  OneNode one = call("Same");
  one.node().add_output("copy");
  one.model.mutable_graph()->add_output()->set_name("copy");
  onnx::FunctionProto &function = add(one, "Same", "Neg");
  function.add_output("a");
  expect(one, {2}, {2, -3}, 0);
  expect(one, {2}, {-2, 3}, 1);
}

TEST_F(FunctionsTest, WrongCallsAreErrors) {
  OneNode cycle = call("First");
  add(cycle, "First", "Second", "own");
  add(cycle, "Second", "First", "own");
  expectFails(cycle, {"function own::First calls itself"});

  OneNode many = call("One");
  add(many, "One", "Neg");
  expectFails(many.input({2}),
              {"function own::One expected at most 1 operands and 1 results, found 2 and 1"});

  OneNode old = call("Old");
  add(old, "Old", "Neg").mutable_opset_import(0)->set_version(9);
  expectFails(old, {"function own::Old expected the model's operator set 17, found 9"});

  OneNode wide = call("F0"); // 4^12 nodes
  for (int i = 0; i < 12; ++i) {
    onnx::FunctionProto &f =
        add(wide, "F" + std::to_string(i), i == 11 ? "Neg" : "F" + std::to_string(i + 1),
            i == 11 ? "" : "own");
    for (int k = 0; k < 3; ++k)
      *f.add_node() = f.node(0);
    for (int k = 0; k < 4; ++k)
      f.mutable_node(k)->set_output(0, "b" + std::to_string(k));
    f.set_output(0, "b0");
  }
  expectFails(wide, {"brings the model beyond 262144 nodes"});

  OneNode deep = call("F0");
  for (int i = 0; i < 80; ++i)
    add(deep, "F" + std::to_string(i), "F" + std::to_string(i + 1), "own");
  expectFails(deep, {"is called more than 64 functions deep"});
}

} // namespace
