// Generates one image with all schedules, and measures it in a child process.
#include "compiler/tune/Trial.h"

#include "compiler/codegen/Codegen.h"
#include "dialects/grad/HostTensor.h"
#include "passes/schedule/KernelScratch.h"

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstring>
#include <dlfcn.h>
#include <memory>
#include <numeric>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace mlir;
using namespace gradc;
using Clock = std::chrono::steady_clock;
using Code = void (*)(void *const *slices, int64_t begin, int64_t end, int64_t rows, void *scratch);

namespace {

struct Free {
  void operator()(char *memory) const { std::free(memory); }
};
using Bytes = std::unique_ptr<char, Free>;

Bytes allocate(int64_t bytes) {
  bytes = int64_t(llvm::alignTo(bytes + 64, 64));
  Bytes memory(static_cast<char *>(std::aligned_alloc(64, size_t(bytes))));
  std::memset(memory.get(), 0, size_t(bytes));
  return memory;
}

/// Values between 1/4 and 1: nothing is subnormal or NaN, and sums do not cancel. Integers stay 0,
/// which is a valid index of any table; two of three booleans are true.
void fill(char *memory, Type element, int64_t bytes, unsigned seed) {
  int64_t count = bytes / grad::elementBytes(element);
  auto value = [&](int64_t i) {
    return 0.25 + 0.75 * double((i * 7919 + seed * 31) % 2003) / 2003;
  };
  for (int64_t i = 0; i < count; ++i)
    if (element.isF32())
      reinterpret_cast<float *>(memory)[i] = float(value(i));
    else if (element.isF64())
      reinterpret_cast<double *>(memory)[i] = value(i);
    else if (isa<FloatType>(element)) // upper half of f32, for f16 between 1/8 and 2
      reinterpret_cast<uint16_t *>(memory)[i] =
          element.isF16() ? uint16_t(0x3000 + (i * 7919 + seed) % 0x1000)
                          : uint16_t(llvm::bit_cast<uint32_t>(float(value(i))) >> 16);
    else if (element.isInteger(1))
      memory[i] = (i + seed) % 3 != 0;
}

/// One kernel with its schedules, compiled.
class Bench {
public:
  Bench(exec::KernelOp kernel, const exec::Level &level) : kernel(kernel), level(level) {}
  ~Bench() {
    if (image)
      dlclose(image);
  }

  /// The indices of the schedules that code generation takes.
  SmallVector<size_t> compile(ArrayRef<exec::ScheduleAttr> schedules);
  /// Times the compiled schedules, in the order of `compile`. Runs in the child process.
  std::vector<Trial> measure(bool isWarm, Clock::time_point deadline);

private:
  struct Variant {
    Code code;
    int64_t units, scratch;
  };

  bool load(ModuleOp module);
  void prepare();
  int64_t rowsOfRun();
  double time(const Variant &variant);
  void evict();
  bool comparesWell(Trial &trial, bool isFirst);
  void measureTogether(std::vector<Trial> &trials, ArrayRef<size_t> which, int rounds, bool isWarm);

  exec::KernelOp kernel;
  const exec::Level &level;
  std::vector<Variant> variants;
  void *image = nullptr;
  std::vector<Bytes> memory;
  SmallVector<void *> slices;
  std::vector<std::vector<char>> expected; ///< of each result
  Bytes scratch, cold;
  int64_t rows = 0;
};

SmallVector<size_t> Bench::compile(ArrayRef<exec::ScheduleAttr> schedules) {
  ScopedDiagnosticHandler quiet(kernel.getContext(), [](Diagnostic &) { return success(); });
  OwningOpRef<ModuleOp> all = ModuleOp::create(kernel.getLoc());
  OpBuilder builder = OpBuilder::atBlockEnd(all->getBody());
  CodegenOptions loops;
  loops.emit = EmitKind::mlir;
  SmallVector<size_t> taken;
  for (auto [i, schedule] : llvm::enumerate(schedules)) {
    OwningOpRef<ModuleOp> one = ModuleOp::create(kernel.getLoc());
    auto variant = cast<exec::KernelOp>(OpBuilder::atBlockEnd(one->getBody()).clone(*kernel));
    variant.setScheduleAttr(schedule);
    variant.setSymName(("variant" + Twine(i)).str());
    if (failed(variant.verifyRegions()) || failed(generateImage(*one, level, loops)))
      continue;
    builder.clone(*variant);
    taken.push_back(i);
  }
  return load(*all) ? taken : SmallVector<size_t>();
}

bool Bench::load(ModuleOp module) {
  FailureOr<std::string> bytes = generateImage(module, level, {});
  if (failed(bytes))
    return false;
  int file = memfd_create("gradc-trial", MFD_CLOEXEC);
  bool isWritten = write(file, bytes->data(), bytes->size()) == ssize_t(bytes->size());
  std::string path = "/proc/self/fd/" + std::to_string(file);
  image = isWritten ? dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
  close(file);
  if (!image)
    return false;
  for (auto variant : module.getOps<exec::KernelOp>())
    variants.push_back({reinterpret_cast<Code>(dlsym(image, kernelSymbol(variant).c_str())),
                        exec::kernelUnits(variant), kernelScratch(variant, level)});
  return true;
}

/// A whole batch, for kernels that take any number of rows, or sum over them.
int64_t Bench::rowsOfRun() {
  auto rowsOf = [](RankedTensorType type, ArrayRef<int64_t> extents) -> int64_t {
    for (auto [size, each] : llvm::zip_equal(type.getShape(), extents))
      if (each > 0)
        return size / each;
    return 0;
  };
  if (auto rows = kernel.getRows())
    if (int64_t found = rowsOf(kernel.getRoot(), *rows))
      return found;
  for (BlockArgument operand : kernel.getBlock().getArguments())
    if (int64_t found = rowsOf(cast<RankedTensorType>(operand.getType()),
                               kernel.getExtentsOf(operand.getArgNumber())))
      return found;
  return 0;
}

void Bench::prepare() {
  unsigned operands = kernel.getBlock().getNumArguments(), i = 0;
  for (Value v : llvm::concat<Value>(llvm::to_vector_of<Value>(kernel.getBlock().getArguments()),
                                     llvm::to_vector_of<Value>(kernel.getYielded()))) {
    auto type = cast<RankedTensorType>(v.getType());
    int64_t bytes = exec::layoutBytes(type, kernel.getLayout(i));
    memory.push_back(allocate(bytes));
    slices.push_back(memory.back().get());
    if (i++ < operands)
      fill(memory.back().get(), type.getElementType(), bytes, i);
    else
      expected.emplace_back(size_t(bytes));
  }
  int64_t most = 0;
  for (const Variant &variant : variants)
    most = std::max(most, variant.scratch);
  scratch = allocate(most);
  cold = allocate(2 * level.l2Bytes);
  rows = rowsOfRun();
}

double Bench::time(const Variant &variant) {
  Clock::time_point begin = Clock::now();
  variant.code(slices.data(), 0, variant.units, rows, scratch.get());
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Fills the L2 cache with other data.
void Bench::evict() {
  for (int64_t i = 0; i < 2 * level.l2Bytes; i += level.lineBytes)
    ++cold.get()[i];
}

/// Compares the results in memory with those of the first schedule.
bool Bench::comparesWell(Trial &trial, bool isFirst) {
  constexpr double tolerance = 1e-4, halfTolerance = 2e-2; // of the largest result
  trial.sameBits = true;
  size_t operands = slices.size() - expected.size();
  for (auto [i, bytes] : llvm::enumerate(expected)) {
    char *found = memory[operands + i].get();
    if (isFirst)
      std::memcpy(bytes.data(), found, bytes.size());
    if (std::memcmp(bytes.data(), found, bytes.size()) == 0)
      continue;
    trial.sameBits = false;
    auto type = cast<RankedTensorType>(kernel.getYielded()[i].getType());
    if (!isa<FloatType>(type.getElementType()))
      return false;
    auto flat = RankedTensorType::get(
        {int64_t(bytes.size()) / grad::elementBytes(type.getElementType())}, type.getElementType());
    grad::HostTensor a(flat, bytes), b(flat, ArrayRef(found, bytes.size()));
    double difference = 0, largest = 0;
    for (int64_t e = 0; e < flat.getNumElements(); ++e) {
      double x = a.getFloat(e), y = b.getFloat(e);
      if (!std::isfinite(x) || !std::isfinite(y)) {
        if (x != y && !(std::isnan(x) && std::isnan(y)))
          return false;
        continue;
      }
      difference = std::max(difference, std::abs(x - y));
      largest = std::max(largest, std::abs(x));
    }
    bool isShort = type.getElementTypeBitWidth() < 32;
    if (difference > (isShort ? halfTolerance : tolerance) * largest)
      return false;
  }
  return true;
}

/// Sets the seconds of these trials to the medians of interleaved rounds.
void Bench::measureTogether(std::vector<Trial> &trials, ArrayRef<size_t> which, int rounds,
                            bool isWarm) {
  constexpr double shortest = 20e-6; // so long is a sample, at least
  std::vector<std::vector<double>> samples(trials.size());
  for (int round = 0; round < rounds; ++round)
    for (size_t i : which) {
      int launches = std::clamp(int(shortest / std::max(trials[i].seconds, 1e-9)), 1, 1000);
      double seconds = 0;
      for (int launch = 0; launch < launches; ++launch) {
        if (!isWarm)
          evict();
        seconds += time(variants[i]);
      }
      samples[i].push_back(seconds / launches);
    }
  for (size_t i : which) {
    auto middle = samples[i].begin() + rounds / 2;
    std::nth_element(samples[i].begin(), middle, samples[i].end());
    trials[i].seconds = *middle;
  }
}

std::vector<Trial> Bench::measure(bool isWarm, Clock::time_point deadline) {
  constexpr double tooSlow = 1.3; // times the first schedule
  constexpr size_t finalists = 3;
  prepare();
  size_t operands = slices.size() - expected.size();
  std::vector<Trial> trials(variants.size());
  std::vector<size_t> kept;
  for (size_t i = 0; i < variants.size() && (i == 0 || Clock::now() < deadline); ++i) {
    for (auto [result, bytes] : llvm::enumerate(expected))
      std::memset(memory[operands + result].get(), 0, bytes.size());
    double seconds = time(variants[i]);
    if (!comparesWell(trials[i], i == 0))
      continue;
    trials[i].seconds = std::min(seconds, time(variants[i]));
    if (trials[i].seconds > tooSlow * trials[0].seconds)
      trials[i].seconds = 0;
    else
      kept.push_back(i);
  }
  measureTogether(trials, kept, /*rounds=*/3, isWarm);
  llvm::sort(kept, [&](size_t a, size_t b) { return trials[a].seconds < trials[b].seconds; });
  for (size_t i : ArrayRef(kept).drop_front(std::min(kept.size(), finalists)))
    if (i != 0)
      trials[i].seconds = 0;
  llvm::erase_if(kept, [&](size_t i) { return trials[i].seconds == 0; });
  measureTogether(trials, kept, /*rounds=*/11, isWarm);
  return trials;
}

/// Calls `body` in a child process and returns its trials; `count` empty trials if the child
/// crashes.
std::vector<Trial> inChild(size_t count, llvm::function_ref<std::vector<Trial>()> body) {
  std::vector<Trial> trials(count);
  size_t bytes = count * sizeof(Trial);
  void *shared = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED)
    return trials;
  constexpr unsigned longest = 120; // seconds; then the child ends
  pid_t child = fork();
  if (child == 0) {
    for (int fatal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT})
      std::signal(fatal, SIG_DFL); // without LLVM's report
    alarm(longest);
    std::vector<Trial> found = body();
    std::memcpy(shared, found.data(), bytes);
    _exit(0);
  }
  int status = 1;
  while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
    ;
  if (child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0)
    std::memcpy(trials.data(), shared, bytes);
  munmap(shared, bytes);
  return trials;
}

} // namespace

std::vector<Trial> gradc::tryOut(exec::KernelOp kernel, ArrayRef<exec::ScheduleAttr> schedules,
                                 const exec::Level &level, bool isWarm,
                                 Clock::time_point deadline) {
  std::vector<Trial> trials(schedules.size());
  Bench bench(kernel, level);
  SmallVector<size_t> compiled = bench.compile(schedules);
  if (compiled.empty() || compiled.front() != 0)
    return trials;
  std::vector<Trial> found =
      inChild(compiled.size(), [&] { return bench.measure(isWarm, deadline); });
  for (auto [i, trial] : llvm::zip_equal(compiled, found))
    trials[i] = trial;
  return trials;
}
