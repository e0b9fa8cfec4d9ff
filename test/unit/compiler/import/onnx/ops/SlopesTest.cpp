// First and second derivatives where a formula has a corner, a tie or a limit. The numbers are
// PyTorch's, or the function's own where it has a derivative and PyTorch does not compute it.
#include "dialects/Pch.h"

#include "mlir/Pass/PassManager.h"
#include "passes/Passes.h"
#include "test/unit/compiler/import/GraphText.h"
#include "test/unit/compiler/import/OneNode.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

namespace {

using Shape = OneNode::Shape;
constexpr float inf = std::numeric_limits<float>::infinity();
constexpr int32_t FLOAT16 = 10; ///< of TensorProto

class SlopesTest : public OneNodeTest {
protected:
  std::vector<Floats> slopes(const OneNode &one, const std::vector<std::string> &inputs) {
    return values(differentiated(one, inputs));
  }

  void expectNear(const Floats &found, const Floats &expected) {
    ASSERT_EQ(found.size(), expected.size());
    for (auto [k, value] : llvm::enumerate(expected))
      if (found[k] != value) // infinities have no difference
        EXPECT_NEAR(found[k], value, 1e-5) << "element " << k;
  }
  void expectSlopes(const OneNode &one, const Floats &first, const Floats &second = {}) {
    auto found = slopes(one, {"x0", "x0"});
    ASSERT_EQ(found.size(), 2u) << everything();
    expectNear(found[0], first);
    if (!second.empty())
      expectNear(found[1], second);
  }

private:
  /// All results but the node's own.
  std::vector<Floats> values(const OneNode &one) {
    auto imported = import(one);
    if (failed(imported))
      return {};
    PassManager passes(&context);
    passes.addPass(createDifferentiate());
    if (failed(passes.run(*imported->module)))
      return {};
    auto forward = imported->module->lookupSymbol<func::FuncOp>("forward");
    std::vector<HostTensor> arguments;
    for (auto [type, numbers] : llvm::zip(forward.getArgumentTypes(), one.data)) {
      arguments.emplace_back(cast<RankedTensorType>(type));
      for (auto [i, number] : llvm::enumerate(numbers))
        arguments.back().setFloat(int64_t(i), number);
    }
    std::vector<Floats> all;
    for (const HostTensor &result : Interpreter(*imported->module).run(forward, arguments)) {
      all.emplace_back();
      for (int64_t i = 0; i < result.size(); ++i)
        all.back().push_back(float(result.getFloat(i)));
    }
    all.erase(all.begin());
    return all;
  }
};

OneNode of(const char *op, const Floats &x, int32_t type = 1) {
  return OneNode(op, 22).input({int64_t(x.size())}, x, type);
}

TEST_F(SlopesTest, AsinhIsSmoothWhereItsFormulasMeet) {
  expectSlopes(of("Asinh", {-2, -1, -0.5, 0, 1, 1.0000001, 2}),
               {0.4472136, 0.7071068, 0.8944272, 1, 0.7071068, 0.7071068, 0.4472136},
               {0.1788854, 0.3535534, 0.3577709, 0, -0.3535534, -0.3535534, -0.1788854});
}

TEST_F(SlopesTest, ArcsAreSteepAtTheirEnds) {
  expectSlopes(of("Asin", {-1, -0.5, 0, 0.5, 1}), {inf, 1.1547005, 1, 1.1547005, inf});
  expectSlopes(of("Acos", {-1, -0.5, 0, 0.5, 1}), {-inf, -1.1547005, -1, -1.1547005, -inf});
  expectSlopes(of("Asin", {-0.5, 0, 0.5}), {1.1547005, 1, 1.1547005}, {-0.7698004, 0, 0.7698004});
  expectSlopes(of("Acos", {-0.5, 0, 0.5}), {-1.1547005, -1, -1.1547005},
               {0.7698004, 0, -0.7698004});
}

TEST_F(SlopesTest, SoftplusIsSmooth) {
  expectSlopes(of("Softplus", {-1, -0.0, 0, 1, -200, 200}), {0.2689414, 0.5, 0.5, 0.7310586, 0, 1},
               {0.1966119, 0.25, 0.25, 0.1966119, 0, 0});
}

TEST_F(SlopesTest, ExponentialUnitsHaveTheNegativeSlopeAtZero) {
  expectSlopes(of("Selu", {-1, -0.0, 0, 1}), {0.6467686, 1.7580993, 1.7580993, 1.0507010},
               {0.6467686, 1.7580993, 1.7580993, 0});
  expectSlopes(of("Elu", {-1, -0.0, 0, 1}).set("alpha", 2.0), {0.7357589, 2, 2, 1},
               {0.7357589, 2, 2, 0});
  expectSlopes(of("Celu", {-1, -0.0, 0, 1}).set("alpha", 2.0), {0.6065307, 1, 1, 1},
               {0.3032653, 0.5, 0.5, 0});
}

TEST_F(SlopesTest, NormsOfZerosAreFlat) {
  auto rows = [](const char *op, int64_t opset) {
    return OneNode(op, opset).input({2, 2}, {3, 4, 0, 0});
  };
  expectSlopes(rows("ReduceL2", 18).ints({1}), {0.6, 0.8, 0, 0}, {0.032, -0.024, 0, 0});
  expectSlopes(rows("LpNormalization", 22).set("p", int64_t(2)), {0.032, -0.024, 1, 1});
  for (int64_t p : {2, 3}) {
    float of34 = p == 2 ? 0.6f : 0.4448514f;
    float of43 = p == 2 ? 0.8f : 0.7908468f;
    expectSlopes(OneNode("GlobalLpPool", 22).input({2, 1, 2}, {3, 4, 0, 0}).set("p", p),
                 {of34, of43, 0, 0});
  }
}

TEST_F(SlopesTest, GeluIsFlatFarOut) {
  auto tanhForm = [](const Floats &x, int32_t type) {
    return of("Gelu", x, type).set("approximate", "tanh");
  };
  Floats flat{0, 0, 1, 1, 1};
  expectSlopes(tanhForm({-300, -256, 255, 256, 300}, FLOAT16), flat);
  expectSlopes(tanhForm({-3e38, -2e19, 20, 2e19, 3e38}, 1), flat);
  expectSlopes(tanhForm({-1, 0, 1}, 1), {-0.0829641, 0.5, 1.0829641});
}

TEST_F(SlopesTest, LargeWindowsGiveTheSlopeToTheFirstMaximum) {
  OneNode square = OneNode("MaxPool", 22)
                       .input({1, 1, 4, 5}, {0, 0, 0, 0, 0, 0, 7, 0, 7, 0, //
                                             0, 0, 0, 0, 0, 7, 0, 0, 0, 0})
                       .set("kernel_shape", Shape{4, 4});
  expectSlopes(square, {0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
  expectSlopes(square.set("pads", Shape{3, 3, 3, 3}),
               {6, 1, 1, 1, 4, 0, 16, 0, 8, 1, 0, 1, 1, 1, 1, 10, 1, 1, 1, 1});
}

TEST_F(SlopesTest, LargeAveragesDivideTheSlopeAmongTheirElements) {
  constexpr int64_t rows = 9, columns = 12, high = 5, wide = 7, step = 2, above = 2;
  OneNode average = OneNode("AveragePool", 22)
                        .input({1, 1, rows, columns})
                        .set("kernel_shape", Shape{high, wide})
                        .set("strides", Shape{1, step})
                        .set("pads", Shape{above, 0, 1, 3})
                        .set("count_include_pad", int64_t(1));
  Floats expected(rows * columns, 0);
  for (int64_t i = -above; i + high <= rows + 1; ++i)
    for (int64_t j = 0; j + wide <= columns + 3; j += step)
      for (int64_t row = std::max<int64_t>(i, 0); row < std::min(i + high, rows); ++row)
        for (int64_t column = j; column < std::min(j + wide, columns); ++column)
          expected[size_t(row * columns + column)] += 1.0f / (high * wide);
  auto found = slopes(average, {"x0"});
  ASSERT_EQ(found.size(), 1u) << everything();
  expectNear(found[0], expected);
}

TEST_F(SlopesTest, PowersChangeWithTheirExponentAtZero) {
  OneNode power = of("Pow", {2, 2, 4, 0.5, 0}).input({5}, {0, 1, 0, 0, 0});
  auto found = slopes(power, {"x0", "x1"});
  ASSERT_EQ(found.size(), 2u) << everything();
  expectNear(found[0], {0, 1, 0, 0, 0});
  expectNear(found[1], {0.5, 1.6931472, 0.25, 2, 1});
}

/// The slopes of dims that are read tap by tap: each element's are the weights of all results that
/// read it.
TEST_F(SlopesTest, ElementsOfResizedDimsHaveTheWeightsOfTheirReaders) {
  struct {
    int64_t size, result;
    bool isLinear;
  } cases[] = {{150, 400, true},  {300, 130, true}, {211, 307, false},
               {501, 333, false}, {64, 100, false}, {40, 60, false}};
  constexpr int64_t before = 2, after = 3;
  for (auto c : cases) {
    SCOPED_TRACE(c.size);
    OneNode one = OneNode("Resize", 19)
                      .input({before, c.size, after})
                      .nothing()
                      .nothing()
                      .ints({before, c.result, after})
                      .set("mode", c.isLinear ? "linear" : "nearest");
    std::vector<double> weights(size_t(c.size), 0);
    for (int64_t i = 0; i < c.result; ++i) {
      double at = (double(i) + 0.5) * double(c.size) / double(c.result) - 0.5;
      double below = c.isLinear ? std::floor(at) : std::ceil(at - 0.5), rest = at - below;
      for (int64_t k : {0, 1})
        weights[size_t(std::clamp<int64_t>(int64_t(below) + k, 0, c.size - 1))] +=
            !c.isLinear ? double(k == 0)
            : k == 0    ? 1 - rest
                        : rest;
    }
    Floats expected;
    for (int64_t i = 0; i < before * c.size * after; ++i)
      expected.push_back(float(weights[size_t(i / after % c.size)]));
    auto found = slopes(one, {"x0"});
    ASSERT_EQ(found.size(), 1u) << everything();
    expectNear(found[0], expected);
  }
}

/// The second half of the results is outside of the list. The others read the list's second half.
TEST_F(SlopesTest, ResultsOutsideARegionReadNothing) {
  OneNode crop = OneNode("Resize", 19)
                     .input({601})
                     .floats({2}, {0.5, 1.5})
                     .nothing()
                     .ints({601})
                     .set("mode", "linear")
                     .set("coordinate_transformation_mode", "tf_crop_and_resize")
                     .set("extrapolation_value", -1.0);
  Floats expected;
  for (int i = 0; i < 601; ++i)
    expected.push_back(i < 300 ? 0 : 1);
  auto found = slopes(crop, {"x0"});
  ASSERT_EQ(found.size(), 1u) << everything();
  expectNear(found[0], expected);
}

/// Of values whose extent only a run knows. What the elements behind it hold has no slope: they are
/// x[0] times the logarithm or inverse of 0.
TEST_F(SlopesTest, NothingBehindAnExtentHasASlope) {
  using graph_text::node, graph_text::number, graph_text::tensor;
  auto slopesOf = [&](const char *limit, const std::string &nodes) {
    std::string graph =
        tensor("input", "x0", "6") + number("limit", "f32", limit) + number("minus", "f32", "-1") +
        "initializer { name: 'first' data_type: 7 dims: 1 int64_data: 0 } " +
        node("Greater", "x0 limit", "above") + node("NonZero", "above", "p") +
        node("Squeeze", "p first", "k") + node("Gather", "x0 k", "v") +
        node("Cast", "k", "n", "attribute { name: 'to' type: 2 i: 1 } ") + nodes +
        node("ReduceSum", "w", "y0", "attribute { name: 'keepdims' type: 2 i: 0 } ") +
        "output { name: 'y0' } ";
    OneNode one("Identity", 17);
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(graph, one.model.mutable_graph()));
    one.data = {{1, -1, 2, -3, 4, 5}};
    auto found = slopes(one, {"x0"});
    EXPECT_FALSE(found.empty()) << everything();
    return found.empty() ? Floats() : found[0];
  };
  std::string axis = "attribute { name: 'axis' type: 2 i: 0 } ";
  expectNear(slopesOf("0", node("Softmax", "v", "s", axis) + node("Log", "s", "l") +
                               node("Mul", "l v", "w")),
             {-3.5149064f, 0, -1.7779022f, 0, -0.4360889f, -3.7184994f});
  // n is 2, 4 and 5.
  expectNear(slopesOf("1", node("Log", "n", "l") + node("Mul", "v l", "w")),
             {0, 0, std::log(2.0f), 0, std::log(4.0f), std::log(5.0f)});
  std::string column = "initializer { name: 'second' data_type: 7 dims: 1 int64_data: 1 } " +
                       node("Unsqueeze", "n second", "c") +
                       node("ReduceLogSum", "c", "l",
                            "attribute { name: 'axes' type: 7 ints: 1 } attribute { name: "
                            "'keepdims' type: 2 i: 0 } ");
  expectNear(slopesOf("1", column + node("Mul", "v l", "w")),
             {0, 0, std::log(2.0f), 0, std::log(4.0f), std::log(5.0f)});
  for (const std::string &inverse :
       {node("Reciprocal", "n", "i") + node("Mul", "v i", "w"), node("Div", "v n", "w"),
        node("Pow", "n minus", "i") + node("Mul", "v i", "w")})
    expectNear(slopesOf("1", inverse), {0, 0, 0.5f, 0, 0.25f, 0.2f});
  // The slope of a root, which is infinite behind the extent, times that of what it is the root of.
  expectNear(slopesOf("1", node("Mul", "v n", "m") + node("Sqrt", "m", "w")),
             {0, 0, 0.5f, 0, 0.5f, 0.5f});
}

} // namespace
