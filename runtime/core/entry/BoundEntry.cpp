// Inputs are read, and large outputs written, in place if possible; other outputs lie in a block of
// the entry, and are copied out.
#include "runtime/core/entry/BoundEntry.h"

#include "runtime/base/Text.h"
#include "runtime/core/artifact/IndexCheck.h"
#include "runtime/core/entry/Aliases.h"

using namespace gradc::runtime;

/// Copying smaller outputs takes microseconds.
static constexpr uint64_t leastInPlace = uint64_t(1) << 16;

BoundEntry::BoundEntry(const Artifact &artifact, const gradc_artifact_level &level,
                       const gradc_artifact_entry &entry, const Spaces &spaces, Device &device)
    : artifact(artifact), entry(entry), device(device),
      theProgram(artifact, level, entry, spaces, device), copies(device, ports(entry.inputs)) {}

Status BoundEntry::bindInputs(std::span<const void *const> inputs, int64_t rows,
                              PrefetchedInputs prefetched, bool inPlace, Communicator *ranks) {
  if (Status fits = checkRows(artifact, entry, rows, /*isShare=*/ranks); !fits.ok())
    return fits;
  auto expected = ports(entry.inputs);
  if (Status count = checkCount(artifact, entry, "inputs", expected.size(), inputs.size());
      !count.ok())
    return count;
  int64_t units = rows / unitOf(entry);
  theProgram.setRows(units);
  own.setRows(units);
  Communicator *sharedBy = theProgram.hasCollectives() ? ranks : nullptr;
  for (uint32_t i = 0; i < inputs.size(); ++i) {
    const void *input = own.inPlaceOf(inputs[i], expected[i].role, sharedBy);
    if (inPlace && reinterpret_cast<uintptr_t>(input) % 64 == 0) {
      theProgram.bindInput(i, input);
      continue;
    }
    auto copy = copies.copy(i, input, bytesOfRows(entry, expected[i], rows), prefetched);
    if (!copy)
      return copy.status();
    theProgram.bindInput(i, *copy);
  }
  return copies.copySmall();
}

/// Whether kernels can write all of an output to an address that overlaps no other range, or is
/// that of the input whose memory the output may have.
bool BoundEntry::isDirect(uint32_t output, const void *to, int64_t rows,
                          std::span<const void *const> inputs, const Ranges &ranges) const {
  const gradc_artifact_port &port = ports(entry.outputs)[output];
  uint64_t bytes = port.tensor.bytes;
  if (!to || reinterpret_cast<uintptr_t>(to) % 64 != 0 || bytes < leastInPlace ||
      port.slice.space != GRADC_SPACE_OUTPUT || port.slice.index != output ||
      port.slice.offset != 0 || bytesOfRows(entry, port, rows) != bytes)
    return false;
  auto begin = reinterpret_cast<uintptr_t>(to);
  int overlapping = 0;
  for (auto [first, end] : ranges)
    overlapping += first < begin + bytes && begin < end;
  uint32_t alias = theProgram.aliasOf(output);
  bool isInInput = alias != noInput && inputs[alias] == to;
  return overlapping == (isInInput ? 2 : 1); // with itself, and with the input
}

void BoundEntry::bindOutputs(std::span<const void *const> inputs, std::span<void *const> outputs,
                             int64_t rows) {
  auto sources = ports(entry.inputs), results = ports(entry.outputs);
  bool hasLarge = false;
  for (const gradc_artifact_port &port : results)
    hasLarge |= port.tensor.bytes >= leastInPlace;
  if (!hasLarge)
    return;
  Ranges ranges; // of inputs and outputs
  auto add = [&](const void *address, const gradc_artifact_port &port) {
    auto begin = reinterpret_cast<uintptr_t>(address);
    if (address)
      ranges.emplace_back(begin, begin + bytesOfRows(entry, port, rows));
  };
  for (size_t i = 0; i < inputs.size(); ++i)
    add(inputs[i], sources[i]);
  auto places = outputs.begin();
  for (const gradc_artifact_port &port : results)
    if (isGiven(port))
      add(*places++, port);
  places = outputs.begin();
  for (uint32_t i = 0; i < results.size(); ++i) {
    void *to = isGiven(results[i]) ? *places++ : nullptr;
    theProgram.bindOutput(i, isDirect(i, to, rows, inputs, ranges) ? to : nullptr);
  }
}

void BoundEntry::keepOutputs() {
  for (uint32_t i = 0; i < entry.outputs.count; ++i)
    theProgram.bindOutput(i, nullptr);
}

Status BoundEntry::prefetch(std::span<const void *const> inputs, int64_t rows,
                            PrefetchedInputs prefetched) {
  if (Status fits = checkRows(artifact, entry, rows); !fits.ok())
    return fits;
  for (uint32_t i = 0; i < inputs.size(); ++i)
    if (inputs[i])
      if (uint64_t bytes = bytesOfRows(entry, ports(entry.inputs)[i], rows))
        if (Status copied = copies.copyAhead(i, inputs[i], bytes, prefetched); !copied.ok())
          return copied;
  return {};
}

Status BoundEntry::copyOutputs(std::span<void *const> outputs, int64_t rows) {
  std::span<std::byte> block = theProgram.outputBlock();
  results.clear();
  auto all = ports(entry.outputs);
  indices.assign(all.size() - outputs.size(), 0);
  uint64_t *index = indices.data();
  auto given = outputs.begin();
  for (const gradc_artifact_port &port : all) {
    void *to = isGiven(port) ? *given++ : index++;
    if (!to)
      continue;
    const std::byte *from = theProgram.resolve(port.slice);
    uint64_t bytes = bytesOfRows(entry, port, rows);
    bool isInBlock = from >= block.data() && from < block.data() + block.size();
    if (from == to)
      continue;
    if (isInBlock)
      results.push_back({to, uint64_t(from - block.data()), bytes});
    else if (Status s = device.copyOut(to, from, bytes); !s.ok())
      return s;
  }
  return results.empty() ? Status() : device.copyPiecesOut(results, block.data(), block.size());
}

Status BoundEntry::checkIndices() const { return runtime::checkIndices(artifact, entry, indices); }
