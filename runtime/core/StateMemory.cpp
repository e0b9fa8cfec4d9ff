// All states lie in one block; where a layout is packed, the compiler has made entries that
// convert.
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

Status StateMemory::allocate() {
  auto records = artifact.elements<gradc_artifact_buffer>(level.buffers);
  auto states = artifact.states();
  storage.resize(states.size());

  // 1. One block holds every buffer, and states that no entry of this level uses.
  std::vector<bool> stored(states.size());
  std::vector<uint64_t> offsets;
  uint64_t bytes = 0;
  auto place = [&](uint64_t size) {
    offsets.push_back(bytes);
    bytes += (size + 63) / 64 * 64;
  };
  for (const gradc_artifact_buffer &record : records) {
    place(record.bytes);
    stored[record.state] = true;
  }
  for (size_t state = 0; state < states.size(); ++state)
    if (!stored[state])
      place(states[state].tensor.bytes);
  memory = DeviceMemory(device, bytes);
  if (!memory.data())
    return Status(Code::doesNotFit,
                  text("no memory for parameters and optimizer state (", bytes, " bytes)"));

  // 2. The addresses of the buffers, and how each state is read and written.
  for (size_t i = 0; i < records.size(); ++i) {
    const gradc_artifact_buffer &record = records[i];
    addresses.push_back(memory.data() + offsets[i]);
    Storage &kept = storage[record.state];
    if (!record.mirror)
      kept.primary = addresses[i];
    if (record.packed || record.mirror)
      kept.pack = findEntry("pack", record.state);
    if (record.packed && !record.mirror)
      kept.unpack = findEntry("unpack", record.state);
  }
  size_t next = records.size();
  for (size_t state = 0; state < states.size(); ++state)
    if (!stored[state])
      storage[state].primary = memory.data() + offsets[next++];
  return {};
}

Status StateMemory::read(uint32_t state, void *out) {
  const Storage &kept = storage[state];
  if (kept.unpack)
    return run(*kept.unpack, {}, {&out, 1});
  return device.fetch(out, kept.primary, artifact.states()[state].tensor.bytes);
}

Status StateMemory::write(uint32_t state, const void *value) {
  const Storage &kept = storage[state];
  if (kept.pack) {
    std::vector<void *> ignored(kept.pack->outputs.count);
    return run(*kept.pack, {&value, 1}, ignored);
  }
  return device.copyIn(kept.primary, value, artifact.states()[state].tensor.bytes);
}

Status StateMemory::reset(bool onlyConstants) {
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
