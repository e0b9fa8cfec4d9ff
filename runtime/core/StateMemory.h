// Where a model's states (parameters, optimizer slots, statistics, constants) lie on a device, and
// how their values come in and out.
#ifndef RUNTIME_CORE_STATEMEMORY_H
#define RUNTIME_CORE_STATEMEMORY_H

#include "runtime/core/Artifact.h"
#include "runtime/core/Division.h"
#include "runtime/device/Device.h"

#include <functional>

namespace gradc::runtime {

/// Values are row-major outside; inside, a state lies as the level's kernels want it, and entries
/// of the level pack and unpack it. Sessions of an artifact share the memory of their states until
/// one writes them, or has parts of them only.
class StateMemory {
public:
  using RunEntry =
      std::function<Status(const gradc_artifact_entry &entry, std::span<const void *const> inputs,
                           std::span<void *const> outputs)>;

  /// `run` runs an entry to its end. All outlive the states.
  StateMemory(const Artifact &artifact, const gradc_artifact_level &level, Device &device,
              RunEntry run)
      : artifact(artifact), level(level), device(device), run(std::move(run)) {}

  ~StateMemory();

  /// From now on this session has its own parts of those states that ranks divide; null: all of
  /// them. `own` precedes it once there is memory. Whether anything changes.
  bool setRanks(Communicator *all);
  /// Among these ranks; null: this session has all of the states.
  const Division *division() const { return ranks ? &divided : nullptr; }
  /// Before all else but that. The failure: the device has no memory for them. Until `fill` has
  /// returned, no other session of the artifact gets further than this.
  Status allocate();
  /// The artifact's initial values, or only those of constants; what is not written is never
  /// touched, and so takes no memory.
  Status fill(bool onlyConstants);
  /// The addresses of the level's buffers, in its order.
  std::span<std::byte *const> buffers() const { return addresses; }
  /// Whether other sessions may have the memory, too.
  bool isShared() const { return shared; }
  /// Must precede every write but those of `fill`: from now on no other session sees the memory.
  /// If the buffers had to move, the memory that they were in; else null.
  Result<std::shared_ptr<std::byte>> own();

  /// Of one state; `out`, unless it is null, and `value` have tensor.bytes of it. What ranks divide
  /// is read by all of them together.
  Status read(uint32_t state, void *out);
  Status write(uint32_t state, const void *value);
  /// All of them to the artifact's initial values.
  Status reset() { return writeInitial(/*onlyConstants=*/false); }

private:
  /// How a state is kept.
  struct Storage {
    uint64_t offset = 0, bytes = 0;               // of the primary in the memory
    uint32_t cut = 0;                             // from 1 on; 0: none
    const gradc_artifact_entry *pack = nullptr;   // when packed or mirrored
    const gradc_artifact_entry *unpack = nullptr; // when packed
  };

  const gradc_artifact_entry *findEntry(const char *what, uint32_t state) const;
  void layOut();
  uint64_t beginOf(uint32_t state, int rank) const;
  void forgetOthers(uint32_t state);
  Status gather(uint32_t state);
  void bind(std::shared_ptr<std::byte> block);
  Status writeInitial(bool onlyConstants);

  const Artifact &artifact;
  const gradc_artifact_level &level;
  Device &device;
  const RunEntry run;
  std::shared_ptr<std::byte> memory;
  uint64_t bytes = 0;
  bool shared = false;           // others may have it, too
  Communicator *ranks = nullptr; // that divide states; null: this session has all of them
  Division divided;
  std::unique_lock<std::mutex> filling; // between `allocate` and `fill`
  std::vector<uint64_t> offsets;        // of the level's buffers
  std::vector<std::byte *> addresses;
  std::vector<Storage> storage; // one a state
};

} // namespace gradc::runtime

#endif
