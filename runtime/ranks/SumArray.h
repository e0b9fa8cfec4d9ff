// The values of one sum over ranks: their locations and their form on the wire.
#ifndef RUNTIME_RANKS_SUMARRAY_H
#define RUNTIME_RANKS_SUMARRAY_H

#include "runtime/ranks/Communicator.h"

#include <algorithm>

namespace gradc::runtime {

/// Pieces viewed as one array. Each rank owns a part of the array and computes the sum of that
/// part.
class SumArray {
public:
  using Piece = Communicator::Piece;
  using Wire = Communicator::Wire;
  using Kind = Communicator::Kind;
  using Exchange = Communicator::Exchange;

  static size_t widthOnWire(gradc_dtype type, Wire wire);

  void assign(std::span<const Piece> all, const Exchange &exchange, int ofRanks);
  Kind kind() const { return theKind; }
  int64_t count() const { return total; }
  /// Bytes of a value on the wire.
  size_t width() const { return wireWidth; }
  int64_t begin(int ofRank) const { return begins[size_t(ofRank)]; }
  int64_t partSize(int ofRank) const { return begin(ofRank + 1) - begin(ofRank); }

  /// Converts the values [from, to) to and from their form on the wire.
  void encode(int64_t from, int64_t to, std::byte *out) const;
  void decode(int64_t from, int64_t to, const std::byte *in) const;
  /// Replaces the values [from, to) by their sums over ranks, added in rank order, and encodes the
  /// sums unless `out` is null. `others`: the encoded values of each rank; null marks this rank.
  void addUp(int64_t from, int64_t to, std::span<const std::byte *const> others,
             std::byte *out) const;
  /// Ends a scatter with `leavesZeros`: zeroes everything but the part of `rank`.
  void clearOthers(int rank) const;

private:
  /// Calls body(values, offset in the array, count) for each piece's part of the range [from, to).
  template <typename T, typename Body>
  void forEachRun(int64_t from, int64_t to, Body &&body) const {
    int64_t at = 0;
    for (const Piece &piece : pieces) {
      int64_t first = std::max(from, at), last = std::min(to, at + piece.count);
      if (first < last)
        body(static_cast<T *>(piece.values) + (first - at), first, last - first);
      at += piece.count;
    }
  }

  std::vector<Piece> pieces;
  std::vector<int64_t> begins; ///< [rank], then the end
  Kind theKind = Kind::sum;
  gradc_dtype type = GRADC_F32;
  Wire wire = Wire::full;
  bool leavesZeros = false;
  int64_t total = 0;
  size_t wireWidth = 0;
};

} // namespace gradc::runtime

#endif
