// Shares rows among threads.
#include "runtime/core/EachRow.h"

#include "runtime/base/Text.h"
#include "runtime/core/IndexCheck.h"

using namespace gradc::runtime;

Status EachRow::addLanes(unsigned count) {
  while (lanes.size() < count) {
    Spaces own = spaces;
    DeviceMemory memory;
    if (!lanes.empty()) {
      memory = DeviceMemory(device, arenaBytes);
      own.arena = memory.data();
      own.scratch = memory.data() + scratchAt;
    }
    bool isThere = own.arena != nullptr;
    if (isThere)
      lanes.push_back(std::make_unique<Lane>(std::move(memory),
                                             BoundEntry(artifact, level, oneRow, own, device)));
    if (!isThere || !lanes.back()->bound.ok())
      return Status(Code::doesNotFit,
                    text("no memory for the rows of entry ", artifact.string(entry.name), " on ",
                         count, " threads (", arenaBytes, " bytes each)"));
  }
  return {};
}

template <typename Launch>
void EachRow::runRow(Lane &lane, int64_t row, std::span<const void *const> inputs,
                     std::span<void *const> outputs, Launch &&launch) {
  auto offset = [&](const gradc_artifact_port &port) {
    return port.batched ? bytesOfRows(entry, port, row) : 0;
  };
  auto ports = artifact.elements<gradc_artifact_port>(entry.inputs);
  lane.inputs.assign(inputs.begin(), inputs.end());
  for (size_t i = 0; i < inputs.size(); ++i)
    if (lane.inputs[i])
      lane.inputs[i] = static_cast<const std::byte *>(inputs[i]) + offset(ports[i]);
  lane.outputs.assign(outputs.begin(), outputs.end());
  auto results = artifact.elements<gradc_artifact_port>(entry.outputs);
  for (size_t i = 0; i < outputs.size(); ++i)
    if (outputs[i])
      lane.outputs[i] = static_cast<std::byte *>(outputs[i]) + offset(*findGiven(results, i));
  Status status = lane.bound.bindInputs(lane.inputs, /*rows=*/1, {}, /*inPlace=*/true,
                                        /*ranks=*/nullptr);
  status = status.ok() ? launch(lane.bound.program().schedule()) : status;
  status = status.ok() ? lane.bound.copyOutputs(lane.outputs, 1) : status;
  status = status.ok() ? lane.bound.checkIndices() : status;
  if (!status.ok() && (lane.failure.ok() || row < lane.failedRow)) {
    lane.failedRow = row;
    lane.failure = std::move(status);
  }
}

Status EachRow::run(std::span<const void *const> inputs, std::span<void *const> outputs,
                    int64_t rows, Profile *profile) {
  // A team is slower than as many threads with a row each, but faster than a single one.
  int64_t threads = std::max(device.threads(), 1u), shared = rows % threads;
  if (3 * shared > 2 * threads || threads == 1)
    shared = 0;
  int64_t alone = rows - shared;
  auto count = unsigned(std::clamp<int64_t>(alone, 1, threads));
  if (Status added = addLanes(count); !added.ok())
    return added;
  for (auto &lane : lanes)
    lane->failure = {};
  device.forEach(alone, [&](unsigned thread, int64_t row) {
    Lane &lane = *lanes[thread];
    runRow(lane, row, inputs, outputs, [&](const Schedule &schedule) {
      Profile *noted = profile && thread == 0 ? &lane.profile : nullptr;
      Status launched = launchHere(schedule, noted);
      if (noted)
        profile->append(*noted);
      return launched;
    });
  });
  Lane &first = *lanes.front();
  for (int64_t row = alone; row < rows; ++row)
    runRow(first, row, inputs, outputs, [&](const Schedule &schedule) {
      Status launched = device.launch(schedule, profile ? &first.profile : nullptr);
      if (profile)
        profile->append(first.profile);
      return launched;
    });
  const Lane *failed = nullptr;
  for (const auto &lane : lanes)
    if (!lane->failure.ok() && (!failed || lane->failedRow < failed->failedRow))
      failed = lane.get();
  return failed ? failed->failure : Status();
}
