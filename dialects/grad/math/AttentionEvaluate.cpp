// Attention and its gradient as plain loops: the reference for kernels and decompositions.
#include "dialects/grad/math/Attention.h"

#include "dialects/grad/math/Philox.h"

using namespace mlir;
using namespace mlir::grad;

static constexpr double infinity = std::numeric_limits<double>::infinity();

AttentionReference::AttentionReference(const AttentionForm &form, ArrayRef<HostTensor> operands)
    : form(form), sizes(form), operands(operands) {
  const HostTensor *next = operands.begin() + (form.isGradient() ? 6 : 3);
  if (form.mask)
    mask = next++;
  if (form.dropout) {
    seed = next++;
    step = next;
  }
}

double AttentionReference::dropout(int64_t b, int64_t h, int64_t t, int64_t s) const {
  if (!form.dropout)
    return 1;
  int64_t i = ((b * sizes.heads + h) * sizes.queries + t) * sizes.keys + s;
  uint32_t bits = Philox::words({uint32_t(i), 0, form.dropout->stream, 0},
                                {uint32_t(seed->getInt(0)), uint32_t(step->getInt(0))})[0];
  return bits >= dropThreshold(form.dropout->ratio) ? 1 / (1 - form.dropout->ratio) : 0;
}

int64_t AttentionReference::at(const HostTensor &tensor, int64_t b, int64_t h, int64_t i,
                               int64_t j) const {
  int64_t logical[] = {b, h, i, j};
  SmallVector<int64_t> index;
  for (auto [dim, size] : llvm::zip(form.order, tensor.getShape()))
    index.push_back(size == 1 ? 0 : logical[dim]);
  return linearize(index, tensor.getShape());
}

double AttentionReference::score(int64_t b, int64_t h, int64_t t, int64_t s) const {
  if (form.causal && s > t + *form.causal)
    return -infinity;
  double sum = 0;
  for (int64_t d = 0; d < sizes.size; ++d)
    sum += read(operands[0], b, h, t, d) * read(operands[1], b, h / sizes.group(), s, d);
  sum *= form.scale;
  if (!mask)
    return sum;
  double m = read(*mask, b, h, t, s);
  if (mask->getElementType().isInteger(1))
    return m != 0 ? sum : -infinity;
  return sum + m;
}

void AttentionOp::evaluate(ArrayRef<HostTensor> operands, MutableArrayRef<HostTensor> results) {
  AttentionForm form = getAttention();
  AttentionReference a(form, operands);
  forEachIndex({a.sizes.batch, a.sizes.heads, a.sizes.queries}, [&](ArrayRef<int64_t> i) {
    int64_t b = i[0], h = i[1], t = i[2];
    std::vector<double> weights;
    double top = -infinity, sum = 0;
    for (int64_t s = 0; s < a.sizes.keys; ++s) {
      weights.push_back(a.score(b, h, t, s));
      top = std::isnan(weights[s]) || weights[s] > top ? weights[s] : top;
    }
    bool isEmpty = top == -infinity;
    for (double &w : weights)
      sum += w = isEmpty ? 0 : std::exp(w - top);
    results[1].setFloat(a.at(results[1], b, h, t, 0), isEmpty ? 0 : top);
    results[1].setFloat(a.at(results[1], b, h, t, 1), isEmpty ? 0 : 1 / sum);
    for (int64_t e = 0; e < a.sizes.width; ++e) {
      double y = 0;
      for (int64_t s = 0; s < a.sizes.keys && !isEmpty; ++s)
        y += weights[s] / sum * a.dropout(b, h, t, s) *
             a.read(operands[2], b, h / a.sizes.group(), s, e);
      results[0].setFloat(a.at(results[0], b, h, t, e), y);
    }
  });
}

void AttentionGradOp::evaluate(ArrayRef<HostTensor> operands, MutableArrayRef<HostTensor> results) {
  AttentionForm form = getAttention();
  AttentionReference a(form, operands);
  const HostTensor &query = operands[0], &key = operands[1], &value = operands[2];
  const HostTensor &result = operands[3], &statistic = operands[4], &gradient = operands[5];
  std::vector<double> sums[3];
  for (auto [sum, tensor] : llvm::zip(sums, results))
    sum.assign(tensor.size(), 0);
  forEachIndex({a.sizes.batch, a.sizes.heads, a.sizes.queries}, [&](ArrayRef<int64_t> i) {
    int64_t b = i[0], h = i[1], t = i[2], g = h / a.sizes.group();
    double mean = 0;
    for (int64_t e = 0; e < a.sizes.width; ++e)
      mean += a.read(gradient, b, h, t, e) * a.read(result, b, h, t, e);
    for (int64_t s = 0; s < a.sizes.keys; ++s) {
      double p = std::exp(a.score(b, h, t, s) - a.read(statistic, b, h, t, 0)), dp = 0;
      p *= a.read(statistic, b, h, t, 1);
      double kept = a.dropout(b, h, t, s);
      for (int64_t e = 0; e < a.sizes.width; ++e) {
        double dy = a.read(gradient, b, h, t, e);
        dp += dy * a.read(value, b, g, s, e);
        sums[2][a.at(value, b, g, s, e)] += p * kept * dy;
      }
      double ds = p * (dp * kept - mean) * form.scale;
      for (int64_t d = 0; d < a.sizes.size; ++d) {
        sums[0][a.at(query, b, h, t, d)] += ds * a.read(key, b, g, s, d);
        sums[1][a.at(key, b, g, s, d)] += ds * a.read(query, b, h, t, d);
      }
    }
  });
  for (auto [sum, tensor] : llvm::zip(sums, results))
    for (int64_t i = 0; i < tensor.size(); ++i)
      tensor.setFloat(i, sum[i]);
}
