// Other ranks open a segment through /proc, by its process and descriptor.
#include "runtime/ranks/HostSegments.h"

#include "runtime/base/Text.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gradc::runtime {

HostSegments::HostSegments(int ranks, size_t bytes)
    : starts(size_t(ranks), nullptr), processes(size_t(ranks)), bytes(bytes + offset) {}

HostSegments::~HostSegments() {
  for (void *start : starts)
    if (start)
      munmap(start, bytes);
}

bool HostSegments::mapFile(int rank, int descriptor) {
  void *start = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (start != MAP_FAILED)
    starts[size_t(rank)] = start;
  return start != MAP_FAILED;
}

/// Creates this rank's segment. Returns its descriptor, or -1 if there is no memory for it.
int HostSegments::make(uint64_t mark) {
  int descriptor = memfd_create("gradc-ranks", MFD_CLOEXEC);
  // Allocates all pages now: a page missing later would raise a signal in the middle of a sum.
  if (descriptor >= 0 && posix_fallocate(descriptor, 0, off_t(bytes)) == 0 &&
      pwrite(descriptor, &mark, sizeof mark, 0) == ssize_t(sizeof mark))
    return descriptor;
  if (descriptor >= 0)
    close(descriptor);
  return -1;
}

/// Maps another rank's segment. A process with the same ID in another container has no such file,
/// or its file has another mark.
bool HostSegments::open(int rank, const std::string &said) {
  int process = 0, descriptor = -1;
  uint64_t mark = 0;
  if (std::sscanf(said.c_str(), "%d %d %lx", &process, &descriptor, &mark) != 3 || descriptor < 0)
    return false;
  processes[size_t(rank)] = process;
  int file =
      ::open(text("/proc/", process, "/fd/", descriptor).c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK);
  struct stat status = {};
  uint64_t found = 0;
  bool isMapped = file >= 0 && fstat(file, &status) == 0 && status.st_size == off_t(bytes) &&
                  pread(file, &found, sizeof found, 0) == ssize_t(sizeof found) && found == mark &&
                  mapFile(rank, file);
  if (file >= 0)
    close(file);
  return isMapped;
}

Result<std::unique_ptr<HostSegments>> HostSegments::map(Communicator &ranks, size_t bytes) {
  std::unique_ptr<HostSegments> segments(new HostSegments(ranks.size(), bytes));
  const char *wanted = std::getenv("GRADC_RANKS_MEMORY");
  uint64_t mark = 0;
  bool ok = (!wanted || std::string_view(wanted) != "separate") &&
            getrandom(&mark, sizeof mark, 0) == ssize_t(sizeof mark);
  int own = ok ? segments->make(mark) : -1;
  char said[64];
  std::snprintf(said, sizeof said, "%d %d %lx", int(getpid()), own, (unsigned long)mark);
  auto all = ranks.share(said);
  if (all) {
    ok = own >= 0 && segments->mapFile(ranks.rank(), own);
    for (int other = 0; other < ranks.size(); ++other)
      ok = ok && (other == ranks.rank() || segments->open(other, (*all)[size_t(other)]));
    all = ranks.share(ok ? "mapped" : "separate");
  }
  if (own >= 0)
    close(own); // every rank that could open it has done so
  if (!all)
    return all.status();
  if (std::ranges::any_of(*all, [](const std::string &said) { return said != "mapped"; }))
    segments.reset();
  return segments;
}

} // namespace gradc::runtime
