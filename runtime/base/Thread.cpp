// Starts threads.
#include "runtime/base/Thread.h"

#include <cstring>
#include <memory>

namespace gradc::runtime {

Result<Thread> Thread::start(std::function<void()> work) {
  auto given = std::make_unique<std::function<void()>>(std::move(work));
  auto body = [](void *argument) -> void * {
    std::unique_ptr<std::function<void()>> own(static_cast<std::function<void()> *>(argument));
    (*own)();
    return nullptr;
  };
  pthread_t handle;
  if (int code = pthread_create(&handle, nullptr, body, given.get()))
    return Status::error(std::strerror(code));
  (void)given.release();
  return Thread(handle);
}

} // namespace gradc::runtime
