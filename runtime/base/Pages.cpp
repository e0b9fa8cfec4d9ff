// Private pages of the system: huge ones from 2 MiB on.
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
    auto [begin, end] = wholePages(uintptr_t(memory), bytes);
    if (begin < end)
      madvise(reinterpret_cast<void *>(begin), end - begin, MADV_DONTNEED);
  }
};

} // namespace

std::pair<uint64_t, uint64_t> wholePages(uint64_t begin, uint64_t bytes) {
  const auto page = uint64_t(sysconf(_SC_PAGESIZE));
  return {(begin + page - 1) / page * page, (begin + bytes) / page * page};
}

Pages &privatePages() {
  static PrivatePages pages;
  return pages;
}

} // namespace gradc::runtime
