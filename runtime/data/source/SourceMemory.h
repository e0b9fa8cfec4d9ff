// Memory whose size a file decides.
#ifndef RUNTIME_DATA_SOURCE_SOURCEMEMORY_H
#define RUNTIME_DATA_SOURCE_SOURCEMEMORY_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <unistd.h>

namespace gradc::runtime {

/// What a source may take in memory. The rest is for training.
inline uint64_t threeQuartersOfMemory() {
  return uint64_t(sysconf(_SC_PHYS_PAGES)) * uint64_t(sysconf(_SC_PAGESIZE)) / 4 * 3;
}

/// Returns null if memory is exhausted. Uses malloc, because a failing `new` ends a program without
/// unwinding tables.
inline std::shared_ptr<std::byte[]> allocateForSource(size_t bytes) {
  return {static_cast<std::byte *>(std::malloc(std::max<size_t>(bytes, 1))), std::free};
}

} // namespace gradc::runtime

#endif
