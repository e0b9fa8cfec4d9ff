// The part of each divided state that a rank owns.
#ifndef RUNTIME_CORE_STATE_DIVISION_H
#define RUNTIME_CORE_STATE_DIVISION_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gradc::runtime {

/// The division of a level's cuts among ranks.
struct Division {
  int rank = 0, ranks = 1;
  std::vector<int64_t> begins; ///< the result of Communicator::divide

  /// The first element of a rank's part of a cut; with `ofRank` == ranks, the end.
  int64_t begin(uint32_t cut, int ofRank) const {
    return begins[cut * size_t(ranks + 1) + size_t(ofRank)];
  }
};

} // namespace gradc::runtime

#endif
