// A training step that ranks compute as a pipeline: each of them runs one stage of the graph.
#ifndef PASSES_DISTRIBUTION_STAGES_H
#define PASSES_DISTRIBUTION_STAGES_H

#include "dialects/grad/Backward.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace gradc {

/// The transfers of a step have different numbers below this one.
inline constexpr size_t maxTransfers = (1 << 14) - 1;

/// The order in which stages compute the parts of a batch: one forward, one backward (1F1B). A
/// stage first runs as many forward parts as there are stages behind it, then backward and forward
/// parts in turn, so that it holds the values of that many parts at most.
class PipelineTurns {
public:
  PipelineTurns(int64_t stages, int64_t parts);

  /// A stage's turns: 0 comes before all parts, `last` after them.
  int64_t turnOf(int64_t stage, int64_t part, bool isBackward) const {
    return turns[index(stage, part, isBackward)];
  }
  int64_t last() const { return 2 * parts + 1; }
  /// When a turn begins, in units of one part of one stage.
  int64_t timeOf(int64_t stage, int64_t turn) const { return times[stage * (last() + 1) + turn]; }

private:
  size_t index(int64_t stage, int64_t part, bool isBackward) const {
    return size_t((stage * parts + part) * 2 + isBackward);
  }

  int64_t parts;
  std::vector<int64_t> turns, times;
};

} // namespace gradc

#endif
