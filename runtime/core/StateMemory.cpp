// All states lie in one block, which is that of other sessions until it is written; where a layout
// is packed, the compiler has made entries that convert.
#include "runtime/core/StateMemory.h"

#include "runtime/base/Text.h"

#include <cstring>

namespace gradc::runtime {

const gradc_artifact_entry *StateMemory::findEntry(const char *what, uint32_t state) const {
  std::string name = text(what, ':', artifact.string(artifact.states()[state].tensor.name));
  for (const auto &entry : artifact.elements<gradc_artifact_entry>(level.entries))
    if (artifact.string(entry.name) == name)
      return &entry;
  return nullptr;
}

StateMemory::~StateMemory() { (void)device.synchronize(); } // what is launched may use the memory

/// One block holds every buffer, and states that no entry of this level uses.
void StateMemory::layOut() {
  auto records = artifact.elements<gradc_artifact_buffer>(level.buffers);
  auto states = artifact.states();
  storage.resize(states.size());
  std::vector<bool> stored(states.size());
  auto place = [&](uint64_t size) {
    uint64_t offset = bytes;
    bytes += (size + 63) / 64 * 64;
    return offset;
  };
  for (const gradc_artifact_buffer &record : records) {
    offsets.push_back(place(record.bytes));
    stored[record.state] = true;
    Storage &kept = storage[record.state];
    if (record.kind != GRADC_BUFFER_MIRROR)
      kept.offset = offsets.back();
    if (record.kind != GRADC_BUFFER_PLAIN)
      kept.pack = findEntry("pack", record.state);
    if (record.kind == GRADC_BUFFER_PACKED)
      kept.unpack = findEntry("unpack", record.state);
  }
  for (size_t state = 0; state < states.size(); ++state)
    if (!stored[state])
      storage[state].offset = place(states[state].tensor.bytes);
}

void StateMemory::bind(std::shared_ptr<std::byte> block) {
  memory = std::move(block);
  addresses.clear();
  for (uint64_t offset : offsets)
    addresses.push_back(memory.get() + offset);
}

Status StateMemory::allocate() {
  layOut();
  SharedStates &states = artifact.sharedStates();
  filling = std::unique_lock(states.mutex);
  std::shared_ptr<std::byte> block = states.blocks[&level].lock();
  shared = bool(block);
  if (!block)
    block = device.allocateShared(bytes);
  if (!block)
    return Status(Code::doesNotFit,
                  text("no memory for parameters and optimizer state (", bytes, " bytes)"));
  bind(std::move(block));
  return {};
}

Status StateMemory::fill(bool onlyConstants) {
  std::unique_lock<std::mutex> lock = std::move(filling);
  if (shared)
    return {};
  Status filled = writeInitial(onlyConstants);
  if (filled.ok())
    filled = device.synchronize(); // others read it on their own
  if (filled.ok() && !onlyConstants) {
    artifact.sharedStates().blocks[&level] = memory;
    shared = true;
  }
  return filled;
}

Result<std::shared_ptr<std::byte>> StateMemory::own() {
  std::shared_ptr<std::byte> former;
  if (!shared)
    return former;
  SharedStates &states = artifact.sharedStates();
  std::lock_guard lock(states.mutex);
  if (memory.use_count() == 1) {
    states.blocks.erase(&level);
    shared = false;
    return former;
  }
  std::shared_ptr<std::byte> block = device.allocateShared(bytes);
  if (!block)
    return Status(Code::doesNotFit,
                  text("no memory for parameters and optimizer state of a session's own (", bytes,
                       " bytes)"));
  void *slices[] = {memory.get(), block.get()};
  Launch copy;
  copy.kind = Launch::Kind::copy;
  copy.slices = slices;
  copy.sliceCount = 2;
  copy.units = int64_t(bytes);
  Status copied = device.launch(copy);
  if (copied.ok())
    copied = device.synchronize();
  if (!copied.ok())
    return copied;
  former = memory;
  bind(std::move(block));
  shared = false;
  return former;
}

Status StateMemory::read(uint32_t state, void *out) {
  const Storage &kept = storage[state];
  if (kept.unpack)
    return run(*kept.unpack, {}, {&out, 1});
  return device.fetch(out, memory.get() + kept.offset, artifact.states()[state].tensor.bytes);
}

Status StateMemory::write(uint32_t state, const void *value) {
  const Storage &kept = storage[state];
  if (kept.pack) {
    std::vector<void *> ignored(kept.pack->outputs.count);
    return run(*kept.pack, {&value, 1}, ignored);
  }
  return device.copyIn(memory.get() + kept.offset, value, artifact.states()[state].tensor.bytes);
}

Status StateMemory::writeInitial(bool onlyConstants) {
  constexpr uint64_t releasedBytes = 1 << 20; // a value above is not kept twice
  std::vector<std::byte> filled;
  auto states = artifact.states();
  for (uint32_t i = 0; i < states.size(); ++i) {
    if (onlyConstants && states[i].kind != GRADC_STATE_CONSTANT)
      continue;
    std::span<const std::byte> initial = artifact.bytes(states[i].initial);
    const void *value = initial.data();
    if (states[i].splat) {
      filled.resize(states[i].tensor.bytes);
      for (size_t at = 0; at < filled.size(); at += initial.size())
        std::memcpy(filled.data() + at, initial.data(), initial.size());
      value = filled.data();
    }
    if (Status written = write(i, value); !written.ok())
      return written;
    if (states[i].tensor.bytes >= releasedBytes)
      artifact.releasePages();
  }
  return {};
}

} // namespace gradc::runtime
