// A CUDA driver without a GPU: the functions that gradc's runtime calls, on host memory. Work waits
// in its stream until a call synchronizes, so reading too early gives old bytes. The environment
// describes the device: GRADC_SIMULATED="order=reverse memory=100000 version=11080 devices=0 sm=80
// captures=no loads=no controls=no".
#include "test/simulated/DriverState.h"
#include "test/simulated/Module.h"
#include "test/simulated/Stream.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>

using namespace gradc::simulated;

Settings gradc::simulated::settings() {
  Settings s;
  const char *given = getenv("GRADC_SIMULATED");
  std::istringstream words(given ? given : "");
  for (std::string word; words >> word;) {
    std::string name = word.substr(0, word.find('=')), value = word.substr(word.find('=') + 1);
    if (name == "order")
      s.order = value == "reverse"    ? Order::reverse
                : value == "shuffled" ? Order::shuffled
                                      : Order::forward;
    else if (name == "memory")
      s.memory = std::stoull(value);
    else if (name == "version")
      s.version = std::stoi(value);
    else if (name == "devices")
      s.devices = std::stoi(value);
    else if (name == "loads")
      s.loads = value != "no";
    else if (name == "captures")
      s.captures = value != "no";
    else if (name == "controls")
      s.controls = value != "no";
    else if (name == "sm")
      s.sm = std::stoi(value);
    else
      std::fprintf(stderr, "simulated device: unknown setting %s\n", word.c_str());
  }
  return s;
}

namespace {

struct Event {
  std::chrono::steady_clock::time_point time;
};

std::map<uintptr_t, uint64_t> allocations;
uint64_t allocated = 0;
std::map<const char *, size_t> pinned;     // memory of the host: where, bytes
thread_local std::vector<void *> contexts; // the last one is current

/// Copies that touch host memory need it pinned in some graphs.
Node::Kind copyKind(const void *host) {
  auto *at = static_cast<const char *>(host);
  auto next = pinned.upper_bound(at);
  bool isPinned =
      next != pinned.begin() && at - std::prev(next)->first < long(std::prev(next)->second);
  return isPinned ? Node::Kind::copy : Node::Kind::pageableCopy;
}

int launch(const Kernel &kernel, Dims grid, Dims block, const std::vector<std::byte> &parameters) {
  std::string failure = execute(kernel, grid, block, parameters.data(), settings().order);
  return failure.empty() ? ok : refuse(launchFailed, failure);
}

} // namespace

std::string gradc::simulated::lastFailure;
std::vector<Stream *> gradc::simulated::streams;

bool gradc::simulated::hasContext() { return !contexts.empty(); }

int gradc::simulated::refuse(Error error, const std::string &why) {
  lastFailure = why;
  std::fprintf(stderr, "simulated device: %s\n", why.c_str());
  return error;
}

int gradc::simulated::enqueue(void *stream, std::function<std::string()> work) {
  return streamOf(stream)->add(Node::Kind::kernel, [work = std::move(work)]() -> int {
    std::string failure = work();
    return failure.empty() ? ok : refuse(launchFailed, failure);
  });
}

// The names and parameters are cuda.h's.
extern "C" {
int cuInit(unsigned) { return ok; }
int cuDriverGetVersion(int *version) {
  *version = settings().version;
  return ok;
}
int cuGetErrorString(int error, const char **text) {
  switch (error) {
  case invalidValue:
    *text = "invalid argument";
    break;
  case outOfMemory:
    *text = "out of memory";
    break;
  case noContext:
    *text = "invalid device context";
    break;
  case invalidImage:
    *text = "device kernel image is invalid";
    break;
  case notFound:
    *text = "named symbol not found";
    break;
  case captureUnsupported:
    *text = "operation not permitted when stream is capturing";
    break;
  case launchFailed:
    *text = lastFailure.c_str();
    break;
  default:
    *text = "unknown error";
  }
  return ok;
}
int cuDeviceGetCount(int *count) {
  *count = settings().devices;
  return ok;
}
int cuDeviceGet(int *device, int number) {
  *device = number;
  return number < settings().devices ? ok : invalidValue;
}
int cuDeviceGetName(char *name, int bytes, int) {
  std::snprintf(name, size_t(bytes), "simulated device");
  return ok;
}
int cuDeviceGetAttribute(int *value, int attribute, int) {
  if (attribute != 75 && attribute != 76)
    return invalidValue;
  *value = attribute == 75 ? settings().sm / 10 : settings().sm % 10;
  return ok;
}
int cuDevicePrimaryCtxRetain(void **context, int) {
  static int one;
  *context = &one;
  return ok;
}
int cuDevicePrimaryCtxRelease_v2(int) { return ok; }
int cuCtxPushCurrent_v2(void *context) {
  contexts.push_back(context);
  return ok;
}
int cuCtxPopCurrent_v2(void **context) {
  if (contexts.empty())
    return noContext;
  *context = contexts.back();
  contexts.pop_back();
  return ok;
}

int cuCtxGetCurrent(void **context) {
  *context = contexts.empty() ? nullptr : contexts.back();
  return ok;
}

int cuModuleLoadData(void **module, const void *image) {
  if (contexts.empty())
    return noContext;
  if (!settings().loads)
    return invalidImage;
  uint32_t header[5];
  std::memcpy(header, image, sizeof header);
  if (isFatbin(image)) {
    if (!settings().controls || !hasMachineCode(image, settings().sm))
      return invalidImage;
    *module = Module::controlKernels().release();
    return ok;
  }
  if (header[0] != 0x0b17c0de) {
    std::fprintf(stderr,
                 "simulated device: it runs LLVM bitcode only (gradc compile --llvm-image)\n");
    return invalidImage;
  }
  auto loaded = Module::load({static_cast<const char *>(image), header[2] + header[3]});
  if (!loaded) {
    std::fprintf(stderr, "simulated device: %s\n", llvm::toString(loaded.takeError()).c_str());
    return invalidImage;
  }
  *module = loaded->release();
  return ok;
}
int cuModuleUnload(void *module) {
  if (contexts.empty())
    return noContext;
  auto *unloaded = static_cast<Module *>(module);
  for (const Executable *executable : executables)
    executable->graph->visitKernels([&](const Kernel &kernel) {
      if (unloaded->find(kernel.name) == &kernel) {
        std::fprintf(stderr, "simulated device: %s is unloaded and a graph holds it\n",
                     kernel.name.c_str());
        std::abort();
      }
    });
  delete unloaded;
  return ok;
}
int cuModuleGetFunction(void **function, void *module, const char *name) {
  if (contexts.empty())
    return noContext;
  const Kernel *kernel = static_cast<Module *>(module)->find(name);
  *function = const_cast<Kernel *>(kernel);
  return kernel ? ok : notFound;
}

int cuMemAlloc_v2(uint64_t *memory, size_t bytes) {
  if (contexts.empty())
    return noContext;
  if (bytes == 0 || allocated + bytes > settings().memory)
    return bytes ? outOfMemory : invalidValue;
  void *at = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  std::memset(at, 0xff, bytes); // NaN, so that reading before writing shows
  *memory = reinterpret_cast<uint64_t>(at);
  allocations[*memory] = bytes;
  allocated += bytes;
  noteMemory(at, bytes);
  return ok;
}
int cuMemFree_v2(uint64_t memory) {
  if (contexts.empty())
    return noContext;
  for (Stream *stream : streams)
    if (int error = stream->drain())
      return error;
  auto found = allocations.find(memory);
  if (found == allocations.end())
    return invalidValue;
  allocated -= found->second;
  allocations.erase(found);
  auto *at = reinterpret_cast<void *>(memory);
  noteMemory(at, 0);
  std::free(at);
  return ok;
}
int cuMemAllocHost_v2(void **memory, size_t bytes) {
  if (contexts.empty())
    return noContext;
  *memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  pinned[static_cast<char *>(*memory)] = bytes;
  return *memory ? ok : outOfMemory;
}
int cuMemFreeHost(void *memory) {
  if (contexts.empty())
    return noContext;
  pinned.erase(static_cast<char *>(memory));
  std::free(memory);
  return ok;
}
int cuMemsetD8Async(uint64_t to, unsigned char byte, size_t count, void *stream) {
  if (contexts.empty())
    return noContext;
  return streamOf(stream)->add(Node::Kind::fill, [=] {
    std::memset(reinterpret_cast<void *>(to), byte, count);
    return ok;
  });
}
int cuMemsetD2D32Async(uint64_t to, size_t pitch, unsigned word, size_t words, size_t lines,
                       void *stream) {
  if (contexts.empty())
    return noContext;
  if (to % sizeof word || (lines > 1 && (pitch % sizeof word || pitch < words * sizeof word)))
    return invalidValue;
  return streamOf(stream)->add(Node::Kind::fill, [=] {
    for (size_t line = 0; line < lines; ++line)
      std::fill_n(reinterpret_cast<unsigned *>(to + line * pitch), words, word);
    return ok;
  });
}
int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *stream) {
  if (contexts.empty())
    return noContext;
  return streamOf(stream)->add(copyKind(from), [=] {
    std::memcpy(reinterpret_cast<void *>(to), from, bytes);
    return ok;
  });
}
int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *stream) {
  if (contexts.empty())
    return noContext;
  return streamOf(stream)->add(copyKind(to), [=] {
    std::memcpy(to, reinterpret_cast<const void *>(from), bytes);
    return ok;
  });
}
int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, void *stream) {
  if (contexts.empty())
    return noContext;
  return streamOf(stream)->add(Node::Kind::copy, [=] {
    std::memcpy(reinterpret_cast<void *>(to), reinterpret_cast<const void *>(from), bytes);
    return ok;
  });
}

int cuEventCreate(void **event, unsigned) {
  if (contexts.empty())
    return noContext;
  *event = new Event;
  return ok;
}
int cuEventDestroy_v2(void *event) {
  delete static_cast<Event *>(event);
  return ok;
}
int cuEventRecord(void *event, void *stream) {
  return streamOf(stream)->add(Node::Kind::event, [event] {
    static_cast<Event *>(event)->time = std::chrono::steady_clock::now();
    return ok;
  });
}
int cuEventSynchronize(void *) {
  for (Stream *stream : streams)
    if (int error = stream->drain())
      return error;
  return ok;
}
int cuEventElapsedTime(float *milliseconds, void *begin, void *end) {
  std::chrono::duration<float, std::milli> between =
      static_cast<Event *>(end)->time - static_cast<Event *>(begin)->time;
  *milliseconds = between.count();
  return ok;
}

int cuLaunchKernel(void *function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX,
                   unsigned blockY, unsigned blockZ, unsigned, void *stream, void **parameters,
                   void **extra) {
  if (contexts.empty())
    return noContext;
  const Kernel &kernel = *static_cast<Kernel *>(function);
  // CU_LAUNCH_PARAM_BUFFER_POINTER, _SIZE and _END: the only form that gradc uses.
  auto tag = [&](int i) { return reinterpret_cast<uintptr_t>(extra[i]); };
  if (parameters || !extra || tag(0) != 1 || tag(2) != 2 || tag(4) != 0)
    return invalidValue;
  size_t bytes = *static_cast<size_t *>(extra[3]);
  if (bytes != kernel.parameterBytes)
    return invalidValue;
  auto *first = static_cast<std::byte *>(extra[1]);
  std::vector<std::byte> copy(first, first + bytes);
  Dims grid{gridX, gridY, gridZ}, block{blockX, blockY, blockZ};
  return streamOf(stream)->add(
      Node::Kind::kernel, [=, &kernel] { return launch(kernel, grid, block, copy); }, &kernel);
}
}
