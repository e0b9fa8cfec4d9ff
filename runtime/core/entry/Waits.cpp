// Compares the memory that each launch touches with what the launches since the last wait have
// touched.
#include "runtime/core/entry/Waits.h"

#include "runtime/core/entry/Aliases.h"
#include "runtime/core/entry/PlacedSlice.h"

#include <algorithm>
#include <vector>

using namespace gradc::runtime;

namespace {

struct Access : PlacedSlice {
  bool writes;

  /// A piece runs in a single iteration.
  bool conflicts(const Access &other) const { return (writes || other.writes) && overlaps(other); }
};

/// Puts the slice of an output into the input that may have the same memory.
gradc_artifact_slice inAlias(gradc_artifact_slice slice, std::span<const uint32_t> aliases) {
  if (slice.space == GRADC_SPACE_OUTPUT && aliases[slice.index] != noInput) {
    slice.space = GRADC_SPACE_INPUT;
    slice.index = aliases[slice.index];
  }
  return slice;
}

} // namespace

void gradc::runtime::planWaits(const Artifact &artifact, std::span<const gradc_artifact_node> nodes,
                               std::span<const uint32_t> aliases, std::span<Launch> piece) {
  std::vector<Access> all, split, own;
  std::vector<std::pair<Access, uint32_t>> summed; // each with its number, counted from 1
  uint32_t sums = 0;
  for (Launch &launch : piece) {
    own.clear();
    const gradc_artifact_node &node = nodes[launch.node];
    auto touched = artifact.elements<gradc_artifact_slice>(node.slices);
    for (size_t s = 0; s < touched.size(); ++s)
      own.push_back({{artifact, inAlias(touched[s], aliases)}, s >= node.operands});

    for (const auto &[access, number] : summed)
      if (number > launch.awaits &&
          std::any_of(own.begin(), own.end(),
                      [&access](const Access &mine) { return mine.conflicts(access); }))
        launch.awaits = number;
    if (launch.kind == Launch::Kind::collective) {
      ++sums;
      for (const Access &mine : own)
        if (mine.writes) // a transfer copies what it sends; all others write all of their slices
          summed.push_back({mine, sums});
    }

    bool splits = launch.shares > 1;
    const std::vector<Access> &earlier = splits ? all : split;
    launch.waits = std::any_of(own.begin(), own.end(), [&](const Access &mine) {
      return std::any_of(earlier.begin(), earlier.end(),
                         [&](const Access &theirs) { return mine.conflicts(theirs); });
    });
    if (launch.waits) {
      all.clear();
      split.clear();
    }
    all.insert(all.end(), own.begin(), own.end());
    if (splits)
      split.insert(split.end(), own.begin(), own.end());
  }
}
