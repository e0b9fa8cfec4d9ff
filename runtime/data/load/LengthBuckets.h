// Batches of rows of similar length.
#ifndef RUNTIME_DATA_LOAD_LENGTHBUCKETS_H
#define RUNTIME_DATA_LOAD_LENGTHBUCKETS_H

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace gradc::runtime {

/// A row belongs to the first bucket that is long enough.
struct LengthBuckets {
  struct Bucket {
    int64_t length;    ///< of the rows in its batches
    int64_t size;      ///< rows of a batch
    int64_t count = 0; ///< rows of an epoch
  };
  std::vector<Bucket> buckets; ///< by length; every row fits into the last
  std::vector<uint8_t> ofRow;  ///< [row number]
  std::vector<bool> isCut;     ///< [field of a batch]: its rows become as long as the bucket

  const Bucket &of(int64_t row) const { return buckets[ofRow[size_t(row)]]; }
  int64_t longest() const { return buckets.back().length; }
  int64_t largestSize() const;
  /// The number of batches of an epoch.
  int64_t batches(bool dropsRest) const;
  int64_t rest() const;

  /// Groups the rows of each batch: first the full batches in the order of their last rows, then
  /// the remaining rows of each bucket unless they are dropped. Returns the end of each batch.
  std::vector<size_t> group(std::vector<int64_t> &order, bool dropsRest) const;
};

} // namespace gradc::runtime

#endif
