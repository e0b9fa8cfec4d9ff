// The output of `gradc plan`: kernels, work, memory, and its owners at the peak.
#ifndef COMPILER_PLAN_H
#define COMPILER_PLAN_H

#include "compiler/Forecast.h"

#include <optional>

namespace gradc {

/// A node of an entry's schedule.
struct PlannedNode {
  /// The kernel, or "copy", "if", "loop of 4", "loop of at most 4", "sum over ranks".
  std::string what;
  std::string node;
  unsigned depth = 0;     ///< bodies around it
  int64_t otherwise = -1; ///< an if: the number of the first node of its else body, if it has one
  bool isKernel = false;
  int64_t flops = 0, bytes = 0, units = 0; ///< of one launch; of a sum, those that a rank sends
  std::optional<NodeForecast> time = {};   ///< of a kernel or copy, if it was predicted
  std::string by = {}; ///< runs it on a GPU: "cublasLt", "cudnn" or "generated"; empty on CPUs
};

struct PlannedTensor {
  std::string node, type;
  int64_t bytes;       ///< of its own; in a loop, of one iteration
  int64_t begin, end;  ///< its place in the arena, in all iterations
  int64_t first, last; ///< nodes between which it is alive, both included
};

struct EntryPlan {
  std::string name;
  std::string eachRow; ///< the entry that runs for each row; then this one has no nodes
  std::vector<PlannedNode> nodes;
  int64_t launches = 0; ///< kernels and copies among the nodes
  /// Sums over ranks among the nodes, and the bytes of a rank in these.
  int64_t collectives = 0, summed = 0;
  /// The same of what ranks gather of each other.
  int64_t gathers = 0, gathered = 0;
  int64_t sent = 0; ///< bytes that a stage of a pipeline sends to others
  /// Of a run that takes the body of an if that has more, and loops as often as may be.
  int64_t flops = 0;
  int64_t arenaBytes = 0;
  std::vector<PlannedTensor> tensors; ///< in the arena
  /// The node at which most of the arena is in use.
  int64_t peakNode = 0;
  int64_t peakBytes = 0;
  int threads = 0; ///< for which times were predicted

  /// The tensors that are alive at the peak, the largest first.
  std::vector<PlannedTensor> atPeak() const;
  bool isTimed() const { return threads > 0; }
  /// The predicted time of all nodes; of an if, of the body that takes longer.
  double seconds() const;
};

struct ProgramPlan {
  std::string level;
  std::vector<EntryPlan> entries;
  int64_t stateBytes = 0;   ///< all buffers, mirrors included
  int64_t dividedBytes = 0; ///< of these, what each of several ranks has parts of
  int64_t shardedBytes = 0; ///< of these, one rank's shards
  int64_t shards = 1;       ///< ranks that have shards
  int64_t kernels = 0;      ///< distinct ones
};

/// With `machine`, which the level was compiled for, times are predicted.
ProgramPlan describePlan(mlir::ModuleOp level, const Machine *machine = nullptr);

} // namespace gradc

#endif
