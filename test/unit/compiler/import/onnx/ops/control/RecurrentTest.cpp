// RNN, GRU, and LSTM against ONNX's formulas, element by element in f64, with every option.
#include "test/unit/compiler/import/OneNode.h"

#include <cmath>
#include <random>

using namespace gradc;
using llvm::StringRef;

namespace {

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

/// A node with random operands, and its formulas.
struct Recurrent {
  std::string op;
  int64_t steps = 4, rows = 3, width = 2, hidden = 5, directions = 1;
  bool reverse = false, layout = false, bias = true, lengths = false, peepholes = false;
  bool resetsAfter = false, couplesInput = false, relu = false;
  double clip = 0;

  int64_t gates() const { return op == "RNN" ? 1 : op == "GRU" ? 3 : 4; }
  bool isLstm() const { return op == "LSTM"; }

  Floats random(int64_t count) {
    Floats values(static_cast<size_t>(count));
    for (float &value : values)
      value = float(int64_t(generator() % 2001) - 1000) / 1000;
    return values;
  }

  OneNode make() {
    OneNode one(op, 14, isLstm() ? 3 : 2);
    OneNode::Shape state{directions, rows, hidden}, in{steps, rows, width};
    if (layout) {
      std::swap(state[0], state[1]);
      std::swap(in[0], in[1]);
    }
    auto give = [&](const OneNode::Shape &shape, Floats &values) {
      int64_t count = 1;
      for (int64_t d : shape)
        count *= d;
      one.input(shape, values = random(count));
    };
    give(in, x);
    give({directions, gates() * hidden, width}, w);
    give({directions, gates() * hidden, hidden}, r);
    bias ? give({directions, 2 * gates() * hidden}, b) : void(one.nothing());
    if (lengths)
      one.input({rows}, length = {4, 2, 3}, /*type=*/6);
    else
      one.nothing();
    give(state, h0);
    if (isLstm())
      give(state, c0);
    if (peepholes)
      give({directions, 3 * hidden}, p);
    one.set("hidden_size", hidden).set("layout", int64_t(layout));
    one.set("direction", directions == 2 ? "bidirectional" : reverse ? "reverse" : "forward");
    if (clip > 0)
      one.set("clip", clip);
    if (op == "GRU")
      one.set("linear_before_reset", int64_t(resetsAfter));
    if (isLstm())
      one.set("input_forget", int64_t(couplesInput));
    if (relu)
      one.set("activations", std::vector<std::string>(size_t(directions), "ReLU"));
    return one;
  }

  double clipped(double v) const { return clip > 0 ? std::clamp(v, -clip, clip) : v; }

  /// The contribution of `values` to gate `g` of unit `u`, through `weights` [directions, gates *
  /// hidden, n].
  double product(const Floats &weights, const std::vector<double> &values, int64_t d, int64_t g,
                 int64_t u) const {
    double sum = 0;
    int64_t n = int64_t(values.size());
    for (int64_t k = 0; k < n; ++k)
      sum += double(weights[size_t(((d * gates() + g) * hidden + u) * n + k)]) * values[size_t(k)];
    return sum;
  }
  double biasOf(int64_t d, int64_t half, int64_t g, int64_t u) const {
    return bias ? b[size_t(((d * 2 + half) * gates() + g) * hidden + u)] : 0;
  }
  double peephole(int64_t d, int64_t g, int64_t u, double seen) const {
    return peepholes ? p[size_t((d * 3 + g) * hidden + u)] * seen : 0;
  }

  /// Computes one step of one row, which updates `h` and `c`.
  void step(const std::vector<double> &in, int64_t d, std::vector<double> &h,
            std::vector<double> &c) const {
    std::vector<double> next(h), cell(c), reset(h);
    auto both = [&](int64_t g, int64_t u) {
      return product(w, in, d, g, u) + product(r, h, d, g, u) + biasOf(d, 0, g, u) +
             biasOf(d, 1, g, u);
    };
    if (op == "GRU")
      for (int64_t u = 0; u < hidden; ++u)
        reset[size_t(u)] *= sigmoid(clipped(both(1, u)));
    for (int64_t u = 0; u < hidden; ++u) {
      size_t i = size_t(u);
      if (op == "RNN") {
        double sum = clipped(both(0, u));
        next[i] = relu ? std::max(sum, 0.0) : std::tanh(sum);
      } else if (op == "GRU") {
        double z = sigmoid(clipped(both(0, u))), gate = sigmoid(clipped(both(1, u)));
        double recurrent = resetsAfter ? gate * (product(r, h, d, 2, u) + biasOf(d, 1, 2, u))
                                       : product(r, reset, d, 2, u) + biasOf(d, 1, 2, u);
        double candidate =
            std::tanh(clipped(product(w, in, d, 2, u) + biasOf(d, 0, 2, u) + recurrent));
        next[i] = (1 - z) * candidate + z * h[i];
      } else {
        double input = sigmoid(clipped(both(0, u) + peephole(d, 0, u, c[i])));
        double forget =
            couplesInput ? 1 - input : sigmoid(clipped(both(2, u) + peephole(d, 2, u, c[i])));
        cell[i] = forget * c[i] + input * std::tanh(clipped(both(3, u)));
        double output = sigmoid(clipped(both(1, u) + peephole(d, 1, u, cell[i])));
        next[i] = output * std::tanh(cell[i]);
      }
    }
    h = next;
    c = cell;
  }

  /// The position of [t, d, row, unit] in Y, and of [d, row, unit] in the last states.
  size_t at(int64_t t, int64_t d, int64_t row, int64_t u) const {
    return size_t(layout ? ((row * steps + t) * directions + d) * hidden + u
                         : ((t * directions + d) * rows + row) * hidden + u);
  }
  size_t at(int64_t d, int64_t row, int64_t u) const {
    return size_t(layout ? (row * directions + d) * hidden + u : (d * rows + row) * hidden + u);
  }

  /// Y, Y_h and Y_c.
  std::vector<Floats> expected() const {
    std::vector<Floats> results(3, Floats(size_t(directions * rows * hidden)));
    results[0].resize(size_t(steps * directions * rows * hidden));
    for (int64_t d = 0; d < directions; ++d)
      for (int64_t row = 0; row < rows; ++row) {
        std::vector<double> h, c;
        for (int64_t u = 0; u < hidden; ++u) {
          h.push_back(h0[at(d, row, u)]);
          c.push_back(isLstm() ? c0[at(d, row, u)] : 0);
        }
        int64_t count = lengths ? int64_t(length[size_t(row)]) : steps;
        for (int64_t k = 0; k < count; ++k) {
          int64_t t = reverse || d == 1 ? count - 1 - k : k;
          std::vector<double> in;
          for (int64_t i = 0; i < width; ++i)
            in.push_back(x[size_t(((layout ? row * steps + t : t * rows + row)) * width + i)]);
          step(in, d, h, c);
          for (int64_t u = 0; u < hidden; ++u)
            results[0][at(t, d, row, u)] = float(h[size_t(u)]);
        }
        for (int64_t u = 0; u < hidden; ++u) {
          results[1][at(d, row, u)] = float(h[size_t(u)]);
          results[2][at(d, row, u)] = float(c[size_t(u)]);
        }
      }
    return results;
  }

  std::mt19937 generator{7};
  Floats x, w, r, b, length, h0, c0, p;
};

class RecurrentTest : public OneNodeTest {
protected:
  void check(Recurrent cell) {
    SCOPED_TRACE(cell.op);
    auto results = run(cell.make());
    std::vector<Floats> expected = cell.expected();
    ASSERT_EQ(results.size(), cell.isLstm() ? 3u : 2u) << everything();
    for (auto [result, values] : llvm::zip(results, expected)) {
      ASSERT_EQ(size_t(result.size()), values.size());
      for (auto [i, value] : llvm::enumerate(values))
        ASSERT_NEAR(result.getFloat(int64_t(i)), value, 2e-6) << "element " << i;
    }
  }
};

TEST_F(RecurrentTest, ComputesTheFormulas) {
  for (const char *op : {"RNN", "GRU", "LSTM"}) {
    check({.op = op});
    check({.op = op, .bias = false});
    check({.op = op, .reverse = true});
    check({.op = op, .layout = true, .clip = 0.3});
    check({.op = op, .directions = 2, .lengths = true});
    check({.op = op, .directions = 2, .layout = true, .lengths = true});
  }
}

TEST_F(RecurrentTest, HasTheOptionsOfItsOp) {
  check({.op = "RNN", .directions = 2, .relu = true});
  check({.op = "GRU", .resetsAfter = true});
  check({.op = "GRU", .bias = false, .resetsAfter = true});
  check({.op = "LSTM", .peepholes = true});
  check({.op = "LSTM", .directions = 2, .lengths = true, .peepholes = true, .couplesInput = true});
}

OneNode &setNumbers(OneNode &one, const char *name, const Floats &values) {
  NodeBuilder(one.node()).set(name, llvm::ArrayRef(values));
  return one;
}

TEST_F(RecurrentTest, OnlyActivationsWithAParameterConsumeAValue) {
  auto of = [](const std::string &first, const std::string &second) {
    return OneNode("RNN", 14)
        .input({1, 1, 1}, {-2})
        .floats({2, 1, 1}, {1, 1})
        .floats({2, 1, 1}, {0, 0})
        .set("direction", "bidirectional")
        .set("activations", std::vector<std::string>{first, second});
  };
  OneNode one = of("Relu", "LeakyRelu");
  expect(setNumbers(one, "activation_alpha", {0.5}), {1, 2, 1, 1}, {0, -1});
  OneNode two = of("LeakyRelu", "Affine");
  setNumbers(two, "activation_alpha", {0.5, 3});
  expect(setNumbers(two, "activation_beta", {4}), {1, 2, 1, 1}, {-1, -2});
  OneNode three = of("Relu", "LeakyRelu");
  expect(setNumbers(three, "activation_alpha", {0.5, 0.25}), {1, 2, 1, 1}, {0, -1});
  EXPECT_TRUE(
      StringRef(everything()).contains("of the 2 numbers of activation_alpha, the first 1 "))
      << everything();
}

TEST_F(RecurrentTest, SaysWhatIsWrong) {
  auto expectError = [&](OneNode one, StringRef what) {
    EXPECT_TRUE(mlir::failed(import(one)));
    EXPECT_TRUE(StringRef(everything()).contains(what)) << everything();
  };
  OneNode sideways = Recurrent{.op = "GRU"}.make();
  sideways.node().mutable_attribute(2)->set_s("sideways"); // direction
  expectError(sideways, "expected direction forward, reverse or bidirectional, found sideways");
  Recurrent narrow{.op = "LSTM"};
  OneNode one = narrow.make();
  one.node().mutable_attribute(0)->set_i(6); // hidden_size
  expectError(one, "expected [1, 24, 2] as operand 1");
  expectError(Recurrent{.op = "RNN"}.make().set("activations", std::vector<std::string>{"Cube"}),
              "has no activation function \"Cube\"");
  expectError(
      Recurrent{.op = "RNN"}.make().set("activations", std::vector<std::string>{"Tanh", "Tanh"}),
      "expected 1 activations, found 2");
  expectError(Recurrent{.op = "RNN"}.make().set("clip", -1.0), "expected a positive clip");
}

} // namespace
