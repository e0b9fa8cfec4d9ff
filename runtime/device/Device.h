// The memory of a session and the place where its kernels run.
#ifndef RUNTIME_DEVICE_DEVICE_H
#define RUNTIME_DEVICE_DEVICE_H

#include "runtime/base/HostMemory.h"
#include "runtime/base/Pages.h"
#include "runtime/base/Status.h"
#include "runtime/device/Schedule.h"
#include "runtime/include/gradc/artifact.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gradc::runtime {

/// Loaded kernel code. Must outlive all launches from it.
class Image {
public:
  virtual ~Image() = default;
  /// The kernel named `symbol`, for Launch, or null if there is none.
  virtual void *findKernel(const char *symbol) const = 0;
};

/// The kernels that run as library calls.
struct LibraryCalls {
  std::vector<const void *> calls; ///< one per kernel, for Launch; null: its own code runs
  uint64_t workspace = 0;          ///< bytes that calls need, one call at a time
  std::string note; ///< which libraries run what, or why not; empty if no call is wanted
};

/// A profiled run: its launches in execution order, and when each began.
struct Profile {
  int64_t rows = 0; ///< whose launches these are, if an entry runs for each row; else 0
  std::vector<LaunchPath> paths;
  /// Readings of the steady clock in nanoseconds: the beginning of each launch, then the end of the
  /// last one. A launch ends when the next begins, so its time includes the wait for the slowest
  /// thread.
  std::vector<int64_t> times;

  void clear() {
    rows = 0;
    paths.clear();
    times.clear();
  }
  /// Adds a run that began when this one had ended.
  void append(const Profile &next) {
    if (!times.empty())
      times.pop_back();
    rows += next.rows;
    paths.insert(paths.end(), next.paths.begin(), next.paths.end());
    times.insert(times.end(), next.times.begin(), next.times.end());
  }
};

/// Not thread-safe: one caller at a time. Pointers to device memory are opaque unless the device is
/// the host.
class Device {
public:
  virtual ~Device() = default;

  /// Whether code compiled for `level` runs here.
  virtual bool executes(std::string_view level) const = 0;
  /// The highest level the device executes, for messages: "x86-64-v3".
  virtual std::string describe() const = 0;
  /// Whether kernels and the host see the same memory.
  virtual bool sharesHostMemory() const = 0;
  /// Number of threads that run kernels, each with its own scratch memory; 0 if kernels use no
  /// scratch memory.
  virtual unsigned threads() const { return 0; }

  /// Allocates zeroed memory, aligned to 64 bytes; null if memory is exhausted.
  virtual void *allocate(uint64_t bytes) = 0;
  virtual void release(void *memory, uint64_t bytes) = 0;
  /// Like `allocate`, but the memory may outlive the device, and other devices of the same kind may
  /// use it. It is released when no launch uses it any more.
  virtual std::shared_ptr<std::byte> allocateShared(uint64_t bytes) = 0;
  /// Releases the pages of memory whose values are no longer needed, as far as possible. The memory
  /// may be written again.
  virtual void forgetPages(void *memory, uint64_t bytes) {}
  /// Copies follow earlier launches and precede later ones. `host` of `copyIn` may change as soon
  /// as the call returns; `host` of `copyOut` holds the bytes once `synchronize` has returned.
  virtual Status copyIn(void *device, const void *host, uint64_t bytes) = 0;
  virtual Status copyOut(void *host, const void *device, uint64_t bytes) = 0;
  /// A contiguous piece of `bytes`, copied as by `copyOut`.
  struct Piece {
    void *host;
    uint64_t offset, bytes;
  };
  virtual Status copyPiecesOut(std::span<const Piece> pieces, const std::byte *device,
                               uint64_t bytes) {
    for (const Piece &piece : pieces)
      if (Status s = copyOut(piece.host, device + piece.offset, piece.bytes); !s.ok())
        return s;
    return {};
  }
  /// Like `copyIn`, but concurrent with running launches, which must not touch `device`; `host`
  /// must not change until `synchronize` has returned.
  virtual Status copyInBeside(void *device, const void *host, uint64_t bytes) {
    return copyIn(device, host, bytes);
  }
  /// Host memory that `copyInBeside` reads without an intermediate copy. The device outlives it.
  virtual std::shared_ptr<HostMemory> hostMemory() { return std::make_shared<PageableMemory>(); }
  /// Whether all launches and copies have ended.
  virtual bool isIdle() { return true; }

  virtual Result<std::unique_ptr<Image>> load(std::span<const std::byte> code) = 0;
  /// Prepares library calls that need at most `maxWorkspace` bytes each. `wanted` has one element
  /// per kernel, null if the kernel is not a call. Fails if libraries were required and are
  /// missing.
  virtual Result<LibraryCalls> prepareCalls(std::span<const gradc_artifact_call *const> wanted,
                                            uint64_t maxWorkspace) {
    return LibraryCalls{std::vector<const void *>(wanted.size()), 0, ""};
  }
  /// Sets the workspace of calls, aligned to 256 bytes, of the size that `prepareCalls` returned.
  virtual void setWorkspace(void *memory) {}
  /// Starts a schedule, which must stay unchanged until `synchronize` returns. `profile`, unless
  /// null, receives its launches. Fails if the device does, or if a loop counts more iterations
  /// than its maximum.
  virtual Status launch(const Schedule &schedule, Profile *profile) = 0;
  /// Starts a single launch.
  Status launch(const Launch &launch) {
    Step step;
    step.end = 1;
    step.launches = {&launch, 1};
    return this->launch({{&step, 1}, {&launch, 1}, {launch.slices, launch.sliceCount}, {}},
                        nullptr);
  }
  /// Calls `work(thread, i)` for each i below `count`; on the host, each thread begins with its own
  /// number, and takes the next i as soon as it has finished one.
  virtual void forEach(int64_t count, const std::function<void(unsigned, int64_t)> &work) {
    for (int64_t i = 0; i < count; ++i)
      work(0, i);
  }
  /// Releases everything kept for this schedule, which is about to be destroyed.
  virtual void forget(const Schedule &schedule) {}
  /// Unexpected facts about the launches so far, for the user; usually empty.
  virtual std::string note() const { return ""; }
  /// Returns when all launches and copies have ended.
  virtual Status synchronize() = 0;
  /// Copies out and waits for the copy.
  Status fetch(void *host, const void *device, uint64_t bytes) {
    Status copied = copyOut(host, device, bytes);
    return copied.ok() ? synchronize() : copied;
  }
};

/// Device memory, released with its owner.
class DeviceMemory {
public:
  DeviceMemory() = default;
  DeviceMemory(Device &device, uint64_t bytes)
      : device(&device), memory(device.allocate(bytes)), bytes(bytes) {}
  DeviceMemory(DeviceMemory &&other) noexcept { *this = std::move(other); }
  DeviceMemory &operator=(DeviceMemory &&other) noexcept {
    std::swap(device, other.device);
    std::swap(memory, other.memory);
    std::swap(bytes, other.bytes);
    return *this;
  }
  ~DeviceMemory() {
    if (memory)
      device->release(memory, bytes);
  }
  std::byte *data() const { return static_cast<std::byte *>(memory); }
  uint64_t size() const { return bytes; }

private:
  Device *device = nullptr;
  void *memory = nullptr;
  uint64_t bytes = 0;
};

/// Runs a schedule on the calling thread of the host. Several threads may do so at the same time,
/// each with its own schedule. `profile`, unless null, receives its launches.
Status launchHere(const Schedule &schedule, Profile *profile = nullptr);

/// The CPUs of this machine as a team of `threads` threads; 0 means one thread per CPU that this
/// process may use. Memory of `allocateShared` is in `pages`, which must outlive all of it; null:
/// private ones.
Result<std::unique_ptr<Device>> createHostDevice(int threads, Pages *pages = nullptr);

/// The first CUDA GPU. Fails with what is missing: a driver, a new enough one, or a device. Null in
/// programs linked without GPUs (gradc_cuda).
__attribute__((weak)) Result<std::unique_ptr<Device>> createCudaDevice();

} // namespace gradc::runtime

#endif
