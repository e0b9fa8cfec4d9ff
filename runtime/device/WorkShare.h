// Distributes the units of a launch: each thread computes its own share, then takes units that
// other threads have not begun.
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

/// The remaining units of one thread's share. The owner takes from the front, idle threads take
/// from the back; each takes half of what is left, so pieces are small only at the end. A share has
/// a cache line of its own.
class alignas(64) WorkShare {
public:
  /// Must be called before any thread takes units.
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

  /// `split` returns the part taken and the part left. Barriers, not this class, order the results
  /// of units.
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
