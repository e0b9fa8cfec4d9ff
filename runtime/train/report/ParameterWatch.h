// Norms and histograms of parameters and their gradients, in the log, by the spec's `watch` blocks.
#ifndef RUNTIME_TRAIN_REPORT_PARAMETERWATCH_H
#define RUNTIME_TRAIN_REPORT_PARAMETERWATCH_H

#include "runtime/core/artifact/Config.h"
#include "runtime/train/entry/EntryCall.h"
#include "runtime/train/report/Log.h"

namespace gradc::runtime {

class ParameterWatch {
public:
  ParameterWatch() = default; ///< watches nothing
  ParameterWatch(Session &session, Config job);

  bool isDue(int64_t step) const;
  /// Called before the step. `gradients` has returned the gradients of its batch; null if the step
  /// has no watched gradients.
  Status observe(int64_t step, std::string_view block, const EntryCall *gradients, Log &log) const;

private:
  struct Block {
    std::vector<std::string> patterns; ///< empty: all
    bool gradients, weights;
    int64_t every, bins;
    bool matches(const std::string &parameter) const;
  };

  Session *session = nullptr;
  std::vector<Block> blocks;
};

} // namespace gradc::runtime

#endif
