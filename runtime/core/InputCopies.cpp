// What was copied ahead takes the place of the copy that the run before has read.
#include "runtime/core/InputCopies.h"

#include "runtime/core/Text.h"

#include <utility>

namespace gradc {

Status InputCopies::allocate(uint32_t input, Copy &copy) {
  uint64_t bytes = ports[input].tensor.bytes;
  if (!copy.memory.data())
    copy.memory = DeviceMemory(device, bytes);
  return copy.memory.data() ? Status()
                            : Status(Code::doesNotFit,
                                     text("no memory for a copy of an input (", bytes, " bytes)"));
}

Result<const std::byte *> InputCopies::copy(uint32_t input, const void *host, StagedInputs staged) {
  Copy &current = now[input], &ahead = next[input];
  StagedInputs there = std::exchange(ahead.staged, {});
  if (there.number && there == staged) {
    std::swap(current, ahead);
  } else {
    Status status = allocate(input, current);
    if (status.ok())
      status = device.copyIn(current.memory.data(), host, ports[input].tensor.bytes);
    if (!status.ok())
      return status;
  }
  return static_cast<const std::byte *>(current.memory.data());
}

Status InputCopies::copyAhead(uint32_t input, const void *host, StagedInputs staged) {
  Copy &ahead = next[input];
  Status status = allocate(input, ahead);
  if (status.ok())
    status = device.copyInBeside(ahead.memory.data(), host, ports[input].tensor.bytes);
  ahead.staged = status.ok() ? staged : StagedInputs();
  return status;
}

} // namespace gradc
