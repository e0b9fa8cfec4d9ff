// Resolves an entry's slices to addresses and finds out which launches have to wait for earlier
// ones.
#include "runtime/core/Program.h"

#include <algorithm>

using namespace gradc::runtime;

namespace {

constexpr uint64_t absent = UINT64_MAX; // the offset of an output that lies elsewhere

constexpr uint64_t alignUp(uint64_t bytes) { return (bytes + 63) / 64 * 64; }

bool overlap(const gradc_artifact_slice &a, const gradc_artifact_slice &b) {
  return a.space == b.space && (a.space == GRADC_SPACE_ARENA || a.index == b.index) &&
         a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
}

struct Access {
  gradc_artifact_slice slice;
  bool writes;
  bool conflicts(const Access &other) const {
    return (writes || other.writes) && overlap(slice, other.slice);
  }
};

} // namespace

Program::Program(const Artifact &artifact, const gradc_artifact_level &level,
                 const gradc_artifact_entry &entry, const Spaces &spaces, Device &device)
    : device(device), spaces(spaces) {
  inputs.resize(entry.inputs.count);
  auto kernels = artifact.elements<gradc_artifact_kernel>(level.kernels);
  auto records = artifact.elements<gradc_artifact_launch>(entry.launches);
  allocateOutputs(artifact, entry, records);
  size_t sliceCount = 0;
  for (const gradc_artifact_launch &record : records)
    sliceCount += record.slices.count;
  slices.reserve(sliceCount); // launches keep pointers into it
  for (const gradc_artifact_launch &record : records) {
    const gradc_artifact_kernel &kernel = kernels[record.kernel];
    int64_t shares = kernel.grain > 0 ? kernel.units / kernel.grain : kernel.units;
    launchList.push_back({spaces.kernels[record.kernel], slices.data() + slices.size(),
                          record.slices.count, kernel.units, std::max<int64_t>(shares, 1),
                          kernel.threads, false,
                          spaces.calls.empty() ? nullptr : spaces.calls[record.kernel]});
    for (const auto &slice : artifact.elements<gradc_artifact_slice>(record.slices)) {
      bool isInput = slice.space == GRADC_SPACE_INPUT;
      if (isInput)
        inputSlices.push_back({slice.index, uint32_t(slices.size()), slice.offset});
      slices.push_back(isInput ? nullptr : resolve(slice));
    }
  }
  planWaits(artifact, records);
}

/// One block for all outputs that launches write; those that lie elsewhere take none of it.
void Program::allocateOutputs(const Artifact &artifact, const gradc_artifact_entry &entry,
                              std::span<const gradc_artifact_launch> records) {
  auto ports = artifact.elements<gradc_artifact_port>(entry.outputs);
  outputOffsets.assign(ports.size(), absent);
  uint64_t bytes = 0;
  auto need = [&](const gradc_artifact_slice &slice) {
    if (slice.space != GRADC_SPACE_OUTPUT || outputOffsets[slice.index] != absent)
      return;
    outputOffsets[slice.index] = bytes;
    bytes += alignUp(ports[slice.index].tensor.bytes);
  };
  for (const gradc_artifact_port &port : ports)
    need(port.slice);
  for (const gradc_artifact_launch &record : records)
    for (const auto &slice : artifact.elements<gradc_artifact_slice>(record.slices))
      need(slice);
  if (bytes == 0)
    return;
  outputs = DeviceMemory(device, bytes);
  hasMemory = outputs.data() != nullptr;
}

/// A launch waits when it touches what a launch since the last wait has written, or writes what one
/// has touched. Launches that are not split run on one thread, in order: they never wait for each
/// other.
void Program::planWaits(const Artifact &artifact, std::span<const gradc_artifact_launch> records) {
  std::vector<Access> all, split, own;
  for (size_t i = 0; i < records.size(); ++i) {
    own.clear();
    auto touched = artifact.elements<gradc_artifact_slice>(records[i].slices);
    for (size_t s = 0; s < touched.size(); ++s)
      own.push_back({touched[s], s >= records[i].operands});

    bool splits = launchList[i].shares > 1;
    const std::vector<Access> &earlier = splits ? all : split;
    launchList[i].waits = std::any_of(own.begin(), own.end(), [&](const Access &mine) {
      return std::any_of(earlier.begin(), earlier.end(),
                         [&](const Access &theirs) { return mine.conflicts(theirs); });
    });
    if (launchList[i].waits) {
      all.clear();
      split.clear();
    }
    all.insert(all.end(), own.begin(), own.end());
    if (splits)
      split.insert(split.end(), own.begin(), own.end());
  }
}

void Program::bindInput(uint32_t input, const void *address) {
  auto bytes = static_cast<std::byte *>(const_cast<void *>(address));
  if (inputs[input] == bytes)
    return;
  inputs[input] = bytes;
  for (const InputSlice &use : inputSlices)
    if (use.input == input)
      slices[use.slice] = bytes + use.offset;
}

std::byte *Program::resolve(const gradc_artifact_slice &slice) const {
  switch (slice.space) {
  case GRADC_SPACE_ARENA:
    return spaces.arena + slice.offset;
  case GRADC_SPACE_BUFFER:
    return spaces.buffers[slice.index] + slice.offset;
  case GRADC_SPACE_INPUT:
    return inputs[slice.index] + slice.offset;
  default:
    return outputs.data() + outputOffsets[slice.index] + slice.offset;
  }
}
