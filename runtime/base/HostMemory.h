// Host memory that a device reads.
#ifndef RUNTIME_BASE_HOSTMEMORY_H
#define RUNTIME_BASE_HOSTMEMORY_H

#include <cstddef>
#include <new>

namespace gradc::runtime {

/// Supports one caller at a time.
class HostMemory {
public:
  virtual ~HostMemory() = default;
  /// Aligned to 64 bytes. Throws std::bad_alloc if there is no memory.
  virtual void *allocate(size_t bytes) = 0;
  virtual void release(void *memory) = 0;
};

/// Ordinary memory.
class PageableMemory final : public HostMemory {
public:
  void *allocate(size_t bytes) override { return ::operator new[](bytes, alignment); }
  void release(void *memory) override { ::operator delete[](memory, alignment); }

private:
  static constexpr std::align_val_t alignment{64};
};

} // namespace gradc::runtime

#endif
