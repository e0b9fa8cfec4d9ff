// The host as a device: a team of threads calls the kernels, and device memory is process memory.
#include "runtime/base/Pages.h"
#include "runtime/base/Text.h"
#include "runtime/base/ThreadTeam.h"
#include "runtime/device/Device.h"
#include "runtime/device/Image.h"
#include "runtime/device/RankSums.h"
#include "runtime/device/TeamChoice.h"
#include "runtime/device/WorkShare.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <xmmintrin.h>

using namespace gradc::runtime;

namespace {

using Kernel = void (*)(void *const *slices, int64_t begin, int64_t end, int64_t rows,
                        void *scratch);

struct HostLevel {
  const char *name;
  std::string (*lacks)(); ///< what of it this machine has not; "": it executes the level
};

void addIfMissing(std::string &missing, bool isThere, const char *feature) {
  if (!isThere)
    missing += text(missing.empty() ? "" : ", ", feature);
}

// The compiler's builtin, which takes only literals, also checks that the operating system saves
// the registers.
#define GRADC_NEEDS(FEATURE) addIfMissing(missing, __builtin_cpu_supports(FEATURE), FEATURE)

/// Asks Linux to save AMX's registers, once for the process: without, their first use is a fault.
bool requestTiles() {
  constexpr long requestPermission = 0x1023, tileData = 18; // ARCH_REQ_XCOMP_PERM
  static const bool granted = syscall(SYS_arch_prctl, requestPermission, tileData) == 0;
  return granted;
}

// Ordered from the lowest level to the highest.
constexpr HostLevel hostLevels[] = {{"x86-64-v3",
                                     [] {
                                       std::string missing;
                                       GRADC_NEEDS("avx2");
                                       GRADC_NEEDS("fma");
                                       GRADC_NEEDS("bmi");
                                       GRADC_NEEDS("bmi2");
                                       GRADC_NEEDS("f16c");
                                       GRADC_NEEDS("lzcnt");
                                       GRADC_NEEDS("movbe");
                                       return missing;
                                     }},
                                    {"x86-64-v4",
                                     [] {
                                       std::string missing;
                                       GRADC_NEEDS("avx512f");
                                       GRADC_NEEDS("avx512bw");
                                       GRADC_NEEDS("avx512cd");
                                       GRADC_NEEDS("avx512dq");
                                       GRADC_NEEDS("avx512vl");
                                       return missing;
                                     }},
                                    {"x86-64-v4+bf16",
                                     [] {
                                       std::string missing;
                                       GRADC_NEEDS("avx512bf16");
                                       GRADC_NEEDS("avx512vnni");
                                       return missing;
                                     }},
                                    {"x86-64-v4+amx", [] {
                                       std::string missing;
                                       GRADC_NEEDS("amx-tile");
                                       GRADC_NEEDS("amx-bf16");
                                       if (missing.empty())
                                         addIfMissing(missing, requestTiles(),
                                                      "the system's permission to use amx-tile");
                                       return missing;
                                     }}};
#undef GRADC_NEEDS

/// Makes kernels run with default rounding and with denormals flushed to 0 on input and output,
/// whatever mode the calling program has set (and its threads have inherited). Results must not
/// depend on that mode.
class DefaultFloatingPoint {
public:
  // An operation on a denormal costs 100 cycles or more, and the optimizer moments of a unit that
  // no longer fires decay into denormals for good.
  DefaultFloatingPoint() : saved(_mm_getcsr()) { _mm_setcsr(masked | flushed); }
  ~DefaultFloatingPoint() { _mm_setcsr(saved); }

private:
  static constexpr unsigned masked = 0x1f80, flushed = 0x8040;
  unsigned saved;
};

/// Runs units [begin, end) of a launch on `slices`, on the given thread of the team.
void call(const Launch &launch, void *const *slices, int64_t begin, int64_t end, unsigned thread) {
  if (launch.kind == Launch::Kind::copy) {
    if (slices[0] != slices[1]) // else an output has the memory of an input
      std::memcpy(static_cast<std::byte *>(slices[1]) + begin,
                  static_cast<const std::byte *>(slices[0]) + begin, size_t(end - begin));
  } else {
    reinterpret_cast<Kernel>(launch.kernel)(slices, begin, end, launch.rows,
                                            launch.scratch + thread * launch.scratchBytes);
  }
}

/// Runs a whole launch on the first thread.
void runAlone(const Launch &launch, void *const *slices, RankSums &sums) {
  if (launch.kind == Launch::Kind::collective)
    sums.start(launch, slices);
  else if (launch.units > 0)
    call(launch, slices, launch.first, launch.first + launch.units, 0);
}

/// How often threads of this process were preempted.
int64_t preemptions() {
  rusage usage;
  return getrusage(RUSAGE_SELF, &usage) == 0 ? usage.ru_nivcsw : 0;
}

int64_t now() {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Runs a whole schedule on the calling thread. `copy`: storage for slices that move.
Status runHere(const Schedule &schedule, std::vector<void *> &copy, Profile *profile) {
  DefaultFloatingPoint guard;
  ScheduleWalk walk(schedule, copy);
  RankSums sums(schedule.ranks);
  while (const Step *piece = walk.next(numberIn, [](const Step &) {})) {
    for (const Launch &launch : piece->launches) {
      if (profile) {
        profile->paths.push_back(walk.path(launch));
        profile->times.push_back(now());
      }
      sums.waitFor(launch.awaits);
      runAlone(launch, walk.slices(launch), sums);
      sums.progress();
    }
    sums.endPiece();
  }
  return sums.status().ok() ? walk.status() : sums.status();
}

class HostDevice final : public Device {
public:
  HostDevice(std::unique_ptr<ThreadTeam> team, Pages &pages)
      : team(std::move(team)), pages(pages) {}

  bool executes(std::string_view level) const override;
  std::string describe() const override;
  bool sharesHostMemory() const override { return true; }
  unsigned threads() const override { return unsigned(team->size()); }

  void *allocate(uint64_t bytes) override { return privatePages().allocate(bytes); }
  void release(void *memory, uint64_t bytes) override { privatePages().release(memory, bytes); }
  std::shared_ptr<std::byte> allocateShared(uint64_t bytes) override {
    auto *memory = static_cast<std::byte *>(pages.allocate(bytes));
    if (!memory)
      return nullptr;
    return {memory, [bytes, &pages = pages](std::byte *memory) { pages.release(memory, bytes); }};
  }
  void forgetPages(void *memory, uint64_t bytes) override { pages.discard(memory, bytes); }
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
  using Device::launch;
  Status launch(const Schedule &schedule, Profile *profile) override;
  void forEach(int64_t count, const std::function<void(unsigned, int64_t)> &work) override;
  Status synchronize() override { return {}; }

private:
  /// A launch of more units than a share can count is not split.
  int64_t sharesOf(const Launch &launch) const {
    return launch.units <= UINT32_MAX ? std::min<int64_t>(launch.shares, team->size()) : 1;
  }
  void share(const Launch &launch, size_t index, unsigned thread);
  Status runTogether(const Schedule &schedule, unsigned thread, Profile *profile);
  void runShare(const Launch &launch, void *const *slices, std::span<WorkShare> row,
                unsigned thread);

  std::unique_ptr<ThreadTeam> team;
  Pages &pages; ///< of shared memory
  TeamChoice choice{preemptions};
  std::vector<WorkShare> shares;           ///< [launch][thread]
  std::vector<std::vector<void *>> copies; ///< [thread]: of slices, in schedules where some move
};

bool HostDevice::executes(std::string_view level) const {
  for (const HostLevel &known : hostLevels) {
    if (!known.lacks().empty())
      return false;
    if (known.name == level)
      return true;
  }
  return false;
}

std::string HostDevice::describe() const {
  std::string highest = "none of the known levels";
  for (const HostLevel &known : hostLevels) {
    if (std::string missing = known.lacks(); !missing.empty())
      return text(highest, " (for ", known.name, " it lacks ", missing, ')');
    highest = known.name;
  }
  return highest;
}

Status HostDevice::launch(const Schedule &schedule, Profile *profile) {
  const int64_t begin = now(); // the first launch's time includes the wait
  if (profile)
    profile->clear();
  bool splits = team->size() > 1 && !team->isForked() &&
                std::any_of(schedule.launches.begin(), schedule.launches.end(),
                            [](const Launch &launch) { return launch.shares > 1; });
  copies.resize(team->size());
  Status status;
  if (splits && choice.together()) {
    if (shares.size() < schedule.launches.size() * team->size())
      shares = std::vector<WorkShare>(schedule.launches.size() * team->size());
    for (size_t i = 0; i < schedule.launches.size(); ++i)
      for (unsigned thread = 0; thread < sharesOf(schedule.launches[i]); ++thread)
        share(schedule.launches[i], i, thread);
    team->run([&](unsigned thread) {
      Status walked = runTogether(schedule, thread, thread ? nullptr : profile);
      if (thread == 0)
        status = std::move(walked);
    });
  } else {
    status = runHere(schedule, copies[0], profile);
  }
  if (profile) {
    profile->times.push_back(now());
    profile->times.front() = begin;
  }
  if (splits)
    choice.ran(schedule, now() - begin);
  return status;
}

void HostDevice::forEach(int64_t count, const std::function<void(unsigned, int64_t)> &work) {
  if (team->isForked()) {
    for (int64_t i = 0; i < count; ++i)
      work(0, i);
    return;
  }
  std::atomic<int64_t> next{team->size()};
  team->run([&](unsigned thread) {
    for (int64_t i = thread; i < count; i = next.fetch_add(1))
      work(thread, i);
  });
}

/// Assigns a thread its initial part of a launch's units.
void HostDevice::share(const Launch &launch, size_t index, unsigned thread) {
  int64_t count = sharesOf(launch);
  if (count > 1 && thread < count)
    shares[index * team->size() + thread].set(
        {uint32_t(launch.units * thread / count), uint32_t(launch.units * (thread + 1) / count)});
}

/// Every thread walks the whole schedule. It runs its own share of each launch, then takes units
/// from other threads' shares. The result of a unit does not depend on the thread that computes it.
/// All threads read a condition or a count between two barriers, so they agree on it. The shares of
/// a loop iteration are also set between two barriers: no thread still takes units of the previous
/// iteration, and none takes from a share before it is set.
Status HostDevice::runTogether(const Schedule &schedule, unsigned thread, Profile *profile) {
  DefaultFloatingPoint guard;
  ScheduleWalk walk(schedule, copies[thread]);
  auto indexOf = [&](const Launch &launch) { return size_t(&launch - schedule.launches.data()); };
  auto read = [&](const void *bytes, uint32_t size) {
    team->barrier(thread);
    int64_t number = numberIn(bytes, size);
    team->barrier(thread);
    return number;
  };
  auto iterate = [&](const Step &loop) {
    team->barrier(thread);
    for (const Launch &launch : loop.launches)
      share(launch, indexOf(launch), thread);
    team->barrier(thread);
  };
  RankSums sums(schedule.ranks); // only the first thread starts collectives
  while (const Step *piece = walk.next(read, iterate)) {
    for (const Launch &launch : piece->launches) {
      if (launch.waits)
        team->barrier(thread);
      if (profile) {
        profile->paths.push_back(walk.path(launch));
        profile->times.push_back(now());
      }
      if (launch.awaits && sums.needed()) {
        if (thread == 0)
          sums.waitFor(launch.awaits);
        team->barrier(thread);
      }
      void *const *slices = walk.slices(launch);
      int64_t count = sharesOf(launch);
      if (count > 1 && thread < count)
        runShare(launch, slices, {&shares[indexOf(launch) * team->size()], size_t(count)}, thread);
      else if (thread == 0)
        runAlone(launch, slices, sums);
      if (thread == 0)
        sums.progress();
    }
    if (thread == 0)
      sums.endPiece();
  }
  return sums.status().ok() ? walk.status() : sums.status();
}

/// Idle threads take over the units of a slow or preempted thread.
void HostDevice::runShare(const Launch &launch, void *const *slices, std::span<WorkShare> row,
                          unsigned thread) {
  auto least = uint32_t(launch.units / launch.shares);
  while (auto own = row[thread].takeFront(std::max(least, launch.together)))
    call(launch, slices, launch.first + own->begin, launch.first + own->end, thread);
  for (size_t i = 1; i < row.size(); ++i)
    while (auto left = row[(thread + i) % row.size()].takeBack(least))
      call(launch, slices, launch.first + left->begin, launch.first + left->end, thread);
}

} // namespace

Status gradc::runtime::launchHere(const Schedule &schedule, Profile *profile) {
  std::vector<void *> copy;
  if (profile)
    profile->clear();
  Status status = runHere(schedule, copy, profile);
  if (profile)
    profile->times.push_back(now());
  return status;
}

Result<std::unique_ptr<Device>> gradc::runtime::createHostDevice(int threads, Pages *pages) {
  auto team = ThreadTeam::create(threads == 0 ? int(ThreadTeam::availableCpus()) : threads);
  if (!team)
    return team.status();
  return std::unique_ptr<Device>(new HostDevice(std::move(*team), pages ? *pages : privatePages()));
}
