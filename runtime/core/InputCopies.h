// Copies of an entry's inputs on a device whose kernels do not read the host's memory.
#ifndef RUNTIME_CORE_INPUTCOPIES_H
#define RUNTIME_CORE_INPUTCOPIES_H

#include "runtime/core/StagedInputs.h"
#include "runtime/device/Device.h"
#include "runtime/include/gradc/artifact.h"

namespace gradc {

/// Two of each input, made when they are needed: for the run that begins, and for the next.
class InputCopies {
public:
  InputCopies(Device &device, std::span<const gradc_artifact_port> ports)
      : device(device), ports(ports), now(ports.size()), next(ports.size()) {}

  /// Where an input lies on the device for the run that begins: copied now, unless `copyAhead` has
  /// done it as a part of `staged`. Whatever was copied ahead of this run serves no later one.
  Result<const std::byte *> copy(uint32_t input, const void *host, StagedInputs staged);
  /// For the next run, beside the one under way. `host` stays as it is until the device has
  /// synchronized.
  Status copyAhead(uint32_t input, const void *host, StagedInputs staged);

private:
  struct Copy {
    DeviceMemory memory;
    StagedInputs staged; ///< what was copied ahead is a part of
  };
  Status allocate(uint32_t input, Copy &copy);

  Device &device;
  std::span<const gradc_artifact_port> ports;
  std::vector<Copy> now, next;
};

} // namespace gradc

#endif
