// One measurement of gradc, one JSON line, as peers/run.py measures its peers: twenty batches
// cycled from memory, the loss of every step kept, the median over chunks of about 50 ms.
//
//   gradc-steps ARTIFACT DATA_DIR [--threads N] [--seconds S]
#include "runtime/core/Config.h"
#include "runtime/core/Session.h"
#include "runtime/data/Stages.h"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace gradc;

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

template <typename T> T take(Result<T> result) {
  if (!result)
    fail(result.status());
  return std::move(*result);
}

/// The train entry with its inputs bound to twenty batches in memory.
class Steps {
public:
  Steps(const std::string &path, const std::string &folder, int threads)
      : session(take(Session::create(take(Artifact::open(path)), {threads, ""}))),
        artifact(session->artifact()), entry(session->findEntry("train")) {
    if (!entry)
      fail(Status::invalid("expected an artifact with a train entry"));
    loadBatches(folder);
    bindPorts();
  }

  float run(size_t index) {
    step = float(index + 1);
    size_t data = 0;
    for (size_t port : dataPorts)
      inputs[port] = batches[index % batchCount].field(data++);
    if (Status status = session->run(*entry, inputs, outputs); !status.ok())
      fail(status);
    return loss;
  }

private:
  std::span<const gradc_artifact_port> ports(gradc_range range) const {
    return artifact.elements<gradc_artifact_port>(range);
  }

  void loadBatches(const std::string &folder) {
    DataContext context;
    context.folders = {folder};
    for (const gradc_artifact_port &port : ports(entry->inputs))
      if (port.role == GRADC_ROLE_DATA) {
        auto shape = artifact.elements<int64_t>(port.tensor.shape);
        context.demands.push_back({std::string(artifact.string(port.field)),
                                   std::string(artifact.string(port.tensor.name)),
                                   gradc_dtype(port.tensor.dtype),
                                   {shape.begin() + 1, shape.end()},
                                   port.classes});
      }
    dataset = take(makeDataset(Config::job(artifact).child("data"), context));
    auto iterator = dataset->iterate();
    for (size_t i = 0; i < batchCount; ++i) {
      batches.push_back(dataset->allocate());
      if (Status status = iterator->next(batches.back()); !status.ok())
        fail(status);
    }
  }

  void bindPorts() {
    Config optimizer = Config::job(artifact).child("optimizer");
    learningRate = float(optimizer.children().front().real("learning_rate", 1e-3));
    for (const gradc_artifact_port &port : ports(entry->inputs)) {
      if (port.role == GRADC_ROLE_DATA)
        dataPorts.push_back(inputs.size());
      inputs.push_back(port.role == GRADC_ROLE_LEARNING_RATE ? static_cast<void *>(&learningRate)
                       : port.role == GRADC_ROLE_STEP        ? &step
                                                             : nullptr);
    }
    for (const gradc_artifact_port &port : ports(entry->outputs))
      outputs.push_back(port.role == GRADC_ROLE_LOSS ? &loss : nullptr);
  }

  std::unique_ptr<Session> session;
  const Artifact &artifact;
  const gradc_artifact_entry *entry;
  std::shared_ptr<const Dataset> dataset;
  std::vector<Batch> batches;
  std::vector<size_t> dataPorts;
  std::vector<const void *> inputs;
  std::vector<void *> outputs;
  float learningRate = 0, step = 0, loss = 0;
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

} // namespace

int main(int argc, char **argv) {
  int threads = 1;
  double seconds = 4;
  for (int i = 3; i + 1 < argc; i += 2) {
    if (!std::strcmp(argv[i], "--threads"))
      threads = std::atoi(argv[i + 1]);
    else if (!std::strcmp(argv[i], "--seconds"))
      seconds = std::atof(argv[i + 1]);
  }
  if (argc < 3) {
    std::fprintf(stderr, "usage: gradc-steps ARTIFACT DATA_DIR [--threads N] [--seconds S]\n");
    return 2;
  }
  if (threads == 1)
    pinToOneCpu();

  auto start = Clock::now();
  Steps steps(argv[1], argv[2], threads);
  std::vector<float> losses;
  size_t index = 0;
  losses.push_back(steps.run(index++));
  double first = milliseconds(start);
  while (index < batchCount)
    losses.push_back(steps.run(index++));
  std::vector<float> firstLosses = losses;

  auto estimate = Clock::now();
  for (int i = 0; i < 20; ++i)
    steps.run(index++);
  size_t chunk = std::max<size_t>(1, size_t(50 / (milliseconds(estimate) / 20)));
  std::vector<double> times;
  for (auto begin = Clock::now(); times.size() < 5 || milliseconds(begin) < seconds * 1e3;) {
    losses.clear();
    auto chunkBegin = Clock::now();
    for (size_t i = 0; i < chunk; ++i)
      losses.push_back(steps.run(index++));
    times.push_back(milliseconds(chunkBegin) / double(chunk));
  }
  std::sort(times.begin(), times.end());
  std::printf(
      "{\"peer\": \"gradc\", \"threads\": %d, \"ms\": %.5f, \"ms_p10\": %.5f, \"ms_p90\": %.5f, "
      "\"steps\": %zu, \"first_step_s\": %.4f, \"losses\": [",
      threads, times[times.size() / 2], times[times.size() / 10], times[times.size() * 9 / 10],
      times.size() * chunk, first / 1e3);
  for (size_t i = 0; i < firstLosses.size(); ++i)
    std::printf("%s%.9g", i ? ", " : "", firstLosses[i]);
  std::printf("]}\n");
}
