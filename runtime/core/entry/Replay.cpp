// Walks an entry's schedule as a run does, but hands out each launch.
#include "runtime/core/entry/Replay.h"

#include "runtime/base/Text.h"

#include <algorithm>
#include <cstring>

namespace gradc::runtime {

void Replay::begin(const Artifact &artifact, const gradc_artifact_entry &entry,
                   const Program &program, Device &device, bool isPartial) {
  this->artifact = &artifact;
  this->entry = &entry;
  this->program = &program;
  this->device = &device;
  this->isPartial = isPartial;
  walk = ScheduleWalk(program.schedule(), slices);
  piece = nullptr;
}

Result<std::optional<LaunchPath>> Replay::next() {
  if (!program)
    return Status(Code::usage, "no entry is begun");
  if (!piece || launch == piece->launches.size()) {
    auto read = [&](const void *address, uint32_t size) {
      int64_t bytes = 0;
      Status fetched = device->fetch(&bytes, address, size);
      if (!fetched.ok())
        walk.fail(fetched);
      return numberIn(&bytes, size);
    };
    piece = walk.next(read, [](const Step &) {});
    launch = 0;
    if (!walk.status().ok())
      return walk.status();
    if (!piece)
      return std::optional<LaunchPath>();
  }
  return std::optional(walk.path(piece->launches[launch++]));
}

/// Clears results first: past the rows of the run, a result's slice would show leftovers of another
/// tensor.
void Replay::clearResults(const Launch &launch) {
  const auto &node = artifact->elements<gradc_artifact_node>(entry->nodes)[launch.node];
  auto records = artifact->elements<gradc_artifact_slice>(node.slices);
  std::span<void *const> all(launch.slices, launch.sliceCount), read = all.first(node.operands);
  for (size_t i = node.operands; i < all.size(); ++i)
    if (device->sharesHostMemory() && std::find(read.begin(), read.end(), all[i]) == read.end())
      std::memset(all[i], 0, records[i].bytes);
}

Status Replay::run(uint32_t node) {
  const Launch *found = program ? program->findLaunch(node) : nullptr;
  if (!found)
    return Status(Code::usage, text("launch ", node, " is not of a begun entry"));
  Launch launch = *found;
  launch.slices = walk.slices(launch);
  if (isPartial)
    clearResults(launch);
  if (Status s = device->launch(launch); !s.ok())
    return s;
  return device->synchronize();
}

std::span<std::byte> Replay::slice(const gradc_artifact_slice &slice) {
  if (!program)
    return {};
  std::byte *bytes =
      program->resolve(slice) + walk.offset(artifact->elements<int64_t>(slice.strides));
  if (device->sharesHostMemory())
    return {bytes, size_t(slice.bytes)};
  copy.resize(slice.bytes);
  if (!device->fetch(copy.data(), bytes, slice.bytes).ok())
    return {};
  return copy;
}

} // namespace gradc::runtime
