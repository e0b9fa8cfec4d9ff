// The part of each divided state that a rank owns.
#ifndef RUNTIME_CORE_DIVISION_H
#define RUNTIME_CORE_DIVISION_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gradc::runtime {

/// Of a level's cuts.
struct Division {
  int rank = 0, ranks = 1;
  std::vector<int64_t> begins; ///< as Communicator::divide has them

  /// The first element of a rank's part of a cut; the end for the number of ranks.
  int64_t begin(uint32_t cut, int ofRank) const {
    return begins[cut * size_t(ranks + 1) + size_t(ofRank)];
  }
};

} // namespace gradc::runtime

#endif
