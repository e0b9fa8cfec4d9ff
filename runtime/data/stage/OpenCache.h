// The cache files that this process reads.
#ifndef RUNTIME_DATA_STAGE_OPENCACHE_H
#define RUNTIME_DATA_STAGE_OPENCACHE_H

#include "runtime/base/AtomicFile.h"

#include <mutex>
#include <string>
#include <utility>

namespace gradc::runtime {

/// Member of a table over a cache file, which is listed as long as the table lives.
class OpenCache {
public:
  explicit OpenCache(std::string path) : path(std::move(path)) {
    std::lock_guard lock(mutex);
    next = std::exchange(first, this);
  }
  ~OpenCache() {
    std::lock_guard lock(mutex);
    OpenCache **at = &first;
    while (*at != this)
      at = &(*at)->next;
    *at = next;
  }
  OpenCache(const OpenCache &) = delete;

  static bool isRead(const std::string &path) {
    std::lock_guard lock(mutex);
    std::string target = AtomicFile::behindLinks(path);
    for (const OpenCache *cache = first; cache; cache = cache->next)
      if (AtomicFile::behindLinks(cache->path) == target)
        return true;
    return false;
  }

private:
  std::string path;
  OpenCache *next;

  static inline std::mutex mutex; ///< of the list
  static inline OpenCache *first = nullptr;
};

} // namespace gradc::runtime

#endif
