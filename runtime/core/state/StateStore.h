// The storage of a model's states in one block of device memory, and the conversion between the
// layout of a state there and its row-major value.
#ifndef RUNTIME_CORE_STATE_STATESTORE_H
#define RUNTIME_CORE_STATE_STATESTORE_H

#include "runtime/base/Text.h"
#include "runtime/core/artifact/Artifact.h"
#include "runtime/device/Device.h"

#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace gradc::runtime {

/// A state is stored in the layout that the level's kernels need, its primary. It may have mirrors,
/// copies in other layouts, which `write` updates, too. Entries of the level convert layouts.
class StateStore {
public:
  using RunEntry =
      std::function<Status(const gradc_artifact_entry &entry, std::span<const void *const> inputs,
                           std::span<void *const> outputs)>;

  /// `run` runs an entry to completion. All arguments must outlive this object.
  StateStore(const Artifact &artifact, const gradc_artifact_level &level, Device &device,
             RunEntry run)
      : artifact(artifact), level(level), device(device), run(std::move(run)) {}

  /// Places every buffer of the level, and every state that no entry uses, in the block.
  void layOut();
  /// The size of the block.
  uint64_t bytes() const { return blockBytes; }
  /// Sets the block, which has `bytes` bytes.
  void bind(std::shared_ptr<std::byte> block);
  const std::shared_ptr<std::byte> &memory() const { return block; }
  /// The addresses of the level's buffers, in the level's order.
  std::span<std::byte *const> buffers() const { return addresses; }

  const gradc_artifact_state &record(uint32_t state) const {
    return artifact.storedStates()[state];
  }
  uint32_t numStates() const { return uint32_t(storage.size()); }
  std::byte *primary(uint32_t state) const { return block.get() + storage[state].offset; }
  uint64_t primaryBytes(uint32_t state) const { return storage[state].bytes; }
  uint64_t elementBytes(uint32_t state) const;
  /// The number of the state's cut, from 1 on; 0: none.
  uint32_t cutOf(uint32_t state) const { return storage[state].cut; }
  bool hasMirrors(uint32_t state) const { return !storage[state].mirrors.empty(); }

  /// Read and write the row-major value of what is stored: the shard of a sharded state, else the
  /// whole state.
  Status read(uint32_t state, void *out);
  Status write(uint32_t state, const void *value);
  /// Computes the derived states from the others.
  Status derive();
  /// Release the memory of the primary outside of [begin, end), in bytes, or of all mirrors. What
  /// it held is lost.
  void keepOnly(uint32_t state, uint64_t begin, uint64_t end);
  void releaseMirrors(uint32_t state);

private:
  /// The storage of a state.
  struct Storage {
    uint64_t offset = 0, bytes = 0;                          // of the primary in the block
    uint32_t cut = 0;                                        // number of its cut from 1 on; 0: none
    std::vector<std::pair<uint64_t, uint64_t>> mirrors = {}; // offsets and bytes
    const gradc_artifact_entry *pack = nullptr;              // if packed or mirrored
    const gradc_artifact_entry *unpack = nullptr;            // if packed
  };

  const gradc_artifact_entry *findEntry(std::string_view name) const;
  /// Of an entry that converts a state.
  const gradc_artifact_entry *findEntry(const char *what, uint32_t state) const {
    return findEntry(text(what, ':', artifact.string(record(state).tensor.name)));
  }

  const Artifact &artifact;
  const gradc_artifact_level &level;
  Device &device;
  const RunEntry run;
  std::shared_ptr<std::byte> block;
  uint64_t blockBytes = 0;
  std::vector<uint64_t> offsets; // of the level's buffers
  std::vector<std::byte *> addresses;
  std::vector<Storage> storage; // one per state
};

} // namespace gradc::runtime

#endif
