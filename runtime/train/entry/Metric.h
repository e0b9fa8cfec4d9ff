// A measure of the model over the rows of a batch or of an evaluation.
#ifndef RUNTIME_TRAIN_ENTRY_METRIC_H
#define RUNTIME_TRAIN_ENTRY_METRIC_H

#include <string>
#include <vector>

namespace gradc::runtime {

struct Metric {
  std::string name;
  double value = 0;
  std::vector<double> table = {}; ///< a square matrix, row-major, instead of the value
};

} // namespace gradc::runtime

#endif
