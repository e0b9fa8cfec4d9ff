// Memory of whole pages.
#ifndef RUNTIME_BASE_PAGES_H
#define RUNTIME_BASE_PAGES_H

#include <cstdint>

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

/// Pages that only this process sees.
Pages &privatePages();

} // namespace gradc::runtime

#endif
