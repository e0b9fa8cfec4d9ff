// All states lie in one block, which sessions share until one of them writes it.
#include "runtime/core/state/StateMemory.h"

#include "runtime/base/Text.h"
#include "runtime/core/artifact/Shards.h"
#include "runtime/core/artifact/StateCodes.h"

#include <algorithm>
#include <cstring>

namespace gradc::runtime {

static bool isAllZero(std::span<const std::byte> bytes) {
  return std::ranges::all_of(bytes, [](std::byte byte) { return byte == std::byte{0}; });
}

StateMemory::~StateMemory() { (void)device.synchronize(); } // pending launches may use the memory

Status StateMemory::allocate() {
  store.layOut();
  SharedStates &states = artifact.sharedStates();
  filling = std::unique_lock(states.mutex);
  std::shared_ptr<std::byte> block = ranks ? nullptr : states.blocks[&level].lock();
  shared = derived = bool(block);
  if (!block)
    block = device.allocateShared(store.bytes());
  if (!block)
    return Status(Code::doesNotFit,
                  text("no memory for parameters and optimizer state (", store.bytes(), " bytes)"));
  store.bind(std::move(block));
  return {};
}

Status StateMemory::fill(bool onlyConstants) {
  std::unique_lock<std::mutex> lock = std::move(filling);
  if (shared)
    return {};
  Status filled = writeInitial(onlyConstants, /*isZero=*/true);
  if (onlyConstants)
    derived = true; // no entry that reads only constants reads derived states
  if (filled.ok())
    filled = derive();
  if (filled.ok())
    filled = device.synchronize(); // other sessions read the block without waiting for this device
  if (filled.ok() && !onlyConstants && !ranks) {
    artifact.sharedStates().blocks[&level] = store.memory();
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
  if (store.memory().use_count() == 1) {
    states.blocks.erase(&level);
    shared = false;
    return former;
  }
  std::shared_ptr<std::byte> block = device.allocateShared(store.bytes());
  if (!block)
    return Status(Code::doesNotFit,
                  text("no memory for parameters and optimizer state of a session's own (",
                       store.bytes(), " bytes)"));
  void *slices[] = {store.memory().get(), block.get()};
  Launch copy;
  copy.kind = Launch::Kind::copy;
  copy.slices = slices;
  copy.sliceCount = 2;
  copy.units = int64_t(store.bytes());
  Status copied = device.launch(copy);
  if (copied.ok())
    copied = device.synchronize();
  if (!copied.ok())
    return copied;
  former = store.memory();
  store.bind(std::move(block));
  shared = false;
  return former;
}

bool StateMemory::isDivisible(const Communicator *all) const {
  return level.cuts.count || (all && all->modelRanks() == countStages(artifact, level));
}

bool StateMemory::setRanks(Communicator *all) {
  bool hasShards = shardsOf(artifact) > 1;
  if (all == ranks || !(hasShards || isDivisible(all ? all : ranks)))
    return false;
  ranks = all;
  divisions.clear();
  if (ranks) {
    cuts = {ranks->rank(), ranks->size(),
            ranks->divide(artifact.elements<gradc_artifact_cut>(level.cuts))};
    divisions = divideStates(artifact, level, store, *ranks, cuts);
  }
  for (uint32_t state = 0; state < store.numStates(); ++state)
    if (StateDivision *division = divisionOf(state))
      division->release(state);
  return true;
}

StateDivision *StateMemory::divisionOf(uint32_t state) const {
  for (const auto &division : divisions)
    if (division->divides(state))
      return division.get();
  return nullptr;
}

Status StateMemory::holdWhole(bool whole) {
  for (const auto &division : divisions)
    if (Status held = division->holdWhole(whole); !held.ok())
      return held;
  return {};
}

Status StateMemory::read(uint32_t state, void *out) {
  if (StateDivision *division = divisionOf(state))
    return division->gather(state, out);
  return out ? store.read(state, out) : Status();
}

Status StateMemory::write(uint32_t state, const void *value) {
  StateDivision *division = divisionOf(state);
  derived = false;
  return division ? division->scatter(state, value) : store.write(state, value);
}

Status StateMemory::derive() {
  if (derived)
    return {};
  Status status = store.derive();
  derived = status.ok();
  return status;
}

/// The elements that codes stand for. On CPUs, threads share the work.
static void unpack(const Artifact &artifact, const gradc_artifact_state &state, Device &device,
                   std::byte *out) {
  constexpr uint64_t piece = uint64_t(1) << 20; // begins with a byte of codes
  StateCodes codes{state.codes, artifact.elements<uint8_t>(state.initial).data(),
                   artifact.elements<uint8_t>(state.codes.zeros).data()};
  uint64_t elements = state.tensor.bytes;
  device.forEach(int64_t((elements + piece - 1) / piece), [&](unsigned, int64_t i) {
    uint64_t begin = uint64_t(i) * piece;
    codes.unpack(begin, std::min(begin + piece, elements), reinterpret_cast<uint8_t *>(out));
  });
}

Status StateMemory::writeInitial(bool onlyConstants, bool isZero) {
  constexpr uint64_t releasedBytes = 1 << 20; // a larger value is not kept twice
  std::vector<std::byte> filled;
  auto states = artifact.states();
  for (uint32_t i = 0; i < states.size(); ++i) {
    if (onlyConstants && states[i].kind != GRADC_STATE_CONSTANT)
      continue;
    std::span<const std::byte> initial = artifact.bytes(states[i].initial);
    const void *value = initial.data();
    // Every layout of zeros is zeros.
    if (isZero && states[i].splat && isAllZero(initial))
      continue;
    if (states[i].codes.bits) {
      filled.resize(states[i].tensor.bytes);
      unpack(artifact, states[i], device, filled.data());
      value = filled.data();
    } else if (states[i].splat) {
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
