// A thread whose start may fail with a status: programs contain no exception tables.
#ifndef RUNTIME_BASE_THREAD_H
#define RUNTIME_BASE_THREAD_H

#include "runtime/base/Status.h"

#include <functional>
#include <pthread.h>

namespace gradc::runtime {

class Thread {
public:
  static Result<Thread> start(std::function<void()> work);
  void join() { pthread_join(handle, nullptr); }

private:
  explicit Thread(pthread_t handle) : handle(handle) {}
  pthread_t handle;
};

} // namespace gradc::runtime

#endif
