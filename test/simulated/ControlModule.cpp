// The kernels that set conditions of graphs, compiled from their CUDA source as C++. They come as a
// fatbin, whose machine code is not run.
#include "test/simulated/Graph.h"
#include "test/simulated/Module.h"

#include <cstring>

#define GRADC_DEVICE
#define GRADC_KERNEL static
#define GRADC_ROLLED
static int threadNumber() { return simThread(); }
static int blockNumber() { return simBlock(); }
static void waitForBlock() { simBarrier(); }
#include "runtime/device/cuda/ControlKernels.cu"

namespace gradc::simulated {

static const Kernel controls[] = {
#define KERNEL(function, Arguments, meets)                                                         \
  {#function, [](const void *p) { function(*static_cast<const Arguments *>(p)); }, meets,          \
   sizeof(Arguments)}
    KERNEL(gradc_begin_loop, LoopArguments, false),
    KERNEL(gradc_next_iteration, LoopArguments, true),
    KERNEL(gradc_branch, BranchArguments, false),
    KERNEL(gradc_guard, GuardArguments, false),
    KERNEL(gradc_copy, CopyArguments, false),
#undef KERNEL
};

bool isFatbin(const void *image) {
  uint32_t magic;
  std::memcpy(&magic, image, sizeof magic);
  return magic == 0xba55ed50;
}

bool hasMachineCode(const void *image, int sm) {
  struct Header {
    uint32_t magic;
    uint16_t version, size;
    uint64_t bytes;
  } header;
  struct Entry {
    uint16_t kind, version; // kind 1: PTX, 2: machine code
    uint32_t headerBytes;
    uint64_t bytes;
    uint32_t unused[3], sm;
  } entry;
  std::memcpy(&header, image, sizeof header);
  auto *at = static_cast<const char *>(image) + header.size, *end = at + header.bytes;
  for (; at < end; at += entry.headerBytes + entry.bytes) {
    std::memcpy(&entry, at, sizeof entry);
    if (entry.kind == 2 && int(entry.sm) / 10 == sm / 10 && int(entry.sm) <= sm)
      return true;
  }
  return false;
}

std::unique_ptr<Module> Module::controlKernels() {
  std::unique_ptr<Module> module(new Module);
  for (const Kernel &kernel : controls)
    module->kernels[kernel.name] = kernel;
  return module;
}

} // namespace gradc::simulated
