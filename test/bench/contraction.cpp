// Measures generated contractions (A and C row-major, B packed) against this machine's own FMA
// peak, alternately, on one thread: in f32, and in bf16 if the level multiplies pairs. Prints one
// JSON object per shape.
#include "compiler/codegen/Codegen.h"
#include "dialects/grad/Grad.h"
#include "mlir/Parser/Parser.h"
#include "test/bench/Peak.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <memory>
#include <numeric>
#include <sys/mman.h>
#include <unistd.h>

using namespace mlir;
using namespace gradc::bench;

using Kernel = void (*)(void *const *slices, int64_t begin, int64_t end, int64_t rows,
                        void *scratch);

static Kernel compile(const exec::Level &level, bool bf16, int64_t m, int64_t n, int64_t k,
                      int64_t &units) {
  int64_t lanes = level.vectorBytes / 4, width = lanes * level.tileVectors;
  std::string text = llvm::formatv(
      R"(exec.kernel @contraction(%a: tensor<{0}x{2}x{6}>, %b: tensor<{2}x{1}x{6}>) attributes {{
      layouts = [unit, #exec.panel<dim = 1, width = {4}{7}>, unit],
      schedule = #exec.schedule<lanes = {3}, tile = [{5}, {4}], order = [1, 0], grain = 1>} {{
    %c = grad.matmul %a, %b : tensor<{0}x{2}x{6}>, tensor<{2}x{1}x{6}>
    exec.yield %c : tensor<{0}x{1}x{6}>
  })",
      m, n, k, lanes, width, bf16 && level.amxRows ? level.amxRows : level.tileRows,
      bf16 ? "bf16" : "f32", bf16 ? ", pairs = 0" : "");
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

/// A tensor of f32 or bf16 with arbitrary numbers.
struct Buffer {
  Buffer(int64_t elements, bool bf16) : bf16(bf16) {
    int64_t bytes = llvm::alignTo(elements * (bf16 ? 2 : 4) + 64, 64);
    data.reset(std::aligned_alloc(64, bytes));
    for (int64_t i = 0; i < elements; ++i) {
      uint32_t bits = llvm::bit_cast<uint32_t>(float(i * 7919 % 2003) / 1001.5f - 1);
      if (bf16)
        static_cast<uint16_t *>(data.get())[i] = uint16_t(bits >> 16);
      else
        static_cast<uint32_t *>(data.get())[i] = bits;
    }
  }
  double operator[](int64_t i) const {
    if (!bf16)
      return static_cast<float *>(data.get())[i];
    return llvm::bit_cast<float>(uint32_t(static_cast<uint16_t *>(data.get())[i]) << 16);
  }

  bool bf16;
  std::unique_ptr<void, decltype(&std::free)> data{nullptr, &std::free};
};

static bool measure(const exec::Level &level, bool bf16, int64_t m, int64_t n, int64_t k) {
  int64_t units = 0, width = level.vectorBytes / 4 * level.tileVectors;
  Kernel kernel = compile(level, bf16, m, n, k, units);
  if (!kernel)
    return false;
  Buffer a(m * k, bf16), b(llvm::alignTo(n, width) * k, bf16), c(m * n, bf16);
  void *slices[] = {a.data.get(), b.data.get(), c.data.get()};
  kernel(slices, 0, units, 0, nullptr);
  int64_t together = bf16 ? 2 : 1; // steps
  double worst = 0;
  for (int64_t i = 0; i < m; i += 37)
    for (int64_t j = 0; j < n; j += 41) {
      double sum = 0;
      for (int64_t s = 0; s < k; ++s)
        sum +=
            a[i * k + s] *
            b[j / width * k * width + (s / together * width + j % width) * together + s % together];
      worst = std::max(worst, std::abs(sum - c[i * n + j]) / std::max(1.0, std::abs(sum)));
    }
  if (!(worst < (bf16 ? 1e-2 : 1e-3))) {
    std::fprintf(stderr, "wrong by %g\n", worst);
    return false;
  }

  // Other work on the machine can only slow a piece down, so the best time of each piece counts,
  // and the best time of the peak's loop, which runs between the rounds.
  bool isWide = level.vectorBytes == 64;
  constexpr int64_t piece = 8;
  std::vector<double> pieces(llvm::divideCeil(units, piece), INFINITY);
  double peakTime = INFINITY;
  for (int round = 0; round < 60; ++round) {
    for (int sample = 0; sample < 4; ++sample)
      peakTime = std::min(peakTime, timeOf(isWide ? peakOf512 : peakOf256));
    for (auto [i, best] : llvm::enumerate(pieces)) {
      int64_t begin = int64_t(i) * piece, end = std::min(units, begin + piece);
      best = std::min(best, timeOf([&] { kernel(slices, begin, end, 0, nullptr); }));
    }
  }
  double time = std::accumulate(pieces.begin(), pieces.end(), 0.0);
  double ours = 2e-9 * double(m * n * k) / time;
  double peak = 2e-9 * double(peakSteps * chains * level.vectorBytes / 4) / peakTime;
  std::printf("{\"m\": %ld, \"n\": %ld, \"k\": %ld, \"element\": \"%s\", \"level\": \"%s\", "
              "\"gflops\": %.1f, \"peak\": %.1f, \"ratio\": %.4f}\n",
              m, n, k, bf16 ? "bf16" : "f32", level.name.str().c_str(), ours, peak, ours / peak);
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
    good &= measure(*level, /*bf16=*/false, size, size, size);
  // Sizes of batches of a training step, and a square.
  if (level->bf16Dots)
    for (auto [m, n, k] : {std::tuple(128, 512, 784), {1024, 1024, 1024}, {1000, 1000, 1000}})
      good &= measure(*level, /*bf16=*/true, m, n, k);
  else
    std::fprintf(stderr, "bf16: skipped, this machine lacks level x86-64-v4+bf16\n");
  return good ? 0 : 1;
}
