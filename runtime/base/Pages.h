// Memory of whole pages.
#ifndef RUNTIME_BASE_PAGES_H
#define RUNTIME_BASE_PAGES_H

#include <cstdint>
#include <utility>

namespace gradc::runtime {

/// Supports several callers at a time.
class Pages {
public:
  static constexpr uint64_t hugePage = 2 << 20;

  virtual ~Pages() = default;
  /// Zeroed pages, huge ones as far as possible; null if there is no memory.
  virtual void *allocate(uint64_t bytes) = 0;
  /// Releases pages of `allocate`, with the same number of bytes.
  virtual void release(void *memory, uint64_t bytes) = 0;
  /// Discards the values of all whole pages within a part of an allocation, as far as possible. The
  /// part may be written again.
  virtual void discard(void *memory, uint64_t bytes) = 0;
};

/// The whole pages within the `bytes` bytes from `begin` on: the first one's begin, and the last
/// one's end. Empty, perhaps with an end before the begin, if there are none.
std::pair<uint64_t, uint64_t> wholePages(uint64_t begin, uint64_t bytes);

/// Pages that only this process sees.
Pages &privatePages();

} // namespace gradc::runtime

#endif
