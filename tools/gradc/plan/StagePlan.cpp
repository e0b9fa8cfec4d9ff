// Adds up the nodes of each stage's entry.
#include "tools/gradc/plan/StagePlan.h"

#include "runtime/core/artifact/Config.h"
#include "runtime/data/Dataset.h"
#include "runtime/include/gradc/artifact.h"

#include <algorithm>
#include <set>

namespace gradc {
using namespace runtime;

static PlannedStage describe(const Artifact &artifact, const gradc_artifact_level &level,
                             const gradc_artifact_entry &entry) {
  PlannedStage stage;
  stage.arenaBytes = int64_t(entry.arena);
  auto kernels = artifact.elements<gradc_artifact_kernel>(level.kernels);
  auto buffers = artifact.elements<gradc_artifact_buffer>(level.buffers);
  std::set<uint32_t> touched;
  for (const auto &node : artifact.elements<gradc_artifact_node>(entry.nodes)) {
    auto slices = artifact.elements<gradc_artifact_slice>(node.slices);
    for (const auto &slice : slices)
      if (slice.space == GRADC_SPACE_BUFFER && touched.insert(slice.index).second)
        stage.stateBytes += int64_t(buffers[slice.index].bytes);
    if (node.kind == GRADC_NODE_LAUNCH)
      stage.flops += int64_t(kernels[node.as.launch.kernel].flops);
    else if (node.kind == GRADC_NODE_COLLECTIVE && node.as.collective.kind == GRADC_TRANSFER_SEND)
      stage.sentBytes += int64_t(slices[0].bytes);
    else if (node.kind == GRADC_NODE_COLLECTIVE && node.as.collective.kind == GRADC_COLLECTIVE_SUM)
      for (const auto &slice : slices.first(node.operands))
        stage.summedBytes += int64_t(slice.bytes);
  }
  return stage;
}

StagePlan::StagePlan(const Artifact &artifact, std::string_view levelName, std::string_view name) {
  partCount = Config::job(artifact).integer("micro_batches", 1);
  std::string prefix = std::string(name) + GRADC_STAGE_INFIX;
  for (const gradc_artifact_level &level : artifact.levels())
    if (artifact.string(level.name) == levelName)
      for (size_t number = 0;; ++number) {
        auto entries = artifact.elements<gradc_artifact_entry>(level.entries);
        auto entry = std::ranges::find_if(entries, [&](const auto &one) {
          return artifact.string(one.name) == prefix + std::to_string(number);
        });
        if (entry == entries.end())
          break;
        all.push_back(describe(artifact, level, *entry));
        batch = entry->batch;
      }
}

int64_t StagePlan::rowsOf(int64_t replicas) const {
  return RankShare{0, int(replicas), partCount}.most(batch);
}

double StagePlan::summedBytes(int64_t replicas) const {
  int64_t most = 0;
  for (const PlannedStage &stage : all)
    most = std::max(most, stage.summedBytes);
  return 2 * double(replicas - 1) / double(replicas) * double(most);
}

double StagePlan::secondsOf(size_t stage, double whole) const {
  double flops = 0;
  for (const PlannedStage &one : all)
    flops += double(one.flops);
  return flops > 0 ? whole * double(all[stage].flops) / flops : 0;
}

double StagePlan::bubble() const {
  double others = double(all.size()) - 1;
  return others / (double(partCount) + others);
}

double StagePlan::stepSeconds(double whole) const {
  double slowest = 0;
  for (size_t stage = 0; stage < all.size(); ++stage)
    slowest = std::max(slowest, secondsOf(stage, whole));
  return slowest / (1 - bubble());
}

} // namespace gradc
