// Transforms as operations on whole tensors, for exporting a pipeline together with a model.
#ifndef RUNTIME_DATA_TRANSFORM_TENSORSTEPS_H
#define RUNTIME_DATA_TRANSFORM_TENSORSTEPS_H

#include "runtime/include/gradc/artifact.h"

#include <span>
#include <string_view>

namespace gradc::runtime {

class Taps;

/// Receives the steps of one transform in order (include/gradc/data.h defines each).
class TensorSteps {
public:
  virtual void cast(gradc_dtype to) = 0;
  virtual void scale(int64_t axis, std::span<const double> factors,
                     std::span<const double> offsets) = 0;
  virtual void standardize(int64_t axis, int64_t count, std::string_view key, double epsilon) = 0;
  virtual void oneHot(int64_t classes) = 0;
  virtual void transpose(std::span<const int64_t> order) = 0;
  /// Selects or weights elements, according to the taps.
  virtual void resample(int64_t axis, const Taps &taps) = 0;
  virtual void round() = 0;
  virtual void random() = 0;
  virtual void other() = 0;

protected:
  ~TensorSteps() = default;
};

} // namespace gradc::runtime

#endif
