// LinearAttention against its recurrence, element by element in f64, with every rule.
#include "test/unit/compiler/import/OneNode.h"

#include <cmath>
#include <random>

using namespace gradc;

namespace {

/// A node with random operands, and its formulas. Two query heads share each key head.
struct Recurrence {
  std::string rule;
  bool hasPast = false, perKey = false, oneBeta = false;
  double scale = 0;
  static constexpr int64_t batch = 2, positions = 3, heads = 2, groups = 2, keys = 4, values = 3;

  bool isGated() const { return rule.substr(0, 5) == "gated"; }
  bool isDelta() const { return rule.substr(rule.size() - 5) == "delta"; }

  Floats random(const OneNode::Shape &shape) {
    int64_t count = 1;
    for (int64_t d : shape)
      count *= d;
    Floats numbers(static_cast<size_t>(count));
    for (float &number : numbers)
      number = float(int64_t(generator() % 2001) - 1000) / 1000;
    return numbers;
  }

  OneNode make() {
    OneNode one("LinearAttention", 27, 2);
    auto give = [&](int64_t width, Floats &numbers) {
      one.input({batch, positions, width}, numbers = random({batch, positions, width}));
    };
    give(heads * groups * keys, q);
    give(heads * keys, k);
    give(heads * values, v);
    OneNode::Shape state{batch, heads, keys, values};
    past = hasPast ? random(state) : Floats(size_t(batch * heads * keys * values));
    hasPast ? one.input(state, past) : one.nothing();
    if (isGated())
      give(perKey ? heads * keys : heads, g);
    else
      one.nothing();
    if (isDelta())
      give(oneBeta ? 1 : heads, beta);
    if (scale != 0)
      one.set("scale", scale);
    return one.set("update_rule", rule.c_str())
        .set("q_num_heads", int64_t(heads * groups))
        .set("kv_num_heads", int64_t(heads));
  }

  /// Both outputs.
  std::pair<Floats, Floats> run() const {
    Floats outputs(size_t(batch * positions * heads * groups * values)), last;
    double factor = scale != 0 ? scale : 1 / std::sqrt(double(keys));
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t h = 0; h < heads; ++h) {
        std::vector<double> s(past.begin() + (b * heads + h) * keys * values,
                              past.begin() + (b * heads + h + 1) * keys * values);
        for (int64_t t = 0; t < positions; ++t) {
          int64_t at = b * positions + t;
          auto key = [&](int64_t i) { return double(k[size_t((at * heads + h) * keys + i)]); };
          for (int64_t i = 0; i < keys && isGated(); ++i)
            for (int64_t j = 0; j < values; ++j)
              s[size_t(i * values + j)] *= std::exp(
                  double(g[size_t(perKey ? (at * heads + h) * keys + i : at * heads + h)]));
          std::vector<double> value(size_t(values), 0.0);
          for (int64_t j = 0; j < values; ++j) {
            double &next = value[size_t(j)] = double(v[size_t((at * heads + h) * values + j)]);
            for (int64_t i = 0; i < keys && isDelta(); ++i)
              next -= s[size_t(i * values + j)] * key(i);
            if (isDelta())
              next *= double(beta[size_t(oneBeta ? at : at * heads + h)]);
          }
          for (int64_t i = 0; i < keys; ++i)
            for (int64_t j = 0; j < values; ++j)
              s[size_t(i * values + j)] += key(i) * value[size_t(j)];
          for (int64_t group = 0; group < groups; ++group)
            for (int64_t j = 0; j < values; ++j) {
              int64_t head = at * heads * groups + h * groups + group;
              double sum = 0;
              for (int64_t i = 0; i < keys; ++i)
                sum += double(q[size_t(head * keys + i)]) * s[size_t(i * values + j)];
              outputs[size_t(head * values + j)] = float(factor * sum);
            }
        }
        last.insert(last.end(), s.begin(), s.end());
      }
    return {outputs, last};
  }

  Floats q, k, v, past, g, beta;
  std::mt19937 generator{11};
};

class LinearAttentionTest : public OneNodeTest {
protected:
  void expectFormulas(Recurrence r) {
    SCOPED_TRACE(r.rule);
    OneNode one = r.make();
    auto [outputs, last] = r.run();
    expect(one, {r.batch, r.positions, r.heads * r.groups * r.values}, outputs);
    expect(one, {r.batch, r.heads, r.keys, r.values}, last, 1);
  }
};

} // namespace

TEST_F(LinearAttentionTest, FollowsItsRecurrence) {
  expectFormulas({.rule = "linear"});
  expectFormulas({.rule = "linear", .hasPast = true, .scale = 0.25});
  expectFormulas({.rule = "gated", .hasPast = true});
  expectFormulas({.rule = "gated", .perKey = true});
  expectFormulas({.rule = "delta", .hasPast = true});
  expectFormulas({.rule = "delta", .oneBeta = true});
  expectFormulas({.rule = "gated_delta", .hasPast = true, .perKey = true});
}

TEST_F(LinearAttentionTest, SaysWhatItExpects) {
  auto of = [](const char *rule, int64_t queryHeads, int64_t heads, const OneNode::Shape &q,
               const OneNode::Shape &v) {
    return OneNode("LinearAttention", 27, 2)
        .set("update_rule", rule)
        .set("q_num_heads", queryHeads)
        .set("kv_num_heads", heads)
        .input(q)
        .input({2, 3, 8})
        .input(v);
  };
  OneNode::Shape q{2, 3, 16}, v{2, 3, 6};
  expectFails(of("fast", 4, 2, q, v),
              {"expected update_rule linear, gated, delta or gated_delta, found fast"});
  expectFails(of("gated", 4, 2, q, v), {"expected decay with update_rule gated"});
  expectFails(of("linear", 4, 2, q, v).nothing().input({2, 3, 2}),
              {"expected no decay with update_rule linear"});
  expectFails(of("linear", 3, 2, q, v),
              {"expected q_num_heads to be a multiple of kv_num_heads, found 3 and 2"});
  expectFails(of("linear", 4, 2, {2, 3, 3}, v), {"expected a head to have elements"});
  expectFails(of("linear", 4, 2, {2, 3, 18}, v), {"expected [2, 3, 16] as operand 0"});
  expectFails(of("linear", 4, 2, q, {2, 4, 6}), {"expected [2, 3, 6] as operand 2"});
  expectFails(of("linear", 4, 2, q, v).input({2, 2, 4, 4}), {"expected [2, 2, 4, 3] as operand 3"});
  expectFails(of("gated", 4, 2, q, v).nothing().input({2, 3, 3}),
              {"expected [2, 3, 2] or [2, 3, 8] as operand 4"});
  expectFails(of("delta", 4, 2, q, v).nothing().nothing().input({2, 3, 3}),
              {"expected [2, 3, 2] or [2, 3, 1] as operand 5"});
  expectFails(of("linear", 4, 2, q, v).input({2, 2, 4, 3}, {}, /*type=*/7), {"operand 3"});
}
