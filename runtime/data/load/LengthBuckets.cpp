// Sorts an epoch's rows into the batches of their buckets.
#include "runtime/data/load/LengthBuckets.h"

#include <algorithm>

namespace gradc::runtime {

int64_t LengthBuckets::largestSize() const {
  int64_t largest = 0;
  for (const Bucket &bucket : buckets)
    largest = std::max(largest, bucket.size);
  return largest;
}

int64_t LengthBuckets::batches(bool dropsRest) const {
  int64_t sum = 0;
  for (const Bucket &bucket : buckets)
    sum += bucket.count / bucket.size + (!dropsRest && bucket.count % bucket.size != 0);
  return sum;
}

int64_t LengthBuckets::rest() const {
  int64_t sum = 0;
  for (const Bucket &bucket : buckets)
    sum += bucket.count % bucket.size;
  return sum;
}

std::vector<size_t> LengthBuckets::group(std::vector<int64_t> &order, bool dropsRest) const {
  std::vector<std::vector<int64_t>> open(buckets.size());
  std::vector<int64_t> grouped;
  std::vector<size_t> ends;
  grouped.reserve(order.size());
  auto close = [&](std::vector<int64_t> &rows) {
    grouped.insert(grouped.end(), rows.begin(), rows.end());
    ends.push_back(grouped.size());
    rows.clear();
  };
  for (int64_t row : order) {
    std::vector<int64_t> &rows = open[ofRow[size_t(row)]];
    rows.push_back(row);
    if (int64_t(rows.size()) == of(row).size)
      close(rows);
  }
  for (std::vector<int64_t> &rows : open)
    if (!dropsRest && !rows.empty())
      close(rows);
  order.swap(grouped);
  return ends;
}

} // namespace gradc::runtime
