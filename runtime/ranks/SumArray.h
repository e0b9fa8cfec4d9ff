// The values of one sum over ranks: their locations and their form on the wire.
#ifndef RUNTIME_RANKS_SUMARRAY_H
#define RUNTIME_RANKS_SUMARRAY_H

#include "runtime/ranks/Communicator.h"

#include <algorithm>
#include <array>

namespace gradc::runtime {

/// Pieces viewed as one array. Each rank owns a part of the array and computes the sum of that
/// part.
class SumArray {
public:
  using Piece = Communicator::Piece;
  using Wire = Communicator::Wire;
  using Kind = Communicator::Kind;
  using Exchange = Communicator::Exchange;

  /// A rank's values of a range. A run is the part of one piece.
  struct Source {
    static constexpr size_t maxRuns = 7;

    Source() = default;
    /// Encoded values, one after the other.
    Source(const std::byte *encoded) : encoded(encoded) {}

    bool isKnown() const { return encoded || runs[0]; }

    const std::byte *encoded = nullptr;
    /// Else: the values in the rank's own memory, run by run.
    std::array<const std::byte *, maxRuns> runs = {};
  };

  static size_t widthOnWire(gradc_dtype type, Wire wire);

  void assign(std::span<const Piece> all, const Exchange &exchange, int ofRanks);
  Kind kind() const { return theKind; }
  int64_t count() const { return total; }
  /// Bytes of a value on the wire.
  size_t width() const { return wireWidth; }
  int64_t begin(int ofRank) const { return begins[size_t(ofRank)]; }
  int64_t partSize(int ofRank) const { return begin(ofRank + 1) - begin(ofRank); }

  /// Whether values travel as they are in memory.
  bool travelsAsIs() const { return wire == Wire::full; }
  /// Calls body(address, bytes) for each run of the values [from, to).
  template <typename Body> void forEachRun(int64_t from, int64_t to, Body &&body) const {
    eachRun(from, to, [&](const Piece &piece, int64_t begin, Run run) {
      body(static_cast<std::byte *>(piece.values) + uint64_t(begin) * width(),
           uint64_t(run.count) * width());
    });
  }

  /// Converts the values [from, to) to and from their form on the wire.
  void encode(int64_t from, int64_t to, std::byte *out) const;
  void decode(int64_t from, int64_t to, const Source &in) const;
  /// Replaces the values [from, to) by their sums over ranks, added in rank order, and encodes the
  /// sums unless `out` is null. `others`: the values of each rank; an unknown source stands for
  /// this rank's, in memory.
  void addUp(int64_t from, int64_t to, std::span<const Source> others, std::byte *out) const;
  /// Ends a scatter: zeroes what `rank` does not own of the pieces that leave zeros.
  void clearOthers(int rank) const;

private:
  /// Values of a range that are one after the other in memory.
  struct Run {
    size_t number;
    int64_t at; ///< offset in the array
    int64_t count;
  };
  /// Calls body(piece, offset in the piece, run) for each run of the range [from, to).
  template <typename Body> void eachRun(int64_t from, int64_t to, Body &&body) const {
    int64_t at = 0;
    size_t number = 0;
    for (const Piece &piece : pieces) {
      int64_t first = std::max(from, at), last = std::min(to, at + piece.count);
      if (first < last)
        body(piece, first - at, Run{number++, first, last - first});
      at += piece.count;
    }
  }
  /// Calls body(values, run).
  template <typename T, typename Body> void runsOf(int64_t from, int64_t to, Body &&body) const {
    eachRun(from, to, [&](const Piece &piece, int64_t begin, Run run) {
      body(static_cast<T *>(piece.values) + begin, run);
    });
  }

  std::vector<Piece> pieces;
  std::vector<int64_t> begins; ///< [rank], then the end
  Kind theKind = Kind::sum;
  gradc_dtype type = GRADC_F32;
  Wire wire = Wire::full;
  int64_t total = 0;
  size_t wireWidth = 0;
};

} // namespace gradc::runtime

#endif
