// All states lie in one block, which sessions share until one of them writes it. For packed
// layouts, the compiler has made entries that convert.
#include "runtime/core/StateMemory.h"

#include "runtime/base/DataType.h"
#include "runtime/base/Text.h"
#include "runtime/include/gradc/transfer.h"

#include <charconv>
#include <cstring>

namespace gradc::runtime {

const gradc_artifact_entry *StateMemory::findEntry(const char *what, uint32_t state) const {
  std::string name = text(what, ':', artifact.string(artifact.states()[state].tensor.name));
  for (const auto &entry : artifact.elements<gradc_artifact_entry>(level.entries))
    if (artifact.string(entry.name) == name)
      return &entry;
  return nullptr;
}

StateMemory::~StateMemory() { (void)device.synchronize(); } // pending launches may use the memory

/// Places every buffer, and every state that no entry of this level uses, in one block.
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
    if (record.kind == GRADC_BUFFER_MIRROR) {
      kept.mirrors.emplace_back(offsets.back(), record.bytes);
    } else {
      kept.offset = offsets.back();
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
  std::shared_ptr<std::byte> block = ranks ? nullptr : states.blocks[&level].lock();
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
    filled = device.synchronize(); // other sessions read the block without waiting for this device
  if (filled.ok() && !onlyConstants && !ranks) {
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

/// The offset of the first byte of a rank's part of the primary.
uint64_t StateMemory::beginOf(uint32_t state, int rank) const {
  const Storage &kept = storage[state];
  if (hasOwner(state))
    return rank > owners[state] ? kept.bytes : 0;
  const auto &cut = artifact.elements<gradc_artifact_cut>(level.cuts)[kept.cut - 1];
  auto element = uint64_t(divided.begin(kept.cut - 1, rank));
  // Padding belongs to the last element.
  return element == cut.elements ? kept.bytes : element * (kept.bytes / cut.elements);
}

/// Releases the memory of parts that other ranks own.
void StateMemory::forgetOthers(uint32_t state) {
  const Storage &kept = storage[state];
  if (!isDivided(state) || isSharded(artifact.states()[state]))
    return;
  uint64_t begin = beginOf(state, divided.rank), end = beginOf(state, divided.rank + 1);
  std::byte *first = memory.get() + kept.offset;
  device.forgetPages(first, begin);
  device.forgetPages(first + end, kept.bytes - end);
  if (hasOwner(state) && owners[state] != divided.rank)
    for (auto [offset, size] : kept.mirrors)
      device.forgetPages(memory.get() + offset, size);
}

/// The number of a stage's entry; -1: it is none.
static int stageOf(std::string_view entry) {
  constexpr std::string_view infix = GRADC_STAGE_INFIX;
  size_t at = entry.find(infix);
  int stage = -1;
  if (at != entry.npos)
    std::from_chars(entry.data() + at + infix.size(), entry.data() + entry.size(), stage);
  return stage;
}

static int countStages(const Artifact &artifact, const gradc_artifact_level &level) {
  int stages = 0;
  for (const auto &entry : artifact.elements<gradc_artifact_entry>(level.entries))
    stages = std::max(stages, stageOf(artifact.string(entry.name)) + 1);
  return stages;
}

bool StateMemory::isDivisible(const Communicator *all) const {
  return level.cuts.count || (all && all->size() == countStages(artifact, level));
}

/// A state belongs to the stage that writes it. What several stages write, such as the number of
/// steps, all of them have.
void StateMemory::findOwners(int stages) {
  owners.clear();
  if (countStages(artifact, level) != stages)
    return;
  owners.assign(artifact.states().size(), nobody);
  auto buffers = artifact.elements<gradc_artifact_buffer>(level.buffers);
  for (const auto &entry : artifact.elements<gradc_artifact_entry>(level.entries)) {
    int stage = stageOf(artifact.string(entry.name));
    if (stage < 0)
      continue;
    for (const auto &node : artifact.elements<gradc_artifact_node>(entry.nodes))
      for (const auto &slice :
           artifact.elements<gradc_artifact_slice>(node.slices).subspan(node.operands))
        if (slice.space == GRADC_SPACE_BUFFER) {
          int &owner = owners[buffers[slice.index].state];
          owner = owner == nobody || owner == stage ? stage : several;
        }
  }
  for (int &owner : owners)
    if (owner == several)
      owner = nobody;
}

bool StateMemory::setRanks(Communicator *all) {
  auto cuts = artifact.elements<gradc_artifact_cut>(level.cuts);
  bool hasShards = shardsOf(artifact) > 1;
  if (all == ranks || !(hasShards || isDivisible(all ? all : ranks)))
    return false;
  ranks = all;
  if (ranks) {
    divided = {ranks->rank(), ranks->size(), ranks->divide(cuts)};
    findOwners(ranks->size());
  }
  for (uint32_t state = 0; state < storage.size(); ++state)
    forgetOthers(state);
  return true;
}

uint64_t StateMemory::elementBytes(uint32_t state) const {
  return findDataType(gradc_dtype(artifact.states()[state].tensor.dtype))->bytes;
}

/// Gathers the values of all ranks, each of which has those from its begin to the next rank's.
Status StateMemory::gather(void *values, uint32_t state, std::span<const int64_t> begins) {
  Communicator::Exchange exchange{Communicator::Kind::gather,
                                  gradc_dtype(artifact.states()[state].tensor.dtype)};
  exchange.begins = begins;
  Communicator::Piece piece{values, begins.back()};
  auto started = ranks->start({&piece, 1}, exchange);
  return started ? ranks->waitFor(*started) : started.status();
}

Status StateMemory::gather(uint32_t state) {
  uint64_t width = elementBytes(state);
  std::vector<int64_t> begins;
  for (int rank = 0; rank <= divided.ranks; ++rank)
    begins.push_back(int64_t(beginOf(state, rank) / width));
  return gather(memory.get() + storage[state].offset, state, begins);
}

/// As row-major values.
Status StateMemory::readStored(uint32_t state, void *out) {
  const Storage &kept = storage[state];
  return kept.unpack
             ? run(*kept.unpack, {}, {&out, 1})
             : device.fetch(out, memory.get() + kept.offset, storedBytes(artifact.states()[state]));
}

/// Gathers the shards of all ranks one after the other, then puts each in its place.
Status StateMemory::readShards(uint32_t state, std::byte *out) {
  const gradc_artifact_state &record = artifact.states()[state];
  uint64_t bytes = storedBytes(record);
  std::vector<std::byte> all(record.tensor.bytes);
  if (Status own = readStored(state, all.data() + uint64_t(ranks->rank()) * bytes); !own.ok())
    return own;
  auto elements = int64_t(bytes / elementBytes(state));
  std::vector<int64_t> begins;
  for (int64_t rank = 0; rank <= int64_t(record.shards); ++rank)
    begins.push_back(rank * elements);
  Status gathered = gather(all.data(), state, begins);
  for (uint64_t rank = 0; gathered.ok() && out && rank < record.shards; ++rank)
    putShard(record, rank, all.data() + rank * bytes, out);
  return gathered;
}

Status StateMemory::holdWhole(bool whole) {
  if (!ranks || owners.empty() || whole == holdsWhole)
    return {};
  std::vector<std::byte> value;
  for (uint32_t state = 0; state < storage.size(); ++state) {
    if (!hasOwner(state) || artifact.states()[state].kind == GRADC_STATE_SLOT)
      continue;
    holdsWhole = whole;
    if (!whole) {
      forgetOthers(state);
      continue;
    }
    value.resize(artifact.states()[state].tensor.bytes);
    Status status = gather(state);
    bool isCopied = !storage[state].mirrors.empty() && owners[state] != divided.rank;
    if (status.ok() && isCopied)
      status = readStored(state, value.data());
    if (status.ok() && isCopied)
      status = write(state, value.data());
    if (!status.ok())
      return status;
  }
  holdsWhole = whole;
  return {};
}

Status StateMemory::read(uint32_t state, void *out) {
  if (isSharded(artifact.states()[state]))
    return readShards(state, static_cast<std::byte *>(out));
  if (isDivided(state))
    if (Status gathered = gather(state); !gathered.ok())
      return gathered;
  Status status = out ? readStored(state, out) : Status();
  if (isDivided(state))
    forgetOthers(state);
  return status;
}

/// Row-major values.
Status StateMemory::writeStored(uint32_t state, const void *value) {
  const Storage &kept = storage[state];
  std::vector<void *> ignored(kept.pack ? kept.pack->outputs.count : 0);
  Status status = kept.pack ? run(*kept.pack, {&value, 1}, ignored)
                            : device.copyIn(memory.get() + kept.offset, value,
                                            storedBytes(artifact.states()[state]));
  forgetOthers(state);
  return status;
}

Status StateMemory::write(uint32_t state, const void *value) {
  const gradc_artifact_state &record = artifact.states()[state];
  if (!isSharded(record))
    return writeStored(state, value);
  std::vector<std::byte> shard(storedBytes(record));
  takeShard(record, uint64_t(ranks->rank()), static_cast<const std::byte *>(value), shard.data());
  return writeStored(state, shard.data());
}

Status StateMemory::writeInitial(bool onlyConstants) {
  constexpr uint64_t releasedBytes = 1 << 20; // a larger value is not kept twice
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
