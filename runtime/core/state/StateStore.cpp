// Buffers that ranks divide are placed last, because ranks release parts of them.
#include "runtime/core/state/StateStore.h"

#include "runtime/base/DataType.h"
#include "runtime/core/artifact/Shards.h"
#include "runtime/include/gradc/entries.h"

#include <algorithm>
#include <cstring>

namespace gradc::runtime {

const gradc_artifact_entry *StateStore::findEntry(std::string_view name) const {
  for (const auto &entry : artifact.elements<gradc_artifact_entry>(level.entries))
    if (artifact.string(entry.name) == name)
      return &entry;
  return nullptr;
}

void StateStore::layOut() {
  auto records = artifact.elements<gradc_artifact_buffer>(level.buffers);
  auto states = artifact.storedStates();
  storage.resize(states.size());
  std::vector<bool> stored(states.size());
  auto place = [&](uint64_t size) {
    uint64_t offset = blockBytes;
    blockBytes += (size + 63) / 64 * 64;
    return offset;
  };
  offsets.resize(records.size());
  // Those with a cut come last: ranks release parts of them, and a huge page with a hole stays
  // small.
  for (bool isCut : {false, true})
    for (size_t i = 0; i < records.size(); ++i)
      if ((records[i].cut != 0) == isCut)
        offsets[i] = place(records[i].bytes);
  for (size_t i = 0; i < records.size(); ++i) {
    const gradc_artifact_buffer &record = records[i];
    stored[record.state] = true;
    Storage &kept = storage[record.state];
    if (record.kind == GRADC_BUFFER_MIRROR) {
      kept.mirrors.emplace_back(offsets[i], record.bytes);
    } else {
      kept.offset = offsets[i];
      kept.bytes = record.bytes;
      kept.cut = record.cut;
    }
    if (record.kind != GRADC_BUFFER_PLAIN)
      kept.pack = findEntry("pack", record.state);
    if (record.kind == GRADC_BUFFER_PACKED)
      kept.unpack = findEntry("unpack", record.state);
  }
  for (size_t state = 0; state < states.size(); ++state)
    if (!stored[state])
      storage[state].offset = place(storedBytes(states[state]));
}

void StateStore::bind(std::shared_ptr<std::byte> memory) {
  block = std::move(memory);
  addresses.clear();
  for (uint64_t offset : offsets)
    addresses.push_back(block.get() + offset);
}

uint64_t StateStore::elementBytes(uint32_t state) const {
  return findDataType(gradc_dtype(record(state).tensor.dtype))->bytes;
}

Status StateStore::read(uint32_t state, void *out) {
  const gradc_artifact_entry *unpack = storage[state].unpack;
  return unpack ? run(*unpack, {}, {&out, 1})
                : device.fetch(out, primary(state), storedBytes(record(state)));
}

/// Threads of the host share a large copy, and the system's work for pages that are new.
static Status copyIn(Device &device, std::byte *to, const void *value, uint64_t bytes) {
  constexpr uint64_t piece = uint64_t(4) << 20;
  if (!device.sharesHostMemory() || bytes < 2 * piece)
    return device.copyIn(to, value, bytes);
  auto from = static_cast<const std::byte *>(value);
  device.forEach(int64_t((bytes + piece - 1) / piece), [&](unsigned, int64_t i) {
    uint64_t begin = uint64_t(i) * piece;
    std::memcpy(to + begin, from + begin, std::min(piece, bytes - begin));
  });
  return {};
}

Status StateStore::write(uint32_t state, const void *value) {
  const gradc_artifact_entry *pack = storage[state].pack;
  std::vector<void *> ignored(pack ? pack->outputs.count : 0);
  return pack ? run(*pack, {&value, 1}, ignored)
              : copyIn(device, primary(state), value, storedBytes(record(state)));
}

Status StateStore::derive() {
  const gradc_artifact_entry *entry = findEntry(GRADC_DERIVE_ENTRY);
  return entry ? run(*entry, {}, {}) : Status();
}

void StateStore::keepOnly(uint32_t state, uint64_t begin, uint64_t end) {
  device.forgetPages(primary(state), begin);
  device.forgetPages(primary(state) + end, primaryBytes(state) - end);
}

void StateStore::releaseMirrors(uint32_t state) {
  for (auto [offset, bytes] : storage[state].mirrors)
    device.forgetPages(block.get() + offset, bytes);
}

} // namespace gradc::runtime
