// Passes the steps of a map stage to the listener of a description.
#ifndef RUNTIME_DATA_CHAIN_STEPTELLER_H
#define RUNTIME_DATA_CHAIN_STEPTELLER_H

#include "runtime/data/transform/Transform.h"
#include "runtime/include/gradc/data.h"

namespace gradc::runtime {

class StepTeller final : private TensorSteps {
public:
  StepTeller(const gradc_data_listener &listener, uint32_t map, const Field &before,
             const Field &after)
      : listener(listener), map(map), before(before), after(after) {}

  void tell(const Transform &transform) { transform.tell(before, *this); }

private:
  void cast(gradc_dtype to) override;
  void scale(int64_t axis, std::span<const double> factors,
             std::span<const double> offsets) override;
  void standardize(int64_t axis, int64_t count, std::string_view key, double epsilon) override;
  void oneHot(int64_t classes) override;
  void transpose(std::span<const int64_t> order) override;
  void resample(int64_t axis, const Taps &taps) override;
  void round() override;
  void random() override;
  void other() override;

  void tell(const gradc_data_step &step);

  const gradc_data_listener &listener;
  uint32_t map;
  const Field &before, &after;
};

} // namespace gradc::runtime

#endif
