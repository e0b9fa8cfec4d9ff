// Copies of an entry's inputs on a device whose kernels do not read the host's memory.
#ifndef RUNTIME_CORE_INPUTCOPIES_H
#define RUNTIME_CORE_INPUTCOPIES_H

#include "runtime/core/PrefetchedInputs.h"
#include "runtime/device/Device.h"
#include "runtime/include/gradc/artifact.h"

namespace gradc::runtime {

/// Two of each input, made when they are needed: for the run that begins, and for the next. Small
/// ones, as the learning rate is, lie side by side, and one copy brings them all.
class InputCopies {
public:
  InputCopies(Device &device, std::span<const gradc_artifact_port> ports);

  /// Where an input lies on the device for the run that begins: copied now, unless `copyAhead` has
  /// done it as a part of `prefetched`. Whatever was copied ahead of this run serves no later one.
  /// A small one is there once `copySmall` has been called behind the last.
  /// `bytes`: of the input in this run, from its beginning.
  Result<const std::byte *> copy(uint32_t input, const void *host, uint64_t bytes,
                                 PrefetchedInputs prefetched);
  Status copySmall();
  /// For the next run, beside the one under way; not small ones. `host` stays as it is until the
  /// device has synchronized.
  Status copyAhead(uint32_t input, const void *host, uint64_t bytes, PrefetchedInputs prefetched);

private:
  static constexpr uint64_t small = 64; // bytes, and what each begins at a multiple of
  bool isSmall(uint32_t input) const { return ports[input].tensor.bytes <= small; }
  struct Copy {
    DeviceMemory memory;
    PrefetchedInputs prefetched; ///< what was copied ahead is a part of
  };
  Status allocate(uint32_t input, Copy &copy);

  Device &device;
  std::span<const gradc_artifact_port> ports;
  std::vector<Copy> now, next;
  std::vector<std::byte> smallOnes; ///< room for each input that is small
  std::vector<size_t> offsets;      ///< of each input there
  DeviceMemory smallCopy;
};

} // namespace gradc::runtime

#endif
