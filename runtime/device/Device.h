// Where a session's memory lies and its kernels run.
#ifndef RUNTIME_DEVICE_DEVICE_H
#define RUNTIME_DEVICE_DEVICE_H

#include "runtime/base/HostMemory.h"
#include "runtime/base/Status.h"
#include "runtime/include/gradc/artifact.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gradc::runtime {

/// Loaded kernel code. Lives as long as anything may launch from it.
class Image {
public:
  virtual ~Image() = default;
  /// The kernel of that symbol, as Launch wants it, or null.
  virtual void *findKernel(const char *symbol) const = 0;
};

/// Which kernels run as calls of a library.
struct LibraryCalls {
  std::vector<const void *> calls; ///< one a kernel, as Launch wants it; null: its own code runs
  uint64_t workspace = 0;          ///< bytes that calls need, one call at a time
  std::string note; ///< which libraries run what, or why not; empty where none is wanted
};

/// One launch, with nothing left to look up.
struct Launch {
  void *kernel;        ///< from Image::findKernel
  void *const *slices; ///< operands, then results, in device memory; of an entry's launches, one
                       ///< behind the other's
  size_t sliceCount;
  int64_t units;    ///< independent pieces of work
  int64_t shares;   ///< how many workers it is worth to split them over; at least 1
  uint32_t threads; ///< of a unit, where that is a GPU's block
  bool waits; ///< for all earlier launches; otherwise independent of those since the last wait
  const void *call = nullptr; ///< from Device::prepareCalls: what runs in the kernel's place
};

/// Not thread-safe: one caller at a time. Pointers to its memory are opaque where it is not the
/// host's.
class Device {
public:
  virtual ~Device() = default;

  /// Whether code of that level runs here.
  virtual bool executes(std::string_view level) const = 0;
  /// What it offers, for a message: "x86-64-v3".
  virtual std::string describe() const = 0;
  /// Whether kernels and the host see the same memory.
  virtual bool sharesHostMemory() const = 0;

  /// Zeroed memory, aligned to 64 bytes; null when there is none.
  virtual void *allocate(uint64_t bytes) = 0;
  virtual void release(void *memory, uint64_t bytes) = 0;
  /// Copies follow earlier launches and come before later ones. `host` of `copyIn` may change as
  /// soon as it returns; that of `copyOut` holds the bytes when `synchronize` has returned.
  virtual Status copyIn(void *device, const void *host, uint64_t bytes) = 0;
  virtual Status copyOut(void *host, const void *device, uint64_t bytes) = 0;
  /// Pieces of `bytes` that lie side by side, as `copyOut` of each.
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
  /// As `copyIn`, but beside the launches under way, which must not touch `device`; `host` stays as
  /// it is until `synchronize` has returned.
  virtual Status copyInBeside(void *device, const void *host, uint64_t bytes) {
    return copyIn(device, host, bytes);
  }
  /// What `copyInBeside` reads without another copy on the host. Outlived by the device.
  virtual std::shared_ptr<HostMemory> hostMemory() { return std::make_shared<PageableMemory>(); }
  /// Whether all launches and copies have ended.
  virtual bool isIdle() { return true; }

  virtual Result<std::unique_ptr<Image>> load(std::span<const std::byte> code) = 0;
  /// Prepares calls that need at most so much workspace each. `wanted` has one element a kernel,
  /// null where it is no call. The failure: somebody asked for libraries that are not there.
  virtual Result<LibraryCalls> prepareCalls(std::span<const gradc_artifact_call *const> wanted,
                                            uint64_t maxWorkspace) {
    return LibraryCalls{std::vector<const void *>(wanted.size()), 0, ""};
  }
  /// Where calls may work, aligned to 256 bytes: as much as `prepareCalls` told.
  virtual void setWorkspace(void *memory) {}
  /// Starts the launches in order; `launches` and its slices stay until `synchronize` returns.
  /// `times` is null or has room for one reading of the steady clock a launch, in nanoseconds, when
  /// it begins, and one when the last has ended; a launch ends when the next begins, so that its
  /// time has the wait for the slowest thread.
  virtual Status launch(std::span<const Launch> launches, int64_t *times) = 0;
  /// Releases everything kept for these launches, which are about to be destroyed.
  virtual void forget(std::span<const Launch> launches) {}
  /// What a person would not expect of how launches ran so far, or empty.
  virtual std::string note() const { return ""; }
  /// Returns when all launches and copies have ended.
  virtual Status synchronize() = 0;
  /// `copyOut`, and the wait for it.
  Status fetch(void *host, const void *device, uint64_t bytes) {
    Status copied = copyOut(host, device, bytes);
    return copied.ok() ? synchronize() : copied;
  }
};

/// Memory of a device, released with its owner.
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

/// Runs launches of a program of the host's, one after the other on the calling thread; any number
/// of threads may at once, each a program of its own.
void launchHere(std::span<const Launch> launches);

/// The CPUs of this machine as a team of `threads`; 0: one thread for each CPU this process may
/// use.
Result<std::unique_ptr<Device>> createHostDevice(int threads);

/// The first CUDA GPU. The failure says what is missing: driver, a new enough one, a device. Null
/// in programs that are linked without GPUs (gradc_cuda).
__attribute__((weak)) Result<std::unique_ptr<Device>> createCudaDevice();

} // namespace gradc::runtime

#endif
