// Memory that others may still use when its owner is done with it.
#ifndef RUNTIME_BASE_KEPTUNTILEXIT_H
#define RUNTIME_BASE_KEPTUNTILEXIT_H

#include <list>
#include <mutex>
#include <utility>

namespace gradc::runtime {

/// Keeps an object until the process exits, for example a buffer in which a message may yet arrive.
/// Thread-safe.
template <typename T> void keepUntilExit(T object) {
  // Never destroyed, and reachable: leak checkers know that this is no mistake.
  static auto &mutex = *new std::mutex;
  static auto &kept = *new std::list<T>;
  std::lock_guard lock(mutex);
  kept.push_back(std::move(object));
}

} // namespace gradc::runtime

#endif
