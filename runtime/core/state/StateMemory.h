// The device memory of a model's states (parameters, optimizer slots, statistics, constants), and
// reading and writing of their values.
#ifndef RUNTIME_CORE_STATE_STATEMEMORY_H
#define RUNTIME_CORE_STATE_STATEMEMORY_H

#include "runtime/core/state/StateDivision.h"

#include <mutex>

namespace gradc::runtime {

/// Callers see whole, row-major values. Sessions of an artifact share the memory of states until
/// one of them writes states or keeps only parts of them (copy on write).
class StateMemory {
public:
  /// The arguments are those of StateStore.
  StateMemory(const Artifact &artifact, const gradc_artifact_level &level, Device &device,
              StateStore::RunEntry run)
      : artifact(artifact), level(level), device(device),
        store(artifact, level, device, std::move(run)) {}

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
  /// The division of the level's cuts among ranks; null: this session has whole states.
  const Division *division() const { return ranks ? &cuts : nullptr; }
  bool isDivided(uint32_t state) const { return divisionOf(state); }
  /// Must be called first, except for `setRanks`. Fails if the device is out of memory. Blocks
  /// other sessions of the artifact in this function until `fill` has returned.
  Status allocate();
  /// Writes the artifact's initial values, or only those of constants. Memory that is not written,
  /// or is to hold zeros, is not touched and thus not committed.
  Status fill(bool onlyConstants);
  /// The addresses of the level's buffers, in the level's order.
  std::span<std::byte *const> buffers() const { return store.buffers(); }
  /// Whether other sessions may share the memory.
  bool isShared() const { return shared; }
  /// Must precede every write but those of `fill`: makes the memory private to this session. If the
  /// buffers had to move, returns their old memory; else null.
  Result<std::shared_ptr<std::byte>> own();

  /// Read or write one state. `value` has tensor.bytes, and so has `out`, which may be null.
  /// Reading a divided state is a collective call.
  Status read(uint32_t state, void *out);
  Status write(uint32_t state, const void *value);
  /// Must precede every run of an entry: computes derived states, if others have been written.
  Status derive();
  /// Resets all states to the artifact's initial values.
  Status reset() { return writeInitial(/*onlyConstants=*/false, /*isZero=*/false); }

private:
  /// The division that divides the state; null: this session has the whole state.
  StateDivision *divisionOf(uint32_t state) const;
  /// `isZero` says that the memory is new, and so holds zeros.
  Status writeInitial(bool onlyConstants, bool isZero);

  const Artifact &artifact;
  const gradc_artifact_level &level;
  Device &device;
  StateStore store;
  bool derived = false;          // derived states are those of the other states
  bool shared = false;           // other sessions may share the memory
  Communicator *ranks = nullptr; // the ranks that divide states; null: whole states
  Division cuts;
  std::vector<std::unique_ptr<StateDivision>> divisions;
  std::unique_lock<std::mutex> filling; // between `allocate` and `fill`
};

} // namespace gradc::runtime

#endif
