// A GPU's context, which must be current on each thread that calls the driver.
#ifndef RUNTIME_DEVICE_CUDA_CONTEXT_H
#define RUNTIME_DEVICE_CUDA_CONTEXT_H

#include "runtime/device/cuda/Driver.h"

namespace gradc::runtime::cuda {

/// The device's primary context, which other code in this process may use as well. A session may
/// move between threads, so every caller of the driver enters the context first.
class Context {
public:
  static Result<std::shared_ptr<const Context>> retain(std::shared_ptr<const Driver> driver,
                                                       Device device) {
    Handle handle = nullptr;
    if (Status s =
            driver->check(driver->primaryCtxRetain(&handle, device), "cannot use the CUDA device");
        !s.ok())
      return s;
    return std::shared_ptr<const Context>(new Context(std::move(driver), device, handle));
  }
  Context(const Context &) = delete;
  ~Context() { driver->primaryCtxRelease(device); }

  /// Makes the context current on this thread until the scope ends, then restores the previous one.
  class Scope {
  public:
    explicit Scope(const Context &context)
        : driver(*context.driver), entered(driver.ctxPushCurrent(context.handle) == 0) {}
    Scope(const Scope &) = delete;
    ~Scope() {
      Handle left = nullptr;
      if (entered)
        driver.ctxPopCurrent(&left);
    }

  private:
    const Driver &driver;
    const bool entered; // otherwise the following calls report the problem
  };
  [[nodiscard]] Scope enter() const { return Scope(*this); }

  const std::shared_ptr<const Driver> driver;

private:
  Context(std::shared_ptr<const Driver> driver, Device device, Handle handle)
      : driver(std::move(driver)), device(device), handle(handle) {}

  const Device device;
  const Handle handle;
};

} // namespace gradc::runtime::cuda

#endif
