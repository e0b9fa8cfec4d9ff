// One C struct per step. Taps of single pixels are reported as indices, others as a matrix of
// weights.
#include "runtime/data/chain/StepTeller.h"

#include "runtime/data/image/Taps.h"

#include <algorithm>
#include <cassert>

namespace gradc::runtime {

static gradc_data_step stepOf(gradc_data_op op) {
  gradc_data_step step = {};
  step.op = op;
  return step;
}

void StepTeller::tell(const gradc_data_step &step) {
  gradc_data_field field = {before.name.c_str(), before.dtype,   uint32_t(before.shape.size()),
                            before.shape.data(), before.classes, 0};
  listener.step(listener.self, map, &field, &step);
}

void StepTeller::cast(gradc_dtype to) {
  gradc_data_step step = stepOf(GRADC_DATA_CAST);
  step.dtype = to;
  tell(step);
}

void StepTeller::scale(int64_t axis, std::span<const double> factors,
                       std::span<const double> offsets) {
  gradc_data_step step = stepOf(GRADC_DATA_SCALE);
  step.axis = axis;
  step.count = int64_t(factors.size());
  step.factors = factors.data();
  step.offsets = offsets.data();
  tell(step);
}

void StepTeller::standardize(int64_t axis, int64_t count, std::string_view key, double epsilon) {
  std::string name(key);
  gradc_data_step step = stepOf(GRADC_DATA_STANDARDIZE);
  step.axis = axis;
  step.count = count;
  step.key = name.c_str();
  step.epsilon = epsilon;
  tell(step);
}

void StepTeller::oneHot(int64_t classes) {
  gradc_data_step step = stepOf(GRADC_DATA_ONE_HOT);
  step.count = classes;
  tell(step);
}

void StepTeller::transpose(std::span<const int64_t> order) {
  gradc_data_step step = stepOf(GRADC_DATA_TRANSPOSE);
  step.count = int64_t(order.size());
  step.indices = order.data();
  tell(step);
}

void StepTeller::resample(int64_t axis, const Taps &taps) {
  int64_t from = taps.inputs(), to = taps.outputs();
  std::vector<int64_t> firsts;
  bool isIdentity = taps.isSelection() && from == to;
  for (int64_t i = 0; i < to; ++i) {
    assert(taps.first(i) != Taps::outside && "only random crops pad");
    firsts.push_back(taps.first(i));
    isIdentity &= firsts.back() == i;
  }
  if (isIdentity)
    return;
  gradc_data_step step = stepOf(taps.isSelection() ? GRADC_DATA_PICK : GRADC_DATA_WEIGH);
  step.axis = axis;
  step.count = to;
  std::vector<float> weights;
  if (taps.isSelection()) {
    step.indices = firsts.data();
  } else {
    weights.resize(size_t(to * from));
    for (int64_t i = 0; i < to; ++i)
      std::ranges::copy(taps.weights(i), weights.begin() + i * from + firsts[size_t(i)]);
    step.weights = weights.data();
  }
  tell(step);
}

void StepTeller::round() { tell(stepOf(GRADC_DATA_ROUND)); }

void StepTeller::random() {
  bool keepsType = before.dtype == after.dtype && before.shape == after.shape;
  tell(stepOf(keepsType ? GRADC_DATA_RANDOM : GRADC_DATA_OTHER));
}

void StepTeller::other() { tell(stepOf(GRADC_DATA_OTHER)); }

} // namespace gradc::runtime
