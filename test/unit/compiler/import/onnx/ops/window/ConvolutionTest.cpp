// Conv and ConvTranspose against their definitions, and the errors for wrong ones.
#include "dialects/Pch.h"

#include "test/unit/compiler/import/OneNode.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

namespace {

using Shape = OneNode::Shape;

struct Geometry {
  const char *name;
  Shape x, weight;
  int64_t group = 1;
  Shape strides, dilations, pads, outputPadding;
};

Floats numbers(const Shape &shape, int seed) {
  Floats values;
  for (int64_t i = 0, n = llvm::product_of(shape); i < n; ++i)
    values.push_back(float((i * 37 + seed * 11) % 7 - 3));
  return values;
}

class ConvolutionTest : public OneNodeTest, public testing::WithParamInterface<Geometry> {
protected:
  /// Calls `body(x's position, y's position, weight's position)` for each product. `large` is the
  /// side whose elements are strides apart, `small` the side of the windows.
  template <typename Body>
  static void forEachProduct(const Geometry &g, ArrayRef<int64_t> large, ArrayRef<int64_t> small,
                             Body body) {
    // weight [channels of small, channels of large / group, k...]: groups split both.
    int64_t perSmall = small[1] / g.group, perLarge = large[1] / g.group, rank = g.x.size() - 2;
    Shape space{small[0], g.group, perSmall, perLarge};
    llvm::append_range(space, small.drop_front(2));
    llvm::append_range(space, ArrayRef(g.weight).drop_front(2));
    forEachIndex(space, [&](ArrayRef<int64_t> i) {
      Shape l{i[0], i[1] * perLarge + i[3]}, s{i[0], i[1] * perSmall + i[2]}, w{s[1], i[3]};
      for (int64_t d = 0; d < rank; ++d) {
        s.push_back(i[4 + d]);
        w.push_back(i[4 + rank + d]);
        l.push_back(s.back() * g.strides[d] + w.back() * g.dilations[d] - g.pads[d]);
        if (l.back() < 0 || l.back() >= large[d + 2])
          return;
      }
      body(linearize(l, large), linearize(s, small), linearize(w, g.weight));
    });
  }

  static OneNode node(const Geometry &g, StringRef op, int64_t results, Floats &bias) {
    bias = numbers({results}, 5);
    OneNode one = OneNode(op, 13)
                      .input(g.x, numbers(g.x, 1))
                      .input(g.weight, numbers(g.weight, 2))
                      .input({results}, bias)
                      .set("group", g.group)
                      .set("strides", g.strides)
                      .set("dilations", g.dilations)
                      .set("pads", g.pads);
    return one;
  }
};

TEST_P(ConvolutionTest, SumsProductsOverWindows) {
  const Geometry &g = GetParam();
  int64_t rank = g.x.size() - 2;
  Shape y{g.x[0], g.weight[0]};
  for (int64_t d = 0; d < rank; ++d)
    y.push_back(
        (g.x[d + 2] + g.pads[d] + g.pads[d + rank] - (g.weight[d + 2] - 1) * g.dilations[d] - 1) /
            g.strides[d] +
        1);
  Floats bias, x = numbers(g.x, 1), w = numbers(g.weight, 2), expected;
  OneNode one = node(g, "Conv", y[1], bias);
  int64_t image = llvm::product_of(ArrayRef(y).drop_front(2));
  for (int64_t i = 0; i < llvm::product_of(y); ++i)
    expected.push_back(bias[i / image % y[1]]);
  forEachProduct(g, g.x, y, [&](int64_t l, int64_t s, int64_t k) { expected[s] += x[l] * w[k]; });
  expect(one, y, expected);
  EXPECT_EQ(count<ConvolutionOp>(one), 1);
}

TEST_P(ConvolutionTest, TransposedSpreadsProducts) {
  const Geometry &g = GetParam();
  // The same geometry reversed: the windows produce x and read y.
  Geometry t = g;
  t.x[1] = g.weight[0];
  int64_t rank = g.x.size() - 2;
  Shape y{g.x[0], g.weight[1] * g.group};
  for (int64_t d = 0; d < rank; ++d)
    y.push_back(g.strides[d] * (g.x[d + 2] - 1) + g.outputPadding[d] +
                (g.weight[d + 2] - 1) * g.dilations[d] + 1 - g.pads[d] - g.pads[d + rank]);
  Floats bias, x = numbers(t.x, 1), w = numbers(g.weight, 2), expected;
  OneNode one = node(t, "ConvTranspose", y[1], bias).set("output_padding", g.outputPadding);
  int64_t image = llvm::product_of(ArrayRef(y).drop_front(2));
  for (int64_t i = 0; i < llvm::product_of(y); ++i)
    expected.push_back(bias[i / image % y[1]]);
  forEachProduct(g, y, t.x, [&](int64_t l, int64_t s, int64_t k) { expected[l] += x[s] * w[k]; });
  expect(one, y, expected);
}

INSTANTIATE_TEST_SUITE_P(
    , ConvolutionTest,
    testing::Values(
        Geometry{"plain", {2, 3, 5, 6}, {4, 3, 3, 3}, 1, {1, 1}, {1, 1}, {1, 1, 1, 1}, {0, 0}},
        Geometry{"strided", {1, 2, 7, 8}, {3, 2, 3, 2}, 1, {2, 3}, {1, 1}, {0, 1, 2, 1}, {1, 0}},
        Geometry{"dilated", {1, 1, 7, 8}, {2, 1, 2, 3}, 1, {1, 2}, {3, 2}, {2, 0, 0, 3}, {0, 1}},
        Geometry{"groups", {2, 4, 4, 5}, {6, 2, 3, 3}, 2, {1, 2}, {1, 1}, {1, 1, 1, 1}, {0, 0}},
        Geometry{"depthwise", {2, 3, 5, 5}, {3, 1, 3, 2}, 3, {2, 1}, {1, 2}, {1, 0, 0, 2}, {0, 0}},
        Geometry{"multiplied", {1, 3, 5, 4}, {6, 1, 2, 2}, 3, {1, 1}, {1, 1}, {0, 0, 1, 1}, {0, 0}},
        Geometry{"wide", {1, 12, 4, 5}, {3, 12, 3, 3}, 1, {2, 1}, {1, 1}, {1, 1, 1, 1}, {1, 0}},
        Geometry{"line", {2, 2, 9}, {3, 2, 4}, 1, {2}, {2}, {3, 1}, {1}},
        Geometry{"volume",
                 {1, 2, 4, 3, 5},
                 {2, 2, 2, 3, 2},
                 1,
                 {2, 1, 1},
                 {1, 1, 2},
                 {0, 1, 1, 1, 1, 0},
                 {0, 0, 0}}),
    [](const auto &info) { return info.param.name; });

class ConvTest : public OneNodeTest {};

/// One letter per dim tells how channels meet.
TEST_F(ConvTest, ChoosesTheSimplestForm) {
  auto form = [&](const Shape &x, const Shape &weight, int64_t group) {
    auto imported = import(OneNode("Conv", 13).input(x).input(weight).set("group", group));
    std::string dims;
    if (succeeded(imported))
      imported->module.get()->walk([&](ConvolutionOp op) { dims = op.getDims().str(); });
    return dims;
  };
  EXPECT_EQ(form({1, 4, 5, 5}, {4, 4, 3, 3}, 1), "nc,co->no");
  EXPECT_EQ(form({1, 4, 5, 5}, {4, 1, 3, 3}, 4), "nc,c->nc");
  EXPECT_EQ(form({1, 4, 5, 5}, {8, 1, 3, 3}, 4), "ngc,gco->ngo");
  EXPECT_EQ(form({1, 1, 5, 5}, {8, 1, 3, 3}, 1), "nc,co->no");
}

/// A transposed convolution of few channels is a product, whose windows are added up.
TEST_F(ConvTest, FoldsFewChannels) {
  auto convolutions = [&](int64_t filters, int64_t taps) {
    return count<ConvolutionOp>(
        OneNode("ConvTranspose", 13).input({1, 4, 5, 5}).input({4, filters, taps, taps}));
  };
  EXPECT_EQ(convolutions(1, 4), 0);
  EXPECT_EQ(convolutions(8, 2), 0);
  EXPECT_EQ(convolutions(1, 3), 1); // too few products for a vector
  EXPECT_EQ(convolutions(9, 4), 1);
}

/// Four results of three taps over four elements with stride 2: one element of padding.
TEST_F(ConvTest, PadsWhereAutoPadSays) {
  auto conv = [](const char *pad) {
    return OneNode("Conv", 13)
        .input({1, 1, 4})
        .input({1, 1, 3}, {1, 10, 100})
        .set("strides", Shape{2})
        .set("auto_pad", pad);
  };
  expect(conv("SAME_UPPER"), {1, 1, 2}, {210, 32});
  expect(conv("SAME_LOWER"), {1, 1, 2}, {100, 321});
  expect(conv("VALID"), {1, 1, 1}, {210});
}

TEST_F(ConvTest, PadsTransposedToAShape) {
  auto transposed = [](const char *pad, int64_t size) {
    return OneNode("ConvTranspose", 13)
        .input({1, 1, 2}, {1, 2})
        .input({1, 1, 3}, {1, 10, 100})
        .set("strides", Shape{2})
        .set("auto_pad", pad)
        .set("output_shape", Shape{size});
  };
  // The full result is 1 10 102 20 200.
  expect(transposed("SAME_UPPER", 4), {1, 1, 4}, {1, 10, 102, 20});
  expect(transposed("SAME_LOWER", 4), {1, 1, 4}, {10, 102, 20, 200});
  expect(transposed("NOTSET", 6), {1, 1, 6}, {1, 10, 102, 20, 200, 0});
}

TEST_F(ConvTest, SaysAllThatIsWrong) {
  OneNode one = OneNode("Conv", 13).input({1, 3, 5, 5}).input({4, 2, 3, 3});
  expectFails(OneNode(one)
                  .set("strides", Shape{1})
                  .set("dilations", Shape{0, 1})
                  .set("pads", Shape{1, 1, 1, -1})
                  .set("kernel_shape", Shape{3, 2})
                  .set("auto_pad", "SAME"),
              {"expected 2 channels in dim 1 of operand 0 (\"x0\", f32 [1, 3, 5, 5]) for operand 1 "
               "(\"x1\", f32 [4, 2, 3, 3])",
               "expected kernel_shape [3, 3] of operand 1 (\"x1\", f32 [4, 2, 3, 3]), found [3, 2]",
               "expected 2 numbers as strides, found 1",
               "expected dilations of at least 1 and below 2^20, found [0, 1]",
               "expected pads of at least 0 and below 2^20, found [1, 1, 1, -1]",
               "expected auto_pad NOTSET, VALID, SAME_UPPER or SAME_LOWER, found \"SAME\""});
  expectFails(OneNode(one).set("group", int64_t(3)),
              {"expected a group that divides dim 0 of operand 1 (\"x1\", f32 [4, 2, 3, 3]), found "
               "3"});
  expectFails(OneNode(one).set("group", int64_t(2)),
              {"expected 4 channels (2 groups of 2) in dim 1 of operand 0"});
}

TEST_F(ConvTest, SaysWhatDoesNotFit) {
  auto conv = [](const Shape &x, const Shape &weight) {
    return OneNode("Conv", 13).input(x).input(weight);
  };
  expectFails(conv({1, 2, 2, 5}, {4, 2, 3, 3}).set("dilations", Shape{1, 3}),
              {"expected a window of 3 to fit dim 2 of operand 0 (\"x0\", f32 [1, 2, 2, 5]) with "
               "pads 0 and 0",
               "expected a window of 7 to fit dim 3"});
  expectFails(conv({1, 2, 5}, {4, 2, 3}).input({3}),
              {"expected a bias of 4 elements, found operand 2 (\"x2\", f32 [3])"});
  expectFails(conv({1, 2}, {4, 2}), {"expected rank 3 or more, found operand 0"});
  expectFails(conv({1, 2, 5}, {4, 2, 3, 3}), {"expected a weight of rank 3, found operand 1"});
  expectFails(conv({1, 2, 5}, {4, 2, 0}), {"expected a weight with elements, found operand 1"});
  expectFails(conv({1, 2, 5}, {4, 2, 3}).set("auto_pad", "VALID").set("pads", Shape{1, 1}),
              {"expected no pads beside auto_pad VALID, found [1, 1]"});
  auto transposed = [](const Shape &weight) {
    return OneNode("ConvTranspose", 13).input({1, 2, 3}).input(weight);
  };
  expectFails(transposed({4, 2, 3}), {"expected 4 channels in dim 1 of operand 0"});
  expectFails(transposed({2, 2, 3}).set("output_padding", Shape{-1}),
              {"expected output_padding of at least 0 and below 2^20, found [-1]"});
  expectFails(transposed({2, 2, 3}).set("pads", Shape{3, 3}),
              {"expected a result of at least one element, found -1 from dim 2"});
  expectFails(transposed({2, 2, 3}).set("output_shape", Shape{3, 4}),
              {"expected 1 numbers as output_shape, found 2"});
}

} // namespace
