#include "runtime/base/Pages.h"

#include <algorithm>
#include <sys/mman.h>
#include <unistd.h>

namespace gradc::runtime {

namespace {

class PrivatePages final : public Pages {
public:
  void *allocate(uint64_t bytes) override {
    bytes = std::max<uint64_t>(bytes, 1);
    void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
      return nullptr;
    if (bytes >= hugePage)
      madvise(memory, bytes, MADV_HUGEPAGE);
    return memory;
  }
  void release(void *memory, uint64_t bytes) override {
    munmap(memory, std::max<uint64_t>(bytes, 1));
  }
  void discard(void *memory, uint64_t bytes) override {
    const auto page = uintptr_t(sysconf(_SC_PAGESIZE));
    uintptr_t begin = (uintptr_t(memory) + page - 1) / page * page;
    uintptr_t end = (uintptr_t(memory) + bytes) / page * page;
    if (begin < end)
      madvise(reinterpret_cast<void *>(begin), end - begin, MADV_DONTNEED);
  }
};

} // namespace

Pages &privatePages() {
  static PrivatePages pages;
  return pages;
}

} // namespace gradc::runtime
