// The device memory of a model's states (parameters, optimizer slots, statistics, constants), and
// reading and writing of their values.
#ifndef RUNTIME_CORE_STATEMEMORY_H
#define RUNTIME_CORE_STATEMEMORY_H

#include "runtime/core/Artifact.h"
#include "runtime/core/Division.h"
#include "runtime/core/Shards.h"
#include "runtime/device/Device.h"

#include <functional>

namespace gradc::runtime {

/// Callers see row-major values. In memory, a state has the layout that the level's kernels need,
/// and entries of the level pack and unpack it. Sessions of an artifact share the memory of states
/// until one of them writes states or keeps only parts of them (copy on write).
class StateMemory {
public:
  using RunEntry =
      std::function<Status(const gradc_artifact_entry &entry, std::span<const void *const> inputs,
                           std::span<void *const> outputs)>;

  /// `run` runs an entry to completion. All arguments must outlive this object.
  StateMemory(const Artifact &artifact, const gradc_artifact_level &level, Device &device,
              RunEntry run)
      : artifact(artifact), level(level), device(device), run(std::move(run)) {}

  ~StateMemory();

  /// From now on this session keeps only its own parts of divided states; null: whole states.
  /// Shards are this rank's from the start. Once memory is allocated, `own` must be called first.
  /// Returns whether anything changes.
  bool setRanks(Communicator *all);
  /// Whether ranks divide states at all, if there are as many of them: each keeps its parts of
  /// them or, where ranks are the stages of a pipeline, the states of its stage.
  bool isDivisible(const Communicator *all) const;
  /// Between two calls, ranks that are stages have all states but optimizer slots whole.
  /// Collective.
  Status holdWhole(bool whole);
  /// The division of states among ranks; null: this session has whole states.
  const Division *division() const { return ranks ? &divided : nullptr; }
  bool isDivided(uint32_t state) const {
    return ranks && (storage[state].cut != 0 || isSharded(artifact.states()[state]) ||
                     (hasOwner(state) && !isHeld(state)));
  }
  /// Must be called first, except for `setRanks`. Fails if the device is out of memory. Blocks
  /// other sessions of the artifact in this function until `fill` has returned.
  Status allocate();
  /// Writes the artifact's initial values, or only those of constants. Memory that is not written
  /// is never touched and thus not committed.
  Status fill(bool onlyConstants);
  /// The addresses of the level's buffers, in the level's order.
  std::span<std::byte *const> buffers() const { return addresses; }
  /// Whether other sessions may share the memory.
  bool isShared() const { return shared; }
  /// Must precede every write but those of `fill`: makes the memory private to this session. If the
  /// buffers had to move, returns their old memory; else null.
  Result<std::shared_ptr<std::byte>> own();

  /// Read or write one state. `value` has tensor.bytes, and so has `out`, which may be null.
  /// Reading a divided state is a collective call.
  Status read(uint32_t state, void *out);
  Status write(uint32_t state, const void *value);
  /// Resets all states to the artifact's initial values.
  Status reset() { return writeInitial(/*onlyConstants=*/false); }

private:
  /// The storage of a state.
  struct Storage {
    uint64_t offset = 0, bytes = 0;                          // of the primary in the memory
    uint32_t cut = 0;                                        // number of its cut from 1 on; 0: none
    std::vector<std::pair<uint64_t, uint64_t>> mirrors = {}; // offsets and bytes
    const gradc_artifact_entry *pack = nullptr;              // if packed or mirrored
    const gradc_artifact_entry *unpack = nullptr;            // if packed
  };

  const gradc_artifact_entry *findEntry(const char *what, uint32_t state) const;
  void layOut();
  void findOwners(int stages);
  bool hasOwner(uint32_t state) const { return !owners.empty() && owners[state] != nobody; }
  /// Whether a state of another stage is whole here for a while.
  bool isHeld(uint32_t state) const {
    return holdsWhole && artifact.states()[state].kind != GRADC_STATE_SLOT;
  }
  uint64_t beginOf(uint32_t state, int rank) const;
  void forgetOthers(uint32_t state);
  uint64_t elementBytes(uint32_t state) const;
  Status gather(void *values, uint32_t state, std::span<const int64_t> begins);
  Status gather(uint32_t state);
  Status readStored(uint32_t state, void *out);
  Status writeStored(uint32_t state, const void *value);
  Status readShards(uint32_t state, std::byte *out);
  void bind(std::shared_ptr<std::byte> block);
  Status writeInitial(bool onlyConstants);

  const Artifact &artifact;
  const gradc_artifact_level &level;
  Device &device;
  const RunEntry run;
  std::shared_ptr<std::byte> memory;
  uint64_t bytes = 0;
  bool shared = false;           // other sessions may share the memory
  Communicator *ranks = nullptr; // the ranks that divide states; null: whole states
  Division divided;
  static constexpr int nobody = -1, several = -2;
  std::vector<int> owners; // of states, by stages; empty: ranks are no stages
  bool holdsWhole = false;
  std::unique_lock<std::mutex> filling; // between `allocate` and `fill`
  std::vector<uint64_t> offsets;        // of the level's buffers
  std::vector<std::byte *> addresses;
  std::vector<Storage> storage; // one per state
};

} // namespace gradc::runtime

#endif
