// Who computes which units of a launch: each thread its share, and what others have not begun.
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

/// What is left of one thread's share. Its owner takes from the front, whoever has nothing left
/// takes from the back; each half of what is there, so that pieces are small only at the end. In a
/// cache line of its own.
class alignas(64) WorkShare {
public:
  /// Before any thread takes.
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

  /// `split` gives what is taken and what stays. What units compute is ordered by barriers, not
  /// here.
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
