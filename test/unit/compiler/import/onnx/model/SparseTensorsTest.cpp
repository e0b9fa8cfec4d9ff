// Sparse initializers.
#include "dialects/Pch.h"

#include "test/unit/compiler/import/OneNode.h"

using namespace mlir;
using namespace gradc;
using namespace gradc::data_type;

namespace {

/// TensorProto's numbers of narrow types.
enum { INT4 = 22 };

class SparseTensorsTest : public OneNodeTest {
protected:
  using Shape = OneNode::Shape;

  /// x [2, 3] times a sparse matrix with the values 1, 2, ..
  static OneNode product(const Shape &dims, int64_t count, const Shape &indexShape,
                         const Shape &indices, int32_t type = FLOAT, int32_t indexType = INT64) {
    OneNode one = OneNode("MatMul", 17).input({2, 3}, {1, 2, 3, 4, 5, 6});
    one.node().add_input("w");
    onnx::SparseTensorProto &sparse = *one.model.mutable_graph()->add_sparse_initializer();
    sparse.mutable_dims()->Add(dims.begin(), dims.end());
    onnx::TensorProto &values = *sparse.mutable_values();
    values.set_name("w");
    values.set_data_type(type);
    values.add_dims(count);
    for (int64_t i = 0; i < count; ++i)
      if (type == FLOAT)
        values.add_float_data(float(i + 1));
      else
        values.add_int32_data(int32_t(i + 1));
    onnx::TensorProto &where = *sparse.mutable_indices();
    where.set_data_type(indexType);
    where.mutable_dims()->Add(indexShape.begin(), indexShape.end());
    if (indexType == INT64)
      where.mutable_int64_data()->Add(indices.begin(), indices.end());
    else
      where.mutable_int32_data()->Add(indices.begin(), indices.end());
    return one;
  }
};

TEST_F(SparseTensorsTest, BecomeDense) {
  // [[1, 0], [0, 2], [3, 0]], by places in row-major order and by rows and columns.
  expect(product({3, 2}, 3, {3}, {0, 3, 4}), {2, 2}, {10, 4, 22, 10});
  expect(product({3, 2}, 3, {3, 2}, {0, 0, 1, 1, 2, 0}), {2, 2}, {10, 4, 22, 10});
}

TEST_F(SparseTensorsTest, BecomeDenseInSubgraphs) {
  OneNode one = product({3, 2}, 3, {3}, {0, 3, 4}).input({}, {1}, BOOL);
  onnx::GraphProto branch;
  *branch.add_node() = one.node();
  branch.mutable_node(0)->clear_name();
  branch.mutable_node(0)->set_output(0, "product");
  branch.mutable_node(0)->mutable_input()->RemoveLast(); // the condition
  branch.add_output()->set_name("product");
  branch.mutable_sparse_initializer()->Swap(
      one.model.mutable_graph()->mutable_sparse_initializer());
  one.node().set_op_type("If");
  one.node().mutable_input()->DeleteSubrange(0, 2);
  for (const char *name : {"then_branch", "else_branch"}) {
    onnx::AttributeProto &attribute = *one.node().add_attribute();
    attribute.set_name(name);
    attribute.set_type(int32_t(AttributeType::graph));
    *attribute.mutable_g() = branch;
  }
  expect(one, {2, 2}, {10, 4, 22, 10});
}

TEST_F(SparseTensorsTest, SayWhatTheyExpect) {
  expectFails(product({3, 2}, 2, {2}, {0, 6}), {"expected indices from 0 to 5, found 6"});
  expectFails(product({3, 2}, 2, {2, 2}, {0, 0, 1, 2}), {"expected indices from 0 to 1, found 2"});
  expectFails(product({3, 2}, 2, {2}, {0, -1}), {"expected indices from 0 to 5, found -1"});
  expectFails(
      product({3, 2}, 2, {3}, {0, 1, 2}),
      {"expected an index in 64 bits for each of 2 values, or one for each of 2 dims, found "
       "int64 [3]"});
  expectFails(product({3, 2}, 2, {2}, {0, 1}, FLOAT, INT32), {"found int32 [2]"});
  expectFails(product({1 << 20, 1 << 20}, 1, {1}, {0}),
              {"expected sparse initializers of at most 1 GiB as dense ones, found [1048576, "
               "1048576]"});
  expectFails(product({3, 2}, 1, {1}, {0}, INT4),
              {"expected a list of values of 8 or more bits, found int4 [1]"});
}

} // namespace
