// Ranks as threads of one process, for tests without MPI.
#ifndef TEST_UNIT_RUNTIME_RANKS_RUNRANKS_H
#define TEST_UNIT_RUNTIME_RANKS_RUNRANKS_H

#include "runtime/ranks/Communicator.h"
#include "runtime/ranks/Messages.h"

#include <algorithm>
#include <functional>
#include <new>
#include <vector>

namespace gradc::runtime::test {

/// Runs the body on a separate thread for each rank, and returns when all have ended.
void runRanks(int count, const std::function<void(Messages &)> &body);
void runRanks(int count, const std::function<void(Communicator &)> &body);
/// Ranks that sum through memory, in rings of `ringBytes` bytes.
void runSharingRanks(int count, size_t ringBytes, const std::function<void(Communicator &)> &body);
/// As above, and exchanges find values in place that lie in the communicator's pages.
void runLendingRanks(int count, size_t ringBytes, const std::function<void(Communicator &)> &body);

/// Allocates in a communicator's pages, if it has any, as much as those share.
template <typename T> struct RankAllocator {
  using value_type = T;
  explicit RankAllocator(Pages *pages) : pages(pages ? pages : &privatePages()) {}
  explicit RankAllocator(Communicator &ranks) : RankAllocator(ranks.pages()) {}
  template <typename U> RankAllocator(const RankAllocator<U> &other) : pages(other.pages) {}

  static uint64_t bytesOf(size_t count) { return std::max(count * sizeof(T), Pages::hugePage); }
  T *allocate(size_t count) {
    void *memory = pages->allocate(bytesOf(count));
    return memory ? static_cast<T *>(memory) : throw std::bad_alloc();
  }
  void deallocate(T *values, size_t count) { pages->release(values, bytesOf(count)); }
  friend bool operator==(const RankAllocator &a, const RankAllocator &b) {
    return a.pages == b.pages;
  }

  Pages *pages;
};
/// The values of a rank: RankValues<float> values(count, RankAllocator<float>(ranks)).
template <typename T> using RankValues = std::vector<T, RankAllocator<T>>;

} // namespace gradc::runtime::test

#endif
