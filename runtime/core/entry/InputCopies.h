// Copies of an entry's inputs on a device whose kernels do not read the host's memory.
#ifndef RUNTIME_CORE_ENTRY_INPUTCOPIES_H
#define RUNTIME_CORE_ENTRY_INPUTCOPIES_H

#include "runtime/core/entry/PrefetchedInputs.h"
#include "runtime/device/Device.h"
#include "runtime/include/gradc/artifact.h"

namespace gradc::runtime {

/// Two copies of each input, allocated on demand: for the run that begins and for the next run.
/// Small inputs, such as the learning rate, are contiguous and transferred by a single copy.
class InputCopies {
public:
  InputCopies(Device &device, std::span<const gradc_artifact_port> ports);

  /// The device address of an input for the run that begins. Copies the input now, unless
  /// `copyAhead` has copied it as a part of `prefetched`. Copies made ahead of this run are not
  /// used by later runs. Small inputs arrive with `copySmall`, to be called after the last `copy`.
  /// `bytes`: size of the input in this run.
  Result<const std::byte *> copy(uint32_t input, const void *host, uint64_t bytes,
                                 PrefetchedInputs prefetched);
  Status copySmall();
  /// Copies an input, but not a small one, for the next run during the current run. `host` must
  /// stay unchanged until the device has synchronized.
  Status copyAhead(uint32_t input, const void *host, uint64_t bytes, PrefetchedInputs prefetched);

private:
  static constexpr uint64_t small = 64; // max bytes of a small input, and the alignment of each
  bool isSmall(uint32_t input) const { return ports[input].tensor.bytes <= small; }
  struct Copy {
    DeviceMemory memory;
    PrefetchedInputs prefetched; ///< the prefetch that a copy made ahead belongs to
  };
  Status allocate(uint32_t input, Copy &copy);

  Device &device;
  std::span<const gradc_artifact_port> ports;
  std::vector<Copy> now, next;
  std::vector<std::byte> smallOnes; ///< staging buffer of the small inputs
  std::vector<size_t> offsets;      ///< offset of each input in `smallOnes`
  DeviceMemory smallCopy;
};

} // namespace gradc::runtime

#endif
