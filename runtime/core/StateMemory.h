// Where a model's states (parameters, optimizer slots, statistics, constants) lie on a device, and
// how their values come in and out.
#ifndef RUNTIME_CORE_STATEMEMORY_H
#define RUNTIME_CORE_STATEMEMORY_H

#include "runtime/core/Artifact.h"
#include "runtime/device/Device.h"

#include <functional>

namespace gradc::runtime {

/// Values are row-major outside; inside, a state lies as the level's kernels want it, and entries
/// of the level pack and unpack it.
class StateMemory {
public:
  using RunEntry =
      std::function<Status(const gradc_artifact_entry &entry, std::span<const void *const> inputs,
                           std::span<void *const> outputs)>;

  /// `run` runs an entry to its end. All outlive the states.
  StateMemory(const Artifact &artifact, const gradc_artifact_level &level, Device &device,
              RunEntry run)
      : artifact(artifact), level(level), device(device), run(std::move(run)) {}

  /// Before all else. The failure: the device has no memory for them.
  Status allocate();
  /// The addresses of the level's buffers, in its order.
  std::span<std::byte *const> buffers() const { return addresses; }

  /// Of one state; `out` and `value` have tensor.bytes of it.
  Status read(uint32_t state, void *out);
  Status write(uint32_t state, const void *value);
  /// Writes the artifact's initial values. The memory of others than constants is never touched
  /// where only those are wanted, and so is not there.
  Status reset(bool onlyConstants);

private:
  /// How a state is kept.
  struct Storage {
    std::byte *primary = nullptr;
    const gradc_artifact_entry *pack = nullptr;   // when packed or mirrored
    const gradc_artifact_entry *unpack = nullptr; // when packed
  };

  const gradc_artifact_entry *findEntry(const char *what, uint32_t state) const;

  const Artifact &artifact;
  const gradc_artifact_level &level;
  Device &device;
  const RunEntry run;
  DeviceMemory memory;
  std::vector<std::byte *> addresses;
  std::vector<Storage> storage; // one a state
};

} // namespace gradc::runtime

#endif
