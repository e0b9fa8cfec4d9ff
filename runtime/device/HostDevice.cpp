// The host: a team of threads calls the kernels, and memory is the process's own.
#include "runtime/base/ThreadTeam.h"
#include "runtime/device/Device.h"
#include "runtime/device/Image.h"
#include "runtime/device/WorkShare.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <sys/mman.h>
#include <xmmintrin.h>

using namespace gradc::runtime;

namespace {

using Kernel = void (*)(void *const *slices, int64_t begin, int64_t end);

struct HostLevel {
  const char *name;
  bool (*executes)();
};

// Lowest first. The compiler's builtin also checks that the operating system saves the registers.
constexpr HostLevel hostLevels[] = {
    {"x86-64-v3",
     [] {
       return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
              __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
              __builtin_cpu_supports("f16c") && __builtin_cpu_supports("lzcnt") &&
              __builtin_cpu_supports("movbe");
     }},
    {"x86-64-v4",
     [] {
       return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
              __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
              __builtin_cpu_supports("avx512vl");
     }},
    {"x86-64-v4+bf16", [] { return bool(__builtin_cpu_supports("avx512bf16")); }},
};

/// Kernels run with default rounding, and with denormals read and written as 0, whatever mode the
/// calling program has set (and its threads have inherited): the bits must not depend on it.
class DefaultFloatingPoint {
public:
  // A denormal costs the processor 100 cycles or more, and the moments of a unit that no longer
  // fires decay into denormals for good.
  DefaultFloatingPoint() : saved(_mm_getcsr()) { _mm_setcsr(masked | flushed); }
  ~DefaultFloatingPoint() { _mm_setcsr(saved); }

private:
  static constexpr unsigned masked = 0x1f80, flushed = 0x8040;
  unsigned saved;
};

void call(const Launch &launch, int64_t begin, int64_t end) {
  reinterpret_cast<Kernel>(launch.kernel)(launch.slices, begin, end);
}

int64_t now() {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

class HostDevice final : public Device {
public:
  explicit HostDevice(std::unique_ptr<ThreadTeam> team) : team(std::move(team)) {}

  bool executes(std::string_view level) const override;
  std::string describe() const override;
  bool sharesHostMemory() const override { return true; }

  void *allocate(uint64_t bytes) override;
  void release(void *memory, uint64_t bytes) override {
    munmap(memory, std::max<uint64_t>(bytes, 1));
  }
  Status copyIn(void *device, const void *host, uint64_t bytes) override {
    std::memcpy(device, host, bytes);
    return {};
  }
  Status copyOut(void *host, const void *device, uint64_t bytes) override {
    std::memcpy(host, device, bytes);
    return {};
  }

  Result<std::unique_ptr<Image>> load(std::span<const std::byte> code) override {
    return openElfImage(code);
  }
  Status launch(std::span<const Launch> launches, int64_t *times) override;
  Status synchronize() override { return {}; }

private:
  /// More units than a share can count are not split.
  int64_t sharesOf(const Launch &launch) const {
    return launch.units <= UINT32_MAX ? std::min<int64_t>(launch.shares, team->size()) : 1;
  }
  void share(std::span<const Launch> launches);
  void walk(std::span<const Launch> launches, unsigned thread, int64_t *times);
  void runShare(const Launch &launch, std::span<WorkShare> row, unsigned thread);

  std::unique_ptr<ThreadTeam> team;
  std::vector<WorkShare> shares; ///< [launch][thread]
};

bool HostDevice::executes(std::string_view level) const {
  for (const HostLevel &known : hostLevels) {
    if (!known.executes())
      return false;
    if (known.name == level)
      return true;
  }
  return false;
}

std::string HostDevice::describe() const {
  std::string highest = "none of the known levels";
  for (const HostLevel &known : hostLevels)
    if (executes(known.name))
      highest = known.name;
  return highest;
}

void *HostDevice::allocate(uint64_t bytes) {
  bytes = std::max<uint64_t>(bytes, 1);
  void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return nullptr;
  constexpr uint64_t hugePage = 2 << 20;
  if (bytes >= hugePage)
    madvise(memory, bytes, MADV_HUGEPAGE);
  return memory;
}

Status HostDevice::launch(std::span<const Launch> launches, int64_t *times) {
  if (times)
    times[0] = now(); // the first launch's time includes the wait for the team
  bool splits = team->size() > 1 && std::any_of(launches.begin(), launches.end(),
                                                [](const Launch &l) { return l.shares > 1; });
  if (splits) {
    share(launches);
    team->run([&](unsigned thread) { walk(launches, thread, thread ? nullptr : times); });
  } else {
    DefaultFloatingPoint guard;
    for (size_t i = 0; i < launches.size(); ++i) {
      if (times && i)
        times[i] = now();
      call(launches[i], 0, launches[i].units);
    }
  }
  if (times)
    times[launches.size()] = now();
  return {};
}

void HostDevice::share(std::span<const Launch> launches) {
  if (shares.size() < launches.size() * team->size())
    shares = std::vector<WorkShare>(launches.size() * team->size());
  for (size_t i = 0; i < launches.size(); ++i)
    for (int64_t count = sharesOf(launches[i]), thread = 0; count > 1 && thread < count; ++thread)
      shares[i * team->size() + size_t(thread)].set(
          {uint32_t(launches[i].units * thread / count),
           uint32_t(launches[i].units * (thread + 1) / count)});
}

/// Every thread walks all launches, runs its share of each, then the rest of other shares. A unit's
/// result does not depend on the thread that computes it.
void HostDevice::walk(std::span<const Launch> launches, unsigned thread, int64_t *times) {
  DefaultFloatingPoint guard;
  for (size_t i = 0; i < launches.size(); ++i) {
    const Launch &launch = launches[i];
    if (launch.waits)
      team->barrier(thread);
    if (times && i)
      times[i] = now();
    int64_t count = sharesOf(launch);
    if (count > 1 && thread < count)
      runShare(launch, {&shares[i * team->size()], size_t(count)}, thread);
    else if (thread == 0)
      call(launch, 0, launch.units);
  }
}

/// A thread whose CPU is slower, or is taken away for a while, does not keep the others waiting.
void HostDevice::runShare(const Launch &launch, std::span<WorkShare> row, unsigned thread) {
  auto least = uint32_t(launch.units / launch.shares);
  while (auto own = row[thread].takeFront(least))
    call(launch, own->begin, own->end);
  for (size_t i = 1; i < row.size(); ++i)
    while (auto left = row[(thread + i) % row.size()].takeBack(least))
      call(launch, left->begin, left->end);
}

} // namespace

void gradc::runtime::launchHere(std::span<const Launch> launches) {
  DefaultFloatingPoint guard;
  for (const Launch &launch : launches)
    call(launch, 0, launch.units);
}

Result<std::unique_ptr<Device>> gradc::runtime::createHostDevice(int threads) {
  auto team = ThreadTeam::create(threads == 0 ? int(ThreadTeam::availableCpus()) : threads);
  if (!team)
    return team.status();
  return std::unique_ptr<Device>(new HostDevice(std::move(*team)));
}
