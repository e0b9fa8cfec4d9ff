// A CUDA GPU with two streams: one runs copies and launches in order, the other runs concurrent
// copies.
#include "runtime/base/Text.h"
#include "runtime/device/Device.h"
#include "runtime/device/cuda/Context.h"
#include "runtime/device/cuda/Events.h"
#include "runtime/device/cuda/Graphs.h"
#include "runtime/device/cuda/Libraries.h"
#include "runtime/device/cuda/PinnedMemory.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <vector>

using namespace gradc::runtime;
using cuda::addressOf;
using cuda::Context;
using cuda::Driver;
using cuda::Handle;

namespace {

class CudaImage final : public Image {
public:
  CudaImage(std::shared_ptr<const Context> context, Handle module)
      : context(std::move(context)), module(module) {}
  ~CudaImage() override {
    auto scope = context->enter();
    context->driver->moduleUnload(module);
  }
  void *findKernel(const char *symbol) const override {
    auto scope = context->enter();
    Handle function = nullptr;
    return context->driver->moduleGetFunction(&function, module, symbol) == 0 ? function : nullptr;
  }

private:
  std::shared_ptr<const Context> context;
  Handle module;
};

/// Memory that the GPU reads and writes while the host continues.
struct Pinned {
  void *memory = nullptr;
  size_t bytes = 0;
  Handle released = nullptr; ///< event: the copy out of it has ended
};

class CudaDevice final : public Device {
public:
  explicit CudaDevice(std::shared_ptr<const Driver> driver)
      : driver(std::move(driver)), launches(*this->driver), graphs(*this->driver, launches),
        events(*this->driver) {}
  ~CudaDevice() override;
  Status start();

  bool executes(std::string_view level) const override;
  std::string describe() const override;
  bool sharesHostMemory() const override { return false; }

  void *allocate(uint64_t bytes) override;
  void release(void *memory, uint64_t bytes) override;
  std::shared_ptr<std::byte> allocateShared(uint64_t bytes) override;
  Status copyIn(void *device, const void *host, uint64_t bytes) override;
  Status copyOut(void *host, const void *device, uint64_t bytes) override;
  Status copyPiecesOut(std::span<const Piece> pieces, const std::byte *device,
                       uint64_t bytes) override;
  Status copyInBeside(void *device, const void *host, uint64_t bytes) override;
  std::shared_ptr<HostMemory> hostMemory() override { return pinned; }
  bool isIdle() override;
  Result<std::unique_ptr<Image>> load(std::span<const std::byte> code) override;
  Result<LibraryCalls> prepareCalls(std::span<const gradc_artifact_call *const> wanted,
                                    uint64_t maxWorkspace) override {
    auto scope = context->enter();
    return libraries.prepare(wanted, maxWorkspace);
  }
  void setWorkspace(void *memory) override { launches.workspace = memory; }
  using Device::launch;
  Status launch(const Schedule &schedule, Profile *profile) override;
  void forget(const Schedule &schedule) override;
  std::string note() const override { return graphs.problem(); }
  Status synchronize() override;

private:
  static constexpr size_t chunk = 4 << 20; // bytes per copy through pinned memory
  static constexpr size_t landing = 4096;  // maximum bytes that a step returns

  Status reserve(Pinned &buffer, size_t bytes);
  Status land(std::span<const Piece> pieces, const void *from, uint64_t bytes);
  Status copyBuffered(void *device, const void *host, uint64_t bytes, Handle along);
  int64_t readNumber(const void *from, uint32_t bytes, ScheduleWalk &walk);
  Status startPiece(const Step &piece, const ScheduleWalk &walk);
  Status startTimed(const Step &piece, const ScheduleWalk &walk, Profile &profile);

  std::shared_ptr<const Driver> driver;
  std::shared_ptr<const Context> context; ///< entered by every call from outside
  Handle stream = nullptr, copies = nullptr;
  std::string name;
  int sm = 0;
  std::shared_ptr<cuda::PinnedMemory> pinned;
  Pinned in[2];
  unsigned nextIn = 0;
  std::byte *landed = nullptr; ///< pinned
  size_t landedBytes = 0;
  std::vector<Piece> pending; ///< of what has landed
  cuda::Launches launches;
  cuda::Graphs graphs;
  std::vector<void *> sliceCopy; ///< of a schedule in which some move
  cuda::Events events;
  cuda::Libraries libraries;
};

CudaDevice::~CudaDevice() {
  if (!context)
    return;
  auto scope = context->enter();
  for (Handle one : {copies, stream})
    if (one)
      driver->streamSynchronize(one);
  graphs.clear();
  libraries.close();
  events.clear();
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
}

Status CudaDevice::start() {
  int count = 0, major = 0, minor = 0;
  if (Status s = driver->check(driver->deviceGetCount(&count), "cannot count CUDA devices");
      !s.ok())
    return s;
  if (count == 0)
    return Status::error("no CUDA device: the driver is there and finds none");
  // 1. The device and its generation.
  cuda::Device device = 0;
  char deviceName[256] = "";
  for (auto [code, what] :
       {std::pair(driver->deviceGet(&device, 0), "cannot open CUDA device 0"),
        std::pair(driver->deviceGetName(deviceName, sizeof deviceName, device), "cannot name it"),
        std::pair(driver->deviceGetAttribute(&major, cuda::computeMajor, device),
                  "cannot tell its compute capability"),
        std::pair(driver->deviceGetAttribute(&minor, cuda::computeMinor, device),
                  "cannot tell its compute capability")})
    if (Status s = driver->check(code, what); !s.ok())
      return s;

  // 2. The objects kept for it.
  auto retained = Context::retain(driver, device);
  if (!retained)
    return retained.status();
  context = std::move(*retained);
  auto scope = context->enter();
  void *memory = nullptr;
  for (auto [code, what] :
       {std::pair(driver->streamCreate(&stream, 1 /*apart from the default stream*/),
                  "cannot create a CUDA stream"),
        std::pair(driver->streamCreate(&copies, 1), "cannot create a CUDA stream"),
        std::pair(driver->memAllocHost(&memory, landing), "no pinned memory")})
    if (Status s = driver->check(code, what); !s.ok())
      return s;
  launches.stream = stream;
  landed = static_cast<std::byte *>(memory);
  pinned = std::make_shared<cuda::PinnedMemory>(context);
  name = deviceName;
  sm = 10 * major + minor;
  return {};
}

/// A GPU executes machine code of its own generation, and PTX for newer generations.
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

bool CudaDevice::isIdle() {
  auto scope = context->enter();
  return driver->streamQuery(stream) == 0 && driver->streamQuery(copies) == 0;
}

void *CudaDevice::allocate(uint64_t bytes) {
  auto scope = context->enter();
  cuda::Address memory = 0;
  bytes = std::max<uint64_t>(bytes, 1);
  if (driver->memAlloc(&memory, bytes) != 0)
    return nullptr;
  // Zeroed immediately: a copy may come before the pending work of `stream`.
  if (driver->memset(memory, 0, bytes, copies) != 0 || driver->streamSynchronize(copies) != 0) {
    driver->memFree(memory);
    return nullptr;
  }
  return reinterpret_cast<void *>(memory);
}

void CudaDevice::release(void *memory, uint64_t) {
  auto scope = context->enter();
  for (Handle one : {copies, stream})
    driver->streamSynchronize(one);
  driver->memFree(addressOf(memory));
}

std::shared_ptr<std::byte> CudaDevice::allocateShared(uint64_t bytes) {
  auto *memory = static_cast<std::byte *>(allocate(bytes));
  if (!memory)
    return nullptr;
  return {memory, [context = context](std::byte *memory) {
            auto scope = context->enter();
            context->driver->memFree(addressOf(memory));
          }};
}

/// Waits for the last copy from a pinned buffer, then makes room for `bytes`.
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
  auto scope = context->enter();
  return copyBuffered(to, host, bytes, stream);
}

Status CudaDevice::copyInBeside(void *to, const void *host, uint64_t bytes) {
  auto scope = context->enter();
  if (!pinned->holds(host, bytes))
    return copyBuffered(to, host, bytes, copies);
  return driver->check(driver->copyIn(addressOf(to), host, bytes, copies),
                       "cannot copy to the GPU");
}

/// Copies through pinned buffers.
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
  auto scope = context->enter();
  if (bytes <= landing - landedBytes) {
    Piece whole = {host, 0, bytes};
    return land({&whole, 1}, from, bytes);
  }
  return driver->check(driver->copyOut(host, addressOf(from), bytes, stream),
                       "cannot copy from the GPU");
}

Status CudaDevice::copyPiecesOut(std::span<const Piece> pieces, const std::byte *from,
                                 uint64_t bytes) {
  auto scope = context->enter();
  return bytes <= landing - landedBytes ? land(pieces, from, bytes)
                                        : Device::copyPiecesOut(pieces, from, bytes);
}

/// Copies once into pinned memory; `synchronize` distributes the pieces.
Status CudaDevice::land(std::span<const Piece> pieces, const void *from, uint64_t bytes) {
  if (Status s =
          driver->check(driver->copyOut(landed + landedBytes, addressOf(from), bytes, stream),
                        "cannot copy from the GPU");
      !s.ok())
    return s;
  for (const Piece &piece : pieces)
    pending.push_back({piece.host, landedBytes + piece.offset, piece.bytes});
  landedBytes += bytes;
  return {};
}

Status CudaDevice::synchronize() {
  auto scope = context->enter();
  Status s = driver->check(driver->streamSynchronize(stream), "a step failed on the GPU");
  if (s.ok())
    s = driver->check(driver->streamSynchronize(copies), "a copy failed");
  if (Status failed = graphs.takeFailure(); s.ok())
    s = failed;
  for (const Piece &copy : pending)
    if (s.ok())
      std::memcpy(copy.host, landed + copy.offset, copy.bytes);
  pending.clear();
  landedBytes = 0;
  return s;
}

Result<std::unique_ptr<Image>> CudaDevice::load(std::span<const std::byte> code) {
  auto scope = context->enter();
  Handle module = nullptr;
  if (Status s = driver->check(driver->moduleLoadData(&module, code.data()),
                               "cannot load the GPU kernels");
      !s.ok())
    return Status(Code::doesNotFit, text(s.message(), " on ", describe()));
  return std::unique_ptr<Image>(new CudaImage(context, module));
}

/// One graph or, where that is not possible, one per piece: the host then reads conditions and
/// counts back between pieces.
Status CudaDevice::launch(const Schedule &schedule, Profile *profile) {
  auto scope = context->enter();
  if (!profile) {
    auto whole = graphs.startWhole(schedule);
    if (!whole || *whole)
      return whole.status();
  }
  ScheduleWalk walk(schedule, sliceCopy);
  auto read = [&](const void *from, uint32_t bytes) { return readNumber(from, bytes, walk); };
  if (profile)
    if (Status s = events.record(0, stream); !s.ok())
      return s;
  while (const Step *piece = walk.next(read, [](const Step &) {}))
    if (Status s = profile ? startTimed(*piece, walk, *profile) : startPiece(*piece, walk); !s.ok())
      return s;
  if (!walk.status().ok())
    return walk.status();
  return profile ? events.read(profile->paths.size(), stream, profile->times) : Status();
}

int64_t CudaDevice::readNumber(const void *from, uint32_t bytes, ScheduleWalk &walk) {
  int64_t number = 0;
  Status s = driver->check(driver->copyOut(&number, addressOf(from), bytes, stream),
                           "cannot copy from the GPU");
  if (s.ok())
    s = driver->check(driver->streamSynchronize(stream), "a step failed on the GPU");
  if (!s.ok())
    walk.fail(s);
  return numberIn(&number, bytes);
}

/// Launches with moving slices differ in every iteration, so a graph of them would never be reused.
Status CudaDevice::startPiece(const Step &piece, const ScheduleWalk &walk) {
  if (!piece.moves)
    return graphs.startPiece(piece.launches);
  for (const Launch &launch : piece.launches)
    if (Status s = launches.enqueue(launch, walk.slices(launch)); !s.ok())
      return s;
  return {};
}

void CudaDevice::forget(const Schedule &schedule) {
  auto scope = context->enter();
  graphs.forget(schedule);
}

/// Records an event after each launch; `launch` has recorded the event before the first one.
Status CudaDevice::startTimed(const Step &piece, const ScheduleWalk &walk, Profile &profile) {
  for (const Launch &launch : piece.launches) {
    profile.paths.push_back(walk.path(launch));
    Status s = launches.enqueue(launch, walk.slices(launch));
    if (s.ok())
      s = events.record(profile.paths.size(), stream);
    if (!s.ok())
      return s;
  }
  return {};
}

} // namespace

Result<std::unique_ptr<Device>> gradc::runtime::createCudaDevice() {
  auto driver = Driver::open();
  if (!driver)
    return driver.status();
  auto device = std::make_unique<CudaDevice>(std::move(*driver));
  if (Status started = device->start(); !started.ok())
    return started;
  return std::unique_ptr<Device>(std::move(device));
}
