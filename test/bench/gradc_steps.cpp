// One measurement of gradc, one JSON line, as peers/run.py measures its peers: twenty batches
// cycled from memory, the losses of the warm-up, the median over chunks of about 50 ms.
//
//   gradc-steps ARTIFACT DATA_DIR [--threads N] [--seconds S] [--warm-up STEPS]
#include "runtime/core/Session.h"
#include "runtime/train/loop/Phase.h"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>

using namespace gradc::runtime;

namespace {

constexpr size_t batchCount = 20;
using Clock = std::chrono::steady_clock;

double milliseconds(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

[[noreturn]] void fail(const Status &status) {
  std::fprintf(stderr, "gradc-steps: %s\n", status.message().c_str());
  std::exit(int(status.code()));
}

void check(const Status &status) {
  if (!status.ok())
    fail(status);
}

template <typename T> T take(Result<T> result) {
  check(result.status());
  return std::move(*result);
}

/// The train entry of an artifact, and twenty batches in memory.
class Steps {
public:
  Steps(const std::string &path, const std::string &folder, int threads)
      : session(take(Session::create(take(Artifact::open(path)), {threads, ""}))) {
    TrainOptions options;
    options.dataFolder = folder;
    job = take(Job::read(session->artifact(), options));
    std::string name = "train";
    train = take(Phase::make(*session, {&name, 1}, job.data, job));
    auto iterator = train.dataset->iterate();
    for (size_t i = 0; i < batchCount; ++i) {
      batches.push_back(train.dataset->allocate());
      check(iterator->next(batches.back()));
    }
  }

  float run(size_t index) {
    check(train.entries[0].whole->run(
        batches[index % batchCount],
        {.learningRate = float(job.learningRate), .step = int64_t(index + 1), .seed = job.seed}));
    return train.entries[0].whole->loss();
  }

private:
  std::unique_ptr<Session> session;
  Job job;
  Phase train;
  std::vector<Batch> batches;
};

/// Binds the process to the last CPU that it may use, as peers/run.py does.
void pinToOneCpu() {
  cpu_set_t set;
  sched_getaffinity(0, sizeof set, &set);
  int last = CPU_SETSIZE - 1;
  while (last > 0 && !CPU_ISSET(last, &set))
    --last;
  CPU_ZERO(&set);
  CPU_SET(last, &set);
  sched_setaffinity(0, sizeof set, &set);
}

/// MiB of this process at its peak. Not getrusage's figure, which includes the parent's peak.
double mostResident() {
  constexpr std::string_view key = "VmHWM:";
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(key))
      return std::stod(line.substr(key.size())) / 1024;
  std::fprintf(stderr, "error: /proc/self/status has no VmHWM\n");
  std::exit(1);
}

} // namespace

int main(int argc, char **argv) {
  int threads = 1;
  double seconds = 4;
  size_t warmUp = 20;
  for (int i = 3; i + 1 < argc; i += 2) {
    if (!std::strcmp(argv[i], "--threads"))
      threads = std::atoi(argv[i + 1]);
    else if (!std::strcmp(argv[i], "--seconds"))
      seconds = std::atof(argv[i + 1]);
    else if (!std::strcmp(argv[i], "--warm-up"))
      warmUp = size_t(std::atoi(argv[i + 1]));
  }
  if (argc < 3) {
    std::fprintf(stderr, "usage: gradc-steps ARTIFACT DATA_DIR [--threads N] [--seconds S] "
                         "[--warm-up STEPS]\n");
    return 2;
  }
  if (threads == 1)
    pinToOneCpu();

  double before = mostResident();
  auto start = Clock::now();
  Steps steps(argv[1], argv[2], threads);
  std::vector<float> losses;
  size_t index = 0;
  losses.push_back(steps.run(index++));
  double first = milliseconds(start);
  while (index < warmUp)
    losses.push_back(steps.run(index++));
  std::vector<float> firstLosses = losses;

  auto estimate = Clock::now();
  for (int i = 0; i < 3; ++i)
    steps.run(index++);
  double estimated = milliseconds(estimate) / 3;
  size_t chunk = std::max<size_t>(1, size_t(50 / estimated)), least = estimated < 1e3 ? 5 : 3;
  std::vector<double> times;
  for (auto begin = Clock::now(); times.size() < least || milliseconds(begin) < seconds * 1e3;) {
    losses.clear();
    auto chunkBegin = Clock::now();
    for (size_t i = 0; i < chunk; ++i)
      losses.push_back(steps.run(index++));
    times.push_back(milliseconds(chunkBegin) / double(chunk));
  }
  std::sort(times.begin(), times.end());
  std::printf(
      "{\"peer\": \"gradc\", \"threads\": %d, \"ms\": %.5f, \"ms_p10\": %.5f, \"ms_p90\": %.5f, "
      "\"steps\": %zu, \"first_step_s\": %.4f, \"rss_mb\": %.1f, \"before_mb\": %.1f, \"losses\": "
      "[",
      threads, times[times.size() / 2], times[times.size() / 10], times[times.size() * 9 / 10],
      times.size() * chunk, first / 1e3, mostResident(), before);
  for (size_t i = 0; i < firstLosses.size(); ++i)
    std::printf("%s%.9g", i ? ", " : "", firstLosses[i]);
  std::printf("]}\n");
}
