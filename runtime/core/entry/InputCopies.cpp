// A copy made ahead replaces the copy that the previous run has read.
#include "runtime/core/entry/InputCopies.h"

#include "runtime/base/Text.h"

#include <cstring>
#include <utility>

namespace gradc::runtime {

static Status noMemory(uint64_t bytes) {
  return Status(Code::doesNotFit, text("no memory for a copy of an input (", bytes, " bytes)"));
}

InputCopies::InputCopies(Device &device, std::span<const gradc_artifact_port> ports)
    : device(device), ports(ports), now(ports.size()), next(ports.size()) {
  size_t room = 0;
  for (uint32_t input = 0; input < ports.size(); ++input) {
    offsets.push_back(room);
    room += isSmall(input) ? small : 0;
  }
  smallOnes.resize(room);
}

Status InputCopies::allocate(uint32_t input, Copy &copy) {
  uint64_t bytes = ports[input].tensor.bytes;
  if (!copy.memory.data())
    copy.memory = DeviceMemory(device, bytes);
  return copy.memory.data() ? Status() : noMemory(bytes);
}

Result<const std::byte *> InputCopies::copy(uint32_t input, const void *host, uint64_t bytes,
                                            PrefetchedInputs prefetched) {
  if (isSmall(input)) {
    if (!smallCopy.data())
      smallCopy = DeviceMemory(device, smallOnes.size());
    if (!smallCopy.data())
      return noMemory(smallOnes.size());
    std::memcpy(&smallOnes[offsets[input]], host, bytes);
    return static_cast<const std::byte *>(smallCopy.data() + offsets[input]);
  }
  Copy &current = now[input], &ahead = next[input];
  PrefetchedInputs there = std::exchange(ahead.prefetched, {});
  if (there.number && there == prefetched) {
    std::swap(current, ahead);
  } else {
    Status status = allocate(input, current);
    if (status.ok())
      status = device.copyIn(current.memory.data(), host, bytes);
    if (!status.ok())
      return status;
  }
  return static_cast<const std::byte *>(current.memory.data());
}

Status InputCopies::copySmall() {
  return smallCopy.data() ? device.copyIn(smallCopy.data(), smallOnes.data(), smallOnes.size())
                          : Status();
}

Status InputCopies::copyAhead(uint32_t input, const void *host, uint64_t bytes,
                              PrefetchedInputs prefetched) {
  if (isSmall(input))
    return {};
  Copy &ahead = next[input];
  Status status = allocate(input, ahead);
  if (status.ok())
    status = device.copyInBeside(ahead.memory.data(), host, bytes);
  ahead.prefetched = status.ok() ? prefetched : PrefetchedInputs();
  return status;
}

} // namespace gradc::runtime
