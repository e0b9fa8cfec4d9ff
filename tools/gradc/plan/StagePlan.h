// The stages of a pipeline: what each of them computes, holds and sends.
#ifndef TOOLS_GRADC_PLAN_STAGEPLAN_H
#define TOOLS_GRADC_PLAN_STAGEPLAN_H

#include "runtime/core/artifact/Artifact.h"

#include <string>
#include <vector>

namespace gradc {

struct PlannedStage {
  int64_t flops = 0, sentBytes = 0;       ///< of a step
  int64_t summedBytes = 0;                ///< that replicas sum, most of them gradients
  int64_t stateBytes = 0, arenaBytes = 0; ///< that its rank holds
  int64_t memoryBytes() const { return stateBytes + arenaBytes; }
};

/// The step of a pipeline, predicted from that of one process.
class StagePlan {
public:
  /// `entry`: the name of the step that stages run, at that level.
  StagePlan(const runtime::Artifact &artifact, std::string_view level, std::string_view entry);

  /// Empty: the step is no pipeline.
  const std::vector<PlannedStage> &stages() const { return all; }
  int64_t parts() const { return partCount; }
  /// The number of rows of a batch in the largest share of `replicas`.
  int64_t rowsOf(int64_t replicas) const;
  /// The seconds of a stage, if one process takes `whole` for the step. Stages take as much of it
  /// as they have of all flops.
  double secondsOf(size_t stage, double whole) const;
  /// The part of a step in which the slowest stage waits for others: the first parts have to reach
  /// it, and the last ones have to leave it.
  double bubble() const;
  double stepSeconds(double whole) const;
  /// The bytes that a rank of the stage with the most gradients sends to other replicas.
  double summedBytes(int64_t replicas) const;

private:
  std::vector<PlannedStage> all;
  int64_t partCount = 1, batch = 0;
};

} // namespace gradc

#endif
