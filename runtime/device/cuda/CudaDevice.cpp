// A CUDA GPU: one stream in which copies and launches follow each other, and one for copies beside
// them; an entry's launches are captured in a graph once and started with one call from then on.
#include "runtime/core/Text.h"
#include "runtime/device/Device.h"
#include "runtime/device/cuda/Driver.h"
#include "runtime/device/cuda/Libraries.h"
#include "runtime/device/cuda/PinnedMemory.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstring>
#include <vector>

using namespace gradc;
using cuda::Driver;
using cuda::Handle;

namespace {

class CudaImage final : public Image {
public:
  CudaImage(std::shared_ptr<const Driver> driver, Handle module)
      : driver(std::move(driver)), module(module) {}
  ~CudaImage() override { driver->moduleUnload(module); }
  void *findKernel(const char *symbol) const override {
    Handle function = nullptr;
    return driver->moduleGetFunction(&function, module, symbol) == 0 ? function : nullptr;
  }

private:
  std::shared_ptr<const Driver> driver;
  Handle module;
};

/// Memory that the GPU reads and writes while the host goes on.
struct Pinned {
  void *memory = nullptr;
  size_t bytes = 0;
  Handle released = nullptr; ///< event: the copy out of it has ended
};

/// An entry's launches, captured with their slices: of inputs there are two copies, one for the
/// step under way and one for the next.
struct Captured {
  const Launch *launches;
  size_t count;
  std::vector<const void *> slices;
  Handle executable;
};

class CudaDevice final : public Device {
public:
  explicit CudaDevice(std::shared_ptr<const Driver> driver) : driver(std::move(driver)) {}
  ~CudaDevice() override;
  Status start();

  bool executes(std::string_view level) const override;
  std::string describe() const override;
  bool sharesHostMemory() const override { return false; }

  void *allocate(uint64_t bytes) override;
  void release(void *memory, uint64_t bytes) override;
  Status copyIn(void *device, const void *host, uint64_t bytes) override;
  Status copyOut(void *host, const void *device, uint64_t bytes) override;
  Status copyInBeside(void *device, const void *host, uint64_t bytes) override;
  std::shared_ptr<HostMemory> hostMemory() override { return pinned; }
  bool isIdle() override { return driver->streamQuery(stream) == 0; }
  Result<std::unique_ptr<Image>> load(std::span<const std::byte> code) override;
  Result<LibraryCalls> prepareCalls(std::span<const gradc_artifact_call *const> wanted,
                                    uint64_t mostWorkspace) override {
    return libraries.prepare(wanted, mostWorkspace);
  }
  void setWorkspace(void *memory) override { workspace = memory; }
  Status launch(std::span<const Launch> launches, int64_t *times) override;
  Status synchronize() override;

private:
  static constexpr size_t chunk = 4 << 20; // of a copy through pinned memory
  static constexpr size_t landing = 4096;  // bytes that a step may give back

  static cuda::Address addressOf(const void *memory) {
    return reinterpret_cast<cuda::Address>(memory);
  }
  Status reserve(Pinned &buffer, size_t bytes);
  Status copyBuffered(void *device, const void *host, uint64_t bytes, Handle along);
  Status enqueue(const Launch &launch);
  Status runTimed(std::span<const Launch> launches, int64_t *times);
  Result<Handle> graphOf(std::span<const Launch> launches);
  static size_t countSlices(std::span<const Launch> launches);

  std::shared_ptr<const Driver> driver;
  cuda::Device device = 0;
  Handle context = nullptr, stream = nullptr, copies = nullptr;
  std::string name;
  int sm = 0;
  std::shared_ptr<cuda::PinnedMemory> pinned;
  Pinned in[2];
  unsigned nextIn = 0;
  std::byte *landed = nullptr; ///< pinned
  size_t landedBytes = 0;
  struct Pending {
    void *host;
    size_t offset, bytes;
  };
  std::vector<Pending> pending;
  std::vector<Captured> graphs;
  std::vector<Handle> events;
  cuda::Libraries libraries;
  void *workspace = nullptr; ///< of library calls
};

CudaDevice::~CudaDevice() {
  for (Handle one : {copies, stream})
    if (one)
      driver->streamSynchronize(one);
  for (Captured &graph : graphs)
    driver->graphExecDestroy(graph.executable);
  libraries.close();
  for (Handle event : events)
    driver->eventDestroy(event);
  for (Pinned &buffer : in) {
    if (buffer.memory)
      driver->memFreeHost(buffer.memory);
    if (buffer.released)
      driver->eventDestroy(buffer.released);
  }
  if (landed)
    driver->memFreeHost(landed);
  for (Handle one : {copies, stream})
    if (one)
      driver->streamDestroy(one);
  if (context)
    driver->primaryCtxRelease(device);
}

Status CudaDevice::start() {
  int count = 0, major = 0, minor = 0;
  if (Status s = driver->check(driver->deviceGetCount(&count), "cannot count CUDA devices");
      !s.ok())
    return s;
  if (count == 0)
    return Status::error("no CUDA device: the driver is there and finds none");
  char deviceName[256] = "";
  void *memory = nullptr;
  for (auto [code, what] :
       {std::pair(driver->deviceGet(&device, 0), "cannot open CUDA device 0"),
        std::pair(driver->deviceGetName(deviceName, sizeof deviceName, device), "cannot name it"),
        std::pair(driver->deviceGetAttribute(&major, cuda::computeMajor, device),
                  "cannot tell its compute capability"),
        std::pair(driver->deviceGetAttribute(&minor, cuda::computeMinor, device),
                  "cannot tell its compute capability"),
        std::pair(driver->primaryCtxRetain(&context, device), "cannot use the CUDA device"),
        std::pair(driver->ctxSetCurrent(context), "cannot use the CUDA device"),
        std::pair(driver->streamCreate(&stream, 1 /*apart from the default stream*/),
                  "cannot create a CUDA stream"),
        std::pair(driver->streamCreate(&copies, 1), "cannot create a CUDA stream"),
        std::pair(driver->memAllocHost(&memory, landing), "no pinned memory")})
    if (Status s = driver->check(code, what); !s.ok())
      return s;
  landed = static_cast<std::byte *>(memory);
  pinned = std::make_shared<cuda::PinnedMemory>(driver, context);
  name = deviceName;
  sm = 10 * major + minor;
  return {};
}

/// Machine code for its own generation, PTX for newer ones.
bool CudaDevice::executes(std::string_view level) const {
  constexpr std::string_view prefix = "cuda:sm_";
  int wanted = 0;
  if (!level.starts_with(prefix))
    return false;
  level.remove_prefix(prefix.size());
  auto [end, error] = std::from_chars(level.data(), level.data() + level.size(), wanted);
  return error == std::errc() && end == level.data() + level.size() && wanted <= sm;
}

std::string CudaDevice::describe() const {
  return text(name, " (cuda:sm_", sm, ", driver for CUDA ", driver->versionText(), ')');
}

void *CudaDevice::allocate(uint64_t bytes) {
  cuda::Address memory = 0;
  bytes = std::max<uint64_t>(bytes, 1);
  if (driver->memAlloc(&memory, bytes) != 0)
    return nullptr;
  // Zeros now: a copy may come before what `stream` still has to do.
  if (driver->memset(memory, 0, bytes, copies) != 0 || driver->streamSynchronize(copies) != 0) {
    driver->memFree(memory);
    return nullptr;
  }
  return reinterpret_cast<void *>(memory);
}

void CudaDevice::release(void *memory, uint64_t) {
  driver->streamSynchronize(stream);
  driver->memFree(addressOf(memory));
}

/// Room in a pinned buffer, once the last copy out of it has ended.
Status CudaDevice::reserve(Pinned &buffer, size_t bytes) {
  if (!buffer.released)
    if (Status s = driver->check(driver->eventCreate(&buffer.released, 2 /*without timing*/),
                                 "cannot create a CUDA event");
        !s.ok())
      return s;
  if (buffer.memory)
    if (Status s = driver->check(driver->eventSynchronize(buffer.released), "a copy failed");
        !s.ok())
      return s;
  if (buffer.bytes >= bytes)
    return {};
  if (buffer.memory)
    driver->memFreeHost(buffer.memory);
  buffer = {nullptr, 0, buffer.released};
  if (Status s = driver->check(driver->memAllocHost(&buffer.memory, bytes), "no pinned memory");
      !s.ok())
    return Status(Code::doesNotFit, s.message());
  buffer.bytes = bytes;
  return {};
}

Status CudaDevice::copyIn(void *to, const void *host, uint64_t bytes) {
  return copyBuffered(to, host, bytes, stream);
}

Status CudaDevice::copyInBeside(void *to, const void *host, uint64_t bytes) {
  if (!pinned->holds(host, bytes))
    return copyBuffered(to, host, bytes, copies);
  return driver->check(driver->copyIn(addressOf(to), host, bytes, copies),
                       "cannot copy to the GPU");
}

/// By way of pinned buffers.
Status CudaDevice::copyBuffered(void *to, const void *host, uint64_t bytes, Handle along) {
  for (uint64_t at = 0; at < bytes; at += chunk) {
    size_t size = std::min<uint64_t>(chunk, bytes - at);
    Pinned &buffer = in[nextIn];
    nextIn = 1 - nextIn;
    if (Status s = reserve(buffer, size); !s.ok())
      return s;
    std::memcpy(buffer.memory, static_cast<const std::byte *>(host) + at, size);
    int copied = driver->copyIn(addressOf(to) + at, buffer.memory, size, along);
    if (copied == 0)
      copied = driver->eventRecord(buffer.released, along);
    if (Status s = driver->check(copied, "cannot copy to the GPU"); !s.ok())
      return s;
  }
  return {};
}

Status CudaDevice::copyOut(void *host, const void *from, uint64_t bytes) {
  bool fits = bytes <= landing - landedBytes;
  void *to = fits ? landed + landedBytes : host;
  if (Status s = driver->check(driver->copyOut(to, addressOf(from), bytes, stream),
                               "cannot copy from the GPU");
      !s.ok() || !fits)
    return s;
  pending.push_back({host, landedBytes, size_t(bytes)});
  landedBytes += bytes;
  return {};
}

Status CudaDevice::synchronize() {
  Status s = driver->check(driver->streamSynchronize(stream), "a step failed on the GPU");
  if (s.ok())
    s = driver->check(driver->streamSynchronize(copies), "a copy failed");
  for (const Pending &copy : pending)
    if (s.ok())
      std::memcpy(copy.host, landed + copy.offset, copy.bytes);
  pending.clear();
  landedBytes = 0;
  return s;
}

Result<std::unique_ptr<Image>> CudaDevice::load(std::span<const std::byte> code) {
  Handle module = nullptr;
  if (Status s = driver->check(driver->moduleLoadData(&module, code.data()),
                               "cannot load the GPU kernels");
      !s.ok())
    return s;
  return std::unique_ptr<Image>(new CudaImage(driver, module));
}

Status CudaDevice::enqueue(const Launch &launch) {
  if (launch.call)
    return static_cast<const cuda::LibraryCall *>(launch.call)
        ->enqueue(launch.slices, workspace, stream);
  // The bytes of all parameters: whether they are pointers or one table of them makes no
  // difference.
  size_t bytes = launch.sliceCount * sizeof(void *);
  void *extra[] = {cuda::parameterBuffer, const_cast<void **>(launch.slices), cuda::parameterBytes,
                   &bytes, cuda::parametersEnd};
  return driver->check(driver->launchKernel(launch.kernel, unsigned(launch.units), 1, 1,
                                            launch.threads, 1, 1, 0, stream, nullptr, extra),
                       "cannot launch a kernel");
}

Status CudaDevice::launch(std::span<const Launch> launches, int64_t *times) {
  if (times)
    return runTimed(launches, times);
  if (launches.size() < 2) {
    for (const Launch &one : launches)
      if (Status s = enqueue(one); !s.ok())
        return s;
    return {};
  }
  auto graph = graphOf(launches);
  if (!graph)
    return graph.status();
  return driver->check(driver->graphLaunch(*graph, stream), "cannot launch a step");
}

size_t CudaDevice::countSlices(std::span<const Launch> launches) {
  size_t count = 0;
  for (const Launch &launch : launches)
    count += launch.sliceCount;
  return count;
}

Result<Handle> CudaDevice::graphOf(std::span<const Launch> launches) {
  // 1. Captured before? An entry's slices lie behind each other.
  const void *const *slices = launches.front().slices;
  size_t count = countSlices(launches);
  std::vector<std::vector<Captured>::iterator> known;
  for (auto at = graphs.begin(); at != graphs.end(); ++at) {
    if (at->launches != launches.data() || at->count != launches.size())
      continue;
    if (std::equal(at->slices.begin(), at->slices.end(), slices, slices + count))
      return at->executable;
    known.push_back(at);
  }
  if (known.size() == 2) {
    driver->graphExecDestroy(known.front()->executable);
    graphs.erase(known.front());
  }

  // 2. What is enqueued while the stream captures becomes the graph. A library may load its code at
  // its first call: only a relaxed capture lets it.
  if (Status s =
          driver->check(driver->streamBeginCapture(stream, 2 /*relaxed*/), "cannot capture a step");
      !s.ok())
    return s;
  Status enqueued;
  for (size_t i = 0; i < launches.size() && enqueued.ok(); ++i)
    enqueued = enqueue(launches[i]);
  Handle graph = nullptr, executable = nullptr;
  Status ended = driver->check(driver->streamEndCapture(stream, &graph), "cannot capture a step");
  if (!enqueued.ok() || !ended.ok())
    return enqueued.ok() ? ended : enqueued;
  Status made = driver->check(driver->graphInstantiate(&executable, graph, 0),
                              "cannot make a graph of a step");
  driver->graphDestroy(graph);
  if (!made.ok())
    return made;
  graphs.push_back({launches.data(), launches.size(), {slices, slices + count}, executable});
  return executable;
}

/// An event before each launch and one behind the last.
Status CudaDevice::runTimed(std::span<const Launch> launches, int64_t *times) {
  while (events.size() < launches.size() + 1) {
    events.push_back(nullptr);
    if (Status s = driver->check(driver->eventCreate(&events.back(), 0), "no CUDA event"); !s.ok())
      return s;
  }
  using std::chrono::steady_clock;
  times[0] = std::chrono::nanoseconds(steady_clock::now().time_since_epoch()).count();
  for (size_t i = 0; i <= launches.size(); ++i) {
    Status s = driver->check(driver->eventRecord(events[i], stream), "cannot record a time");
    if (s.ok() && i < launches.size())
      s = enqueue(launches[i]);
    if (!s.ok())
      return s;
  }
  if (Status s = driver->check(driver->streamSynchronize(stream), "a step failed on the GPU");
      !s.ok())
    return s;
  for (size_t i = 1; i <= launches.size(); ++i) {
    float milliseconds = 0;
    if (Status s = driver->check(driver->eventElapsedTime(&milliseconds, events[0], events[i]),
                                 "cannot read a time");
        !s.ok())
      return s;
    times[i] = times[0] + int64_t(double(milliseconds) * 1e6);
  }
  return {};
}

} // namespace

Result<std::unique_ptr<Device>> gradc::createCudaDevice() {
  auto driver = Driver::open();
  if (!driver)
    return driver.status();
  auto device = std::make_unique<CudaDevice>(std::move(*driver));
  if (Status started = device->start(); !started.ok())
    return started;
  return std::unique_ptr<Device>(std::move(device));
}
