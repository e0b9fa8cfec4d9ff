// Pages become huge once they are in use: where the system gives shared memory no huge pages by
// itself, it makes them on demand.
#include "runtime/ranks/RankPages.h"

#include "runtime/base/Text.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25 // Linux 6.1
#endif

namespace gradc::runtime {

namespace {

/// Maps a file at an address that huge pages can have. Private memory reserves the addresses, so
/// that the system refuses more than it has: it would map a file of any size. Null: it has refused.
void *mapAligned(int file, uint64_t bytes, int protection) {
  constexpr uint64_t huge = Pages::hugePage;
  void *reserved = mmap(nullptr, bytes + huge, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (reserved == MAP_FAILED)
    return nullptr;
  auto from = uintptr_t(reserved), start = (from + huge - 1) / huge * huge;
  void *mapped =
      mmap(reinterpret_cast<void *>(start), bytes, protection, MAP_SHARED | MAP_FIXED, file, 0);
  if (mapped == MAP_FAILED) {
    munmap(reserved, bytes + huge);
    return nullptr;
  }
  uint64_t end = start + bytes, reservedEnd = from + bytes + huge;
  if (start > from)
    munmap(reserved, start - from);
  if (reservedEnd > end)
    munmap(reinterpret_cast<void *>(end), reservedEnd - end);
  return mapped;
}

bool becomesHuge(void *start) { return madvise(start, Pages::hugePage, MADV_COLLAPSE) == 0; }

/// Whether most pages of a huge page's range are in use.
bool isInUse(void *start) {
  const auto pages = Pages::hugePage / uint64_t(sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> resident(pages);
  if (mincore(start, Pages::hugePage, resident.data()) != 0)
    return false;
  auto count = std::ranges::count_if(resident, [](unsigned char page) { return page & 1; });
  return uint64_t(count) > pages / 2;
}

bool hasLimitedAddresses() {
  rlimit limit;
  return getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

uint64_t roundedUp(uint64_t bytes) {
  return (bytes + Pages::hugePage - 1) / Pages::hugePage * Pages::hugePage;
}

} // namespace

std::unique_ptr<RankPages> RankPages::create() {
  if (hasLimitedAddresses())
    return nullptr;
  std::unique_ptr<RankPages> pages(new RankPages);
  void *sample = pages->allocate(hugePage);
  if (!sample)
    return nullptr;
  std::memset(sample, 0, 1); // only ranges in use become huge
  bool isHuge = pages->find(sample, hugePage) && becomesHuge(sample);
  pages->release(sample, hugePage);
  return isHuge ? std::move(pages) : nullptr;
}

RankPages::~RankPages() {
  for (auto &[start, allocation] : allocations) {
    munmap(reinterpret_cast<void *>(start), allocation.bytes);
    close(allocation.file);
  }
}

void *RankPages::allocate(uint64_t bytes) {
  uint64_t whole = roundedUp(bytes);
  int file = bytes < hugePage ? -1 : memfd_create("gradc-pages", MFD_CLOEXEC);
  void *start = file >= 0 && ftruncate(file, off_t(whole)) == 0
                    ? mapAligned(file, whole, PROT_READ | PROT_WRITE)
                    : nullptr;
  if (!start) {
    if (file >= 0)
      close(file);
    return privatePages().allocate(bytes);
  }
  madvise(start, whole, MADV_HUGEPAGE);
  std::lock_guard lock(mutex);
  allocations[uintptr_t(start)] = {file, ++allocated, whole, std::vector<Range>(whole / hugePage)};
  return start;
}

void RankPages::release(void *memory, uint64_t bytes) {
  std::lock_guard lock(mutex);
  auto found = allocations.find(uintptr_t(memory));
  if (found == allocations.end())
    return privatePages().release(memory, bytes);
  munmap(memory, found->second.bytes);
  close(found->second.file);
  allocations.erase(found);
}

void RankPages::discard(void *memory, uint64_t bytes) {
  std::unique_lock lock(mutex);
  auto found = allocationAt(memory);
  if (found == allocations.end()) {
    lock.unlock();
    return privatePages().discard(memory, bytes);
  }
  auto [begin, end] = wholePages(uintptr_t(memory) - found->first, bytes);
  if (begin >= end)
    return;
  fallocate(found->second.file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, off_t(begin),
            off_t(end - begin));
  for (uint64_t i = begin / hugePage; i * hugePage < end; ++i)
    found->second.ranges[i] = Range::torn;
}

bool RankPages::makeHuge(size_t most) {
  std::lock_guard lock(mutex);
  for (auto &[start, allocation] : allocations)
    for (size_t i = 0; i < allocation.ranges.size(); ++i) {
      uintptr_t range = start + i * hugePage;
      if (range < lookedAt)
        continue;
      if (most-- == 0)
        return false;
      auto *memory = reinterpret_cast<void *>(range);
      if (allocation.ranges[i] == Range::small && isInUse(memory) && becomesHuge(memory))
        allocation.ranges[i] = Range::huge;
      lookedAt = range + hugePage;
    }
  lookedAt = 0;
  return true;
}

std::map<uintptr_t, RankPages::Allocation>::iterator RankPages::allocationAt(const void *address) {
  auto after = allocations.upper_bound(uintptr_t(address));
  if (after == allocations.begin())
    return allocations.end();
  --after;
  return uintptr_t(address) < after->first + after->second.bytes ? after : allocations.end();
}

std::optional<RankPages::Place> RankPages::find(const void *values, uint64_t bytes) {
  std::lock_guard lock(mutex);
  auto found = allocationAt(values);
  if (found == allocations.end())
    return std::nullopt;
  auto &[start, allocation] = *found;
  uint64_t offset = uintptr_t(values) - start;
  if (bytes > allocation.bytes - offset)
    return std::nullopt;
  return Place{allocation.file, allocation.number, allocation.bytes, offset};
}

RankViews::~RankViews() {
  for (auto &[key, view] : views)
    munmap(view.start, view.bytes);
}

Result<const std::byte *> RankViews::at(int rank, const RankPages::Place &place) {
  auto [found, isNew] = views.try_emplace({rank, place.number}, View{nullptr, place.bytes});
  View &view = found->second;
  if (isNew) {
    int file = open(text("/proc/", processes[size_t(rank)], "/fd/", place.file).c_str(),
                    O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file >= 0)
      errno = ESTALE; // unless it is the allocation's
    struct stat status = {};
    if (file >= 0 && fstat(file, &status) == 0 && status.st_size == off_t(place.bytes))
      view.start = static_cast<std::byte *>(mapAligned(file, place.bytes, PROT_READ));
    int reason = errno;
    if (file >= 0)
      close(file);
    if (!view.start) {
      views.erase(found);
      return Status::error(text("cannot map the memory of rank ", rank, " (", place.bytes,
                                " bytes): ", std::strerror(reason)));
    }
    view.isRead.resize(place.bytes / Pages::hugePage);
  }
  if (uint64_t page = place.offset / Pages::hugePage; !view.isRead[page]) {
    // One page of each other rank for a chunk's terms, and one for its sum.
    uint64_t most = 2 * std::max<size_t>(processes.size() - 1, 1);
    if (pagesRead >= most)
      dropPages();
    view.isRead[page] = true;
    ++pagesRead;
  }
  return view.start + place.offset;
}

void RankViews::dropPages() {
  for (auto &[key, view] : views)
    if (std::ranges::find(view.isRead, true) != view.isRead.end()) {
      madvise(view.start, view.bytes, MADV_DONTNEED);
      view.isRead.assign(view.isRead.size(), false);
    }
  pagesRead = 0;
}

} // namespace gradc::runtime
