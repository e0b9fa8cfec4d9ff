// Memory of a rank that the other ranks of its host can map.
#ifndef RUNTIME_RANKS_RANKPAGES_H
#define RUNTIME_RANKS_RANKPAGES_H

#include "runtime/base/Pages.h"
#include "runtime/base/Status.h"

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace gradc::runtime {

/// The pages of a process, each allocation an unnamed file. An allocation is private if it is
/// small, or if there can be no such file.
class RankPages final : public Pages {
public:
  /// Where another rank finds some values of this one.
  struct Place {
    int32_t file = -1;   ///< the allocation's descriptor in this process
    uint32_t number = 0; ///< of the allocation: descriptors are used again
    uint64_t bytes = 0;  ///< of the allocation
    uint64_t offset = 0; ///< of the values in it
  };

  /// Null if shared memory has no huge pages here, for which kernels would pay at every access, or
  /// if the address space is limited: every rank maps the memory of all.
  static std::unique_ptr<RankPages> create();
  ~RankPages() override;

  void *allocate(uint64_t bytes) override;
  void release(void *memory, uint64_t bytes) override;
  void discard(void *memory, uint64_t bytes) override;

  /// Looks at the next `most` ranges of a huge page's size, and makes huge pages of those of which
  /// most pages are in use. Returns whether it has reached the end; the next call begins anew then.
  bool makeHuge(size_t most);
  /// The place of values that lie within one allocation; none if it is private.
  std::optional<Place> find(const void *values, uint64_t bytes);

private:
  enum class Range : uint8_t {
    small,
    huge,
    torn ///< some of its values were discarded; a huge page would take their memory again
  };
  struct Allocation {
    int file;
    uint32_t number;
    uint64_t bytes;
    std::vector<Range> ranges;
  };
  RankPages() = default;
  std::map<uintptr_t, Allocation>::iterator allocationAt(const void *address);

  std::mutex mutex;
  std::map<uintptr_t, Allocation> allocations; ///< by first address
  uint32_t allocated = 0;
  uintptr_t lookedAt = 0; ///< by `makeHuge`, all ranges below
};

/// Other ranks' allocations, mapped by this one when it first reads them. A view keeps an
/// allocation in memory even if its owner releases it.
class RankViews {
public:
  /// `processes`: the process of each rank.
  explicit RankViews(std::vector<int> processes) : processes(std::move(processes)) {}
  ~RankViews();
  RankViews(const RankViews &) = delete;

  /// The values of another rank at a place. Fails if its memory cannot be mapped. Unmaps the pages
  /// of earlier calls from time to time, since they count as resident in this process too; reading
  /// them maps them again.
  Result<const std::byte *> at(int rank, const RankPages::Place &place);

private:
  struct View {
    std::byte *start;
    uint64_t bytes;
    std::vector<bool> isRead = {}; ///< [huge page], since pages were last dropped
  };
  void dropPages();

  std::vector<int> processes;
  std::map<std::pair<int, uint32_t>, View> views; ///< by rank and number
  uint64_t pagesRead = 0;                         ///< of all views
};

} // namespace gradc::runtime

#endif
