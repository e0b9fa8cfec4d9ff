// Compiles, runs and times one kernel.
#include "test/bench/Kernel.h"
#include "test/bench/Peak.h"

#include "dialects/grad/Grad.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Passes.h"
#include "passes/schedule/KernelScratch.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <dlfcn.h>
#include <numeric>
#include <sys/mman.h>
#include <unistd.h>

using namespace mlir;
using namespace gradc::bench;

using Kernel = void (*)(void *const *slices, int64_t begin, int64_t end, int64_t rows,
                        void *scratch);

static Kernel load(StringRef image, const std::string &symbol) {
  int file = memfd_create("kernel", MFD_CLOEXEC);
  if (write(file, image.data(), image.size()) != ssize_t(image.size()))
    return nullptr;
  void *handle = dlopen(("/proc/self/fd/" + std::to_string(file)).c_str(), RTLD_NOW);
  return handle ? reinterpret_cast<Kernel>(dlsym(handle, symbol.c_str())) : nullptr;
}

static float *buffer(int64_t bytes) {
  auto *p = static_cast<float *>(std::aligned_alloc(64, llvm::alignTo(bytes + 64, 64)));
  for (int64_t i = 0; i < bytes / 4; ++i)
    p[i] = float(i * 7919 % 2003) / 1001.5f - 1;
  return p;
}

bool gradc::bench::measure(const exec::Level &level, const std::string &name,
                           const std::string &text) {
  DialectRegistry registry;
  registry.insert<exec::ExecDialect, grad::GradDialect>();
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  auto module = parseSourceString<ModuleOp>(text, &context);
  if (!module)
    return false;
  auto op = *module->getOps<exec::KernelOp>().begin();
  int64_t flops = 0, bytes = 0;
  op.walk([&](Operation *inner) {
    if (auto cost = dyn_cast<grad::CostOpInterface>(inner))
      flops += cost.getFlops();
  });
  SmallVector<void *> slices;
  auto add = [&](Value v, int64_t i) {
    int64_t size = exec::layoutBytes(cast<RankedTensorType>(v.getType()), op.getLayout(i));
    slices.push_back(buffer(size));
    bytes += size;
  };
  for (auto [i, v] : llvm::enumerate(op.getBlock().getArguments()))
    add(v, i);
  for (auto [i, v] : llvm::enumerate(op.getYielded()))
    add(v, op.getBlock().getNumArguments() + i);
  op.setFlops(flops);
  op.setBytes(bytes);
  if (!op.getScheduleAttr()) {
    (*module)->setAttr("exec.level", StringAttr::get(&context, level.name));
    PassManager pm(&context);
    pm.addPass(gradc::createSchedule());
    if (failed(pm.run(*module)))
      return false;
  }
  FailureOr<std::string> image = gradc::generateImage(*module, level, {});
  Kernel kernel = failed(image) ? nullptr : load(*image, gradc::kernelSymbol(op));
  if (!kernel)
    return false;

  // Other work on the machine can only slow a piece down, so the best time of each piece counts,
  // and the best time of the peak's loop, which runs between the rounds.
  bool isWide = level.vectorBytes == 64;
  int64_t units = exec::kernelUnits(op),
          piece = llvm::alignTo(llvm::divideCeil(units, 16), winogradUnitsTogether(op));
  std::vector<char> room(size_t(gradc::kernelScratch(op, level)) + 64);
  void *scratch = reinterpret_cast<void *>(llvm::alignTo(uint64_t(room.data()), 64));
  kernel(slices.data(), 0, units, 0, scratch);
  std::vector<double> pieces(llvm::divideCeil(units, piece), INFINITY);
  double peakTime = INFINITY, began = seconds();
  for (int round = 0; round < 60 && (round < 5 || seconds() - began < 3); ++round) {
    for (int sample = 0; sample < 4; ++sample)
      peakTime = std::min(peakTime, timeOf(isWide ? peakOf512 : peakOf256));
    for (auto [i, best] : llvm::enumerate(pieces)) {
      int64_t begin = int64_t(i) * piece, end = std::min(units, begin + piece);
      best = std::min(best, timeOf([&] { kernel(slices.data(), begin, end, 0, scratch); }));
    }
  }
  double time = std::accumulate(pieces.begin(), pieces.end(), 0.0);
  double ours = 1e-9 * double(flops) / time;
  double peak = 2e-9 * double(peakSteps * chains * level.vectorBytes / 4) / peakTime;
  std::printf("{\"kernel\": \"%s\", \"level\": \"%s\", \"ms\": %.4f, \"gflops\": %.1f, \"peak\": "
              "%.1f, \"ratio\": %.4f}\n",
              name.c_str(), level.name.str().c_str(), 1e3 * time, ours, peak, ours / peak);
  std::fflush(stdout);
  for (void *slice : slices)
    std::free(slice);
  return true;
}
