// Measures generated contractions (A and C row-major, B packed) against this machine's own FMA
// peak, in turns, on one thread. Prints one JSON object a shape.
#include "compiler/codegen/Codegen.h"
#include "dialects/grad/Grad.h"
#include "mlir/Parser/Parser.h"
#include "test/bench/Peak.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <numeric>
#include <sys/mman.h>
#include <unistd.h>

using namespace mlir;
using namespace gradc::bench;

using Kernel = void (*)(void *const *slices, int64_t begin, int64_t end);

static Kernel compile(const exec::Level &level, int64_t m, int64_t n, int64_t k, int64_t &units) {
  int64_t lanes = level.vectorBytes / 4, width = lanes * level.tileVectors;
  std::string text = llvm::formatv(
      R"(exec.kernel @contraction(%a: tensor<{0}x{2}xf32>, %b: tensor<{2}x{1}xf32>) attributes {{
      layouts = [unit, #exec.panel<dim = 1, width = {4}>, unit],
      schedule = #exec.schedule<lanes = {3}, tile = [{5}, {4}], order = [1, 0], grain = 1>} {{
    %c = grad.matmul %a, %b : tensor<{0}x{2}xf32>, tensor<{2}x{1}xf32>
    exec.yield %c : tensor<{0}x{1}xf32>
  })",
      m, n, k, lanes, width, level.tileRows);
  DialectRegistry registry;
  registry.insert<exec::ExecDialect, grad::GradDialect>();
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  auto module = parseSourceString<ModuleOp>(text, &context);
  if (!module)
    return nullptr;
  auto kernel = *module->getOps<exec::KernelOp>().begin();
  units = exec::kernelUnits(kernel);
  FailureOr<std::string> image = gradc::generateImage(*module, level, {});
  int file = memfd_create("contraction", MFD_CLOEXEC);
  if (failed(image) || write(file, image->data(), image->size()) != ssize_t(image->size()))
    return nullptr;
  void *handle = dlopen(("/proc/self/fd/" + std::to_string(file)).c_str(), RTLD_NOW);
  return handle ? reinterpret_cast<Kernel>(dlsym(handle, gradc::kernelSymbol(kernel).c_str()))
                : nullptr;
}

static float *buffer(int64_t elements) {
  auto *p = static_cast<float *>(std::aligned_alloc(64, llvm::alignTo(elements * 4 + 64, 64)));
  for (int64_t i = 0; i < elements; ++i)
    p[i] = float(i * 7919 % 2003) / 1001.5f - 1;
  return p;
}

static bool measure(const exec::Level &level, int64_t m, int64_t n, int64_t k) {
  int64_t units = 0, width = level.vectorBytes / 4 * level.tileVectors;
  Kernel kernel = compile(level, m, n, k, units);
  if (!kernel)
    return false;
  float *a = buffer(m * k), *b = buffer(llvm::alignTo(n, width) * k), *c = buffer(m * n);
  void *slices[] = {a, b, c};
  kernel(slices, 0, units);
  double worst = 0;
  for (int64_t i = 0; i < m; i += 37)
    for (int64_t j = 0; j < n; j += 41) {
      double sum = 0;
      for (int64_t s = 0; s < k; ++s)
        sum += double(a[i * k + s]) * b[j / width * k * width + s * width + j % width];
      worst = std::max(worst, std::abs(sum - c[i * n + j]));
    }
  if (!(worst < 1e-3)) {
    std::fprintf(stderr, "wrong by %g\n", worst);
    return false;
  }

  // Other work on the machine can only slow a piece down: the best time of each piece counts, and
  // the best time of the peak's loop, which runs between the rounds.
  bool isWide = level.vectorBytes == 64;
  constexpr int64_t piece = 8;
  std::vector<double> pieces(llvm::divideCeil(units, piece), INFINITY);
  double peakTime = INFINITY;
  for (int round = 0; round < 60; ++round) {
    for (int sample = 0; sample < 4; ++sample)
      peakTime = std::min(peakTime, timeOf(isWide ? peakOf512 : peakOf256));
    for (auto [i, best] : llvm::enumerate(pieces)) {
      int64_t begin = int64_t(i) * piece, end = std::min(units, begin + piece);
      best = std::min(best, timeOf([&] { kernel(slices, begin, end); }));
    }
  }
  double time = std::accumulate(pieces.begin(), pieces.end(), 0.0);
  double ours = 2e-9 * double(m * n * k) / time;
  double peak = 2e-9 * double(peakSteps * chains * level.vectorBytes / 4) / peakTime;
  std::printf(
      "{\"m\": %ld, \"n\": %ld, \"k\": %ld, \"level\": \"%s\", \"gflops\": %.1f, \"peak\": %.1f, "
      "\"ratio\": %.4f}\n",
      m, n, k, level.name.str().c_str(), ours, peak, ours / peak);
  std::free(a);
  std::free(b);
  std::free(c);
  return true;
}

int main() {
  const exec::Level *level = exec::nativeLevel();
  if (!level) {
    std::fprintf(stderr, "this machine executes no level that gradc compiles for\n");
    return 1;
  }
  bool good = true;
  for (int64_t size : {1024, 1000})
    good &= measure(*level, size, size, size);
  return good ? 0 : 1;
}
