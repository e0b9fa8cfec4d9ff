// An entry bound to memory: what the device walks.
#ifndef RUNTIME_CORE_PROGRAM_H
#define RUNTIME_CORE_PROGRAM_H

#include "runtime/core/Artifact.h"
#include "runtime/device/Device.h"

namespace gradc::runtime {

/// Where an entry's spaces lie. Kernels and state buffers are in the level's order.
struct Spaces {
  std::byte *arena = nullptr;
  std::span<std::byte *const> buffers;
  std::span<void *const> kernels;
  std::span<const void *const> calls = {}; ///< in place of kernels; null: the kernel
};

/// Slices become addresses once; only those of inputs change from run to run.
class Program {
public:
  Program(const Artifact &artifact, const gradc_artifact_level &level,
          const gradc_artifact_entry &entry, const Spaces &spaces, Device &device);

  Program(Program &&) = default;
  ~Program() {
    if (!launchList.empty())
      device.forget(launchList);
  }

  /// False: the device has no memory for the outputs.
  bool ok() const { return hasMemory; }
  std::span<const Launch> launches() const { return launchList; }
  /// Lets the slices of an input point to `address` (aligned to 64 bytes, in device memory).
  void bindInput(uint32_t input, const void *address);
  std::byte *resolve(const gradc_artifact_slice &slice) const;
  /// All results of the entry that have memory of their own, in device memory; empty where they lie
  /// in other spaces.
  std::span<std::byte> outputBlock() const { return {outputs.data(), outputs.size()}; }

private:
  struct InputSlice {
    uint32_t input;
    uint32_t slice; ///< index into slices
    uint64_t offset;
  };

  void allocateOutputs(const Artifact &artifact, const gradc_artifact_entry &entry,
                       std::span<const gradc_artifact_launch> launches);
  void planWaits(const Artifact &artifact, std::span<const gradc_artifact_launch> launches);

  Device &device;
  Spaces spaces;
  std::vector<std::byte *> inputs;
  bool hasMemory = true; ///< for the outputs
  DeviceMemory outputs;  ///< of slices in the output space
  std::vector<uint64_t> outputOffsets;
  std::vector<void *> slices; ///< of all launches
  std::vector<InputSlice> inputSlices;
  std::vector<Launch> launchList;
};

} // namespace gradc::runtime

#endif
