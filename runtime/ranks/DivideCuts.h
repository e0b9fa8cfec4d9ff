// How the states that ranks divide are assigned to ranks.
#ifndef RUNTIME_RANKS_DIVIDECUTS_H
#define RUNTIME_RANKS_DIVIDECUTS_H

#include "runtime/include/gradc/artifact.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace gradc::runtime {

/// For each cut, the offsets at which each rank's elements begin, then the end of the last rank's.
/// Only ranks from `first` on own elements; the load is balanced among them:
/// 1. Cuts with at least one piece per owner are divided evenly. The owners that get one piece more
///    vary from cut to cut.
/// 2. Each other cut goes to one owner as a whole: largest cut first, to the least loaded owner.
inline std::vector<int64_t> divideCuts(std::span<const gradc_artifact_cut> cuts, int64_t ranks,
                                       int64_t first = 0) {
  int64_t owners = ranks - first;
  std::vector<int64_t> begins(cuts.size() * size_t(ranks + 1));
  std::vector<int64_t> load(static_cast<size_t>(owners));
  std::vector<size_t> small;
  auto beginOf = [&](size_t cut, int64_t rank) -> int64_t & {
    return begins[cut * size_t(ranks + 1) + size_t(rank)];
  };
  for (size_t i = 0; i < cuts.size(); ++i) {
    auto elements = int64_t(cuts[i].elements), unit = int64_t(cuts[i].unit);
    int64_t pieces = (elements + unit - 1) / unit;
    if (pieces < owners || pieces == 1) {
      small.push_back(i);
      continue;
    }
    for (int64_t owner = 0; owner <= owners; ++owner) {
      int64_t piece = (pieces * owner + int64_t(i) % owners) / owners;
      beginOf(i, first + owner) = std::min(piece * unit, elements);
      if (owner > 0)
        load[size_t(owner - 1)] += beginOf(i, first + owner) - beginOf(i, first + owner - 1);
    }
  }
  std::sort(small.begin(), small.end(), [&](size_t a, size_t b) {
    return cuts[a].elements != cuts[b].elements ? cuts[a].elements > cuts[b].elements : a < b;
  });
  for (size_t i : small) {
    auto least = std::min_element(load.begin(), load.end());
    *least += int64_t(cuts[i].elements);
    for (int64_t rank = first + (least - load.begin()) + 1; rank <= ranks; ++rank)
      beginOf(i, rank) = int64_t(cuts[i].elements);
  }
  return begins;
}

} // namespace gradc::runtime

#endif
