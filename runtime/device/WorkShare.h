// Distributes a launch's units: each thread computes its share, then units that others have not
// begun.
#ifndef RUNTIME_DEVICE_WORKSHARE_H
#define RUNTIME_DEVICE_WORKSHARE_H

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>

namespace gradc::runtime {

/// Units [begin, end) of a launch.
struct UnitRange {
  uint32_t begin = 0, end = 0;
};

/// The rest of one thread's share. Its owner takes from the front, threads without work take from
/// the back; each takes half of the rest, so that pieces are small only at the end. In a cache line
/// of its own.
class alignas(64) WorkShare {
public:
  /// To be called before any thread takes.
  void set(UnitRange range) { left.store(pack(range), std::memory_order_relaxed); }

  std::optional<UnitRange> takeFront(uint32_t least) {
    return take(least, [](UnitRange left, uint32_t count) {
      return std::pair(UnitRange{left.begin, left.begin + count},
                       UnitRange{left.begin + count, left.end});
    });
  }
  std::optional<UnitRange> takeBack(uint32_t least) {
    return take(least, [](UnitRange left, uint32_t count) {
      return std::pair(UnitRange{left.end - count, left.end},
                       UnitRange{left.begin, left.end - count});
    });
  }

private:
  static uint64_t pack(UnitRange range) { return uint64_t(range.begin) << 32 | range.end; }

  /// `split` returns the taken and the remaining part. Barriers, not this class, order the units'
  /// results.
  template <typename Split> std::optional<UnitRange> take(uint32_t least, Split split) {
    uint64_t seen = left.load(std::memory_order_relaxed);
    for (;;) {
      UnitRange range = {uint32_t(seen >> 32), uint32_t(seen)};
      uint32_t count = range.end - range.begin;
      if (count == 0)
        return {};
      auto [taken, rest] = split(range, std::min(count, std::max(least, count / 2)));
      if (left.compare_exchange_weak(seen, pack(rest), std::memory_order_relaxed))
        return taken;
    }
  }

  std::atomic<uint64_t> left{0};
};

} // namespace gradc::runtime

#endif
