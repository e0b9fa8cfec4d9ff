// With cuts or stages, every rank has room for whole states and holds a range of their bytes. With
// shards, a rank stores its shard alone.
#include "runtime/core/state/StateDivision.h"

#include "runtime/base/KeptUntilExit.h"
#include "runtime/core/artifact/Shards.h"
#include "runtime/include/gradc/artifact.h"

#include <algorithm>
#include <charconv>

using namespace gradc::runtime;

/// Gathers the values of a state's type of which each rank has those from its begin to the next
/// rank's.
static Status gatherValues(Communicator &ranks, const gradc_artifact_state &state, void *values,
                           std::span<const int64_t> begins) {
  Communicator::Exchange exchange{Communicator::Kind::gather, gradc_dtype(state.tensor.dtype)};
  exchange.begins = begins;
  Communicator::Piece piece{values, begins.back()};
  auto started = ranks.start({&piece, 1}, exchange);
  return started ? ranks.waitFor(*started) : started.status();
}

namespace {

/// Every rank has room for whole states, and holds a range of the bytes of each primary.
class RangeDivision : public StateDivision {
public:
  RangeDivision(StateStore &store, Communicator &ranks) : store(store), ranks(ranks) {}

  Status gather(uint32_t state, void *out) override {
    Status status = gatherPrimary(state);
    if (!status.ok())
      return status;
    status = out ? store.read(state, out) : Status();
    release(state);
    return status;
  }
  Status scatter(uint32_t state, const void *value) override {
    Status status = store.write(state, value);
    release(state);
    return status;
  }
  void release(uint32_t state) override {
    store.keepOnly(state, beginOf(state, place()), beginOf(state, place() + 1));
  }

protected:
  /// Which range this rank holds.
  virtual int place() const { return ranks.rank(); }
  /// The offset of a rank's first byte in the primary, which is the end of the rank before.
  virtual uint64_t beginOf(uint32_t state, int rank) const = 0;

  /// Makes the primary whole on every rank.
  Status gatherPrimary(uint32_t state) {
    uint64_t width = store.elementBytes(state);
    std::vector<int64_t> begins;
    for (int rank = 0; rank <= ranks.size(); ++rank)
      begins.push_back(int64_t(beginOf(state, rank) / width));
    return gatherValues(ranks, store.record(state), store.primary(state), begins);
  }

  StateStore &store;
  Communicator &ranks;
};

/// Ranks that divide updates: each holds its pieces of the states that the level cuts.
class CutDivision final : public RangeDivision {
public:
  CutDivision(StateStore &store, Communicator &ranks, const Division &division,
              std::span<const gradc_artifact_cut> cuts)
      : RangeDivision(store, ranks), division(division), cuts(cuts) {}

  bool divides(uint32_t state) const override { return store.cutOf(state) != 0; }

private:
  uint64_t beginOf(uint32_t state, int rank) const override {
    uint32_t cut = store.cutOf(state) - 1;
    uint64_t bytes = store.primaryBytes(state), elements = cuts[cut].elements;
    auto element = uint64_t(division.begin(cut, rank));
    // Padding belongs to the last element.
    return element == elements ? bytes : element * (bytes / elements);
  }

  const Division &division;
  std::span<const gradc_artifact_cut> cuts;
};

/// Ranks that are the stages of a pipeline: each holds the states that its stage writes.
class StageDivision final : public RangeDivision {
public:
  StageDivision(const Artifact &artifact, const gradc_artifact_level &level, StateStore &store,
                Communicator &ranks);

  bool divides(uint32_t state) const override { return hasOwner(state) && !isHeld(state); }
  void release(uint32_t state) override {
    RangeDivision::release(state);
    if (owners[state] != place())
      store.releaseMirrors(state);
  }
  Status holdWhole(bool whole) override;

private:
  bool hasOwner(uint32_t state) const { return owners[state] >= 0; }
  bool isSlot(uint32_t state) const { return store.record(state).kind == GRADC_STATE_SLOT; }
  /// Whether the state is whole on every rank for a while.
  bool isHeld(uint32_t state) const { return holdsWhole && !isSlot(state); }
  int place() const override { return ranks.partOfModel(); }
  /// All replicas have the same values, so that gathering takes those of the first replica.
  uint64_t beginOf(uint32_t state, int rank) const override {
    return rank > owners[state] ? store.primaryBytes(state) : 0;
  }
  Status makeWhole(uint32_t state);

  static constexpr int nobody = -1, several = -2;
  std::vector<int> owners; // the stage of each state, or one of the above
  bool holdsWhole = false;
};

/// Ranks that divide layers: each stores and computes with its shard of a parameter only.
class ShardDivision final : public StateDivision {
public:
  ShardDivision(StateStore &store, Communicator &ranks) : store(store), ranks(ranks) {}

  bool divides(uint32_t state) const override { return isSharded(store.record(state)); }
  Status gather(uint32_t state, void *out) override;
  Status scatter(uint32_t state, const void *value) override {
    std::vector<std::byte> shard(storedBytes(store.record(state)));
    takeShard(store.record(state), uint64_t(ranks.partOfModel()),
              static_cast<const std::byte *>(value), shard.data());
    return store.write(state, shard.data());
  }
  void release(uint32_t state) override {} // there never was room for other shards

private:
  StateStore &store;
  Communicator &ranks;
};

} // namespace

/// The number of the stage that an entry is for; -1: it is for no stage.
static int stageOf(std::string_view entry) {
  constexpr std::string_view infix = GRADC_STAGE_INFIX;
  size_t at = entry.find(infix);
  int stage = -1;
  if (at != entry.npos)
    std::from_chars(entry.data() + at + infix.size(), entry.data() + entry.size(), stage);
  return stage;
}

int gradc::runtime::countStages(const Artifact &artifact, const gradc_artifact_level &level) {
  int stages = 0;
  for (const auto &entry : artifact.elements<gradc_artifact_entry>(level.entries))
    stages = std::max(stages, stageOf(artifact.string(entry.name)) + 1);
  return stages;
}

/// A state belongs to the stage that writes it. A state that several stages write, such as the
/// number of steps, is not divided.
StageDivision::StageDivision(const Artifact &artifact, const gradc_artifact_level &level,
                             StateStore &store, Communicator &ranks)
    : RangeDivision(store, ranks), owners(artifact.storedStates().size(), nobody) {
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
}

/// Gathers the primary, and computes the mirrors from it on ranks of other stages.
Status StageDivision::makeWhole(uint32_t state) {
  Status status = gatherPrimary(state);
  if (!status.ok() || !store.hasMirrors(state) || owners[state] == place())
    return status;
  std::vector<std::byte> value(store.record(state).tensor.bytes);
  status = store.read(state, value.data());
  return status.ok() ? store.write(state, value.data()) : status;
}

Status StageDivision::holdWhole(bool whole) {
  if (whole == holdsWhole)
    return {};
  holdsWhole = whole;
  for (uint32_t state = 0; state < store.numStates(); ++state) {
    if (!hasOwner(state) || isSlot(state))
      continue;
    if (!whole)
      release(state);
    else if (Status status = makeWhole(state); !status.ok())
      return status;
  }
  return {};
}

/// Gathers the shards of the first replica in rank order, then puts each in its place.
Status ShardDivision::gather(uint32_t state, void *out) {
  const gradc_artifact_state &record = store.record(state);
  uint64_t bytes = storedBytes(record);
  std::vector<std::byte> all(record.tensor.bytes);
  if (Status own = store.read(state, all.data() + uint64_t(ranks.partOfModel()) * bytes); !own.ok())
    return own;
  auto elements = int64_t(bytes / store.elementBytes(state));
  std::vector<int64_t> begins;
  for (int64_t rank = 0; rank <= ranks.size(); ++rank)
    begins.push_back(std::min(rank, int64_t(record.shards)) * elements);
  Status gathered = gatherValues(ranks, record, all.data(), begins);
  for (uint64_t rank = 0; gathered.ok() && out && rank < record.shards; ++rank)
    putShard(record, rank, all.data() + rank * bytes, static_cast<std::byte *>(out));
  if (!gathered.ok())
    keepUntilExit(std::move(all)); // shards may still arrive
  return gathered;
}

std::vector<std::unique_ptr<StateDivision>>
gradc::runtime::divideStates(const Artifact &artifact, const gradc_artifact_level &level,
                             StateStore &store, Communicator &ranks, const Division &division) {
  std::vector<std::unique_ptr<StateDivision>> divisions;
  if (shardsOf(artifact) > 1)
    divisions.push_back(std::make_unique<ShardDivision>(store, ranks));
  if (countStages(artifact, level) == ranks.modelRanks())
    divisions.push_back(std::make_unique<StageDivision>(artifact, level, store, ranks));
  if (auto cuts = artifact.elements<gradc_artifact_cut>(level.cuts); !cuts.empty())
    divisions.push_back(std::make_unique<CutDivision>(store, ranks, division, cuts));
  return divisions;
}
