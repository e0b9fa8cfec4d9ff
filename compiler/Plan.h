// The output of `gradc plan`: kernels, work, memory, and its owners at the peak.
#ifndef COMPILER_PLAN_H
#define COMPILER_PLAN_H

#include "dialects/exec/Exec.h"

namespace gradc {

struct PlannedLaunch {
  std::string kernel, node;
  int64_t flops, bytes, units;
  std::string by; ///< runs it on a GPU: "cublasLt", "cudnn" or "generated"; empty on CPUs
};

struct LiveTensor {
  std::string node, type;
  int64_t bytes;
};

struct EntryPlan {
  std::string name;
  std::vector<PlannedLaunch> launches;
  int64_t arenaBytes = 0;
  /// The launch at which most of the arena is alive, and the tensors alive there.
  size_t peakLaunch = 0;
  int64_t peakBytes = 0;
  std::vector<LiveTensor> alive;
};

struct ProgramPlan {
  std::string level;
  std::vector<EntryPlan> entries;
  int64_t stateBytes = 0; ///< all buffers, mirrors included
  int64_t kernels = 0;    ///< distinct ones
};

ProgramPlan describePlan(mlir::ModuleOp level);

} // namespace gradc

#endif
