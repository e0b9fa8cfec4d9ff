// Host memory that a GPU copies from while the host continues.
#ifndef RUNTIME_DEVICE_CUDA_PINNEDMEMORY_H
#define RUNTIME_DEVICE_CUDA_PINNEDMEMORY_H

#include "runtime/base/HostMemory.h"
#include "runtime/device/cuda/Context.h"

#include <map>

namespace gradc::runtime::cuda {

/// Falls back to pageable memory if the driver has no more pinned memory.
class PinnedMemory final : public HostMemory {
public:
  explicit PinnedMemory(std::shared_ptr<const Context> context) : context(std::move(context)) {}

  void *allocate(size_t bytes) override {
    void *memory = nullptr;
    auto scope = context->enter();
    if (context->driver->memAllocHost(&memory, bytes) != 0)
      return pageable.allocate(bytes);
    pinned[static_cast<const std::byte *>(memory)] = bytes;
    return memory;
  }
  void release(void *memory) override {
    if (pinned.erase(static_cast<const std::byte *>(memory)) == 0)
      return pageable.release(memory);
    auto scope = context->enter();
    context->driver->memFreeHost(memory);
  }

  /// Whether these bytes were allocated here and are pinned.
  bool holds(const void *memory, size_t bytes) const {
    auto *begin = static_cast<const std::byte *>(memory);
    auto after = pinned.upper_bound(begin);
    if (after == pinned.begin())
      return false;
    auto [block, size] = *std::prev(after);
    return begin + bytes <= block + size;
  }

private:
  std::shared_ptr<const Context> context;
  PageableMemory pageable;
  std::map<const std::byte *, size_t> pinned; ///< bytes of each block, by its begin
};

} // namespace gradc::runtime::cuda

#endif
