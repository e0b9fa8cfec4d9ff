// Prepares batches, runs steps first without and then with a profile, and compares them with the
// peaks.
#include "tools/gradc/bench/Bench.h"

#include "runtime/base/Text.h"
#include "runtime/base/ThreadTeam.h"
#include "runtime/core/artifact/EntryRows.h"
#include "runtime/core/artifact/IndexCheck.h"
#include "runtime/device/Device.h"
#include "runtime/include/gradc/entries.h"
#include "runtime/train/loop/Phase.h"
#include "runtime/train/report/Trace.h"
#include "runtime/train/spec/Turns.h"

#include <cmath>
#include <fstream>
#include <malloc.h>

using mlir::grad::HostTensor;

namespace gradc {
using namespace runtime;
namespace {

/// A line of /proc/self/status in bytes; 0 if it is not found.
int64_t statusBytes(llvm::StringRef key) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    llvm::StringRef rest(line);
    int64_t kilobytes = 0;
    if (rest.consume_front(key) && !rest.ltrim(": \t").consumeInteger(10, kilobytes))
      return kilobytes << 10;
  }
  return 0;
}

/// The peak memory of the process, beyond its memory when this object was constructed.
class MemoryPeak {
public:
  MemoryPeak() {
    malloc_trim(0);
    std::ofstream("/proc/self/clear_refs") << "5"; // restarts the peak
    before = statusBytes("VmRSS");
  }
  int64_t bytes() const { return std::max<int64_t>(0, statusBytes("VmHWM") - before); }

private:
  int64_t before;
};

double seconds(int64_t nanoseconds) { return double(nanoseconds) * 1e-9; }

/// The value below which a fraction `share` of the values lies. Sorts the values.
double quantile(std::vector<double> &values, double share) {
  std::sort(values.begin(), values.end());
  return values[size_t(share * double(values.size() - 1) + 0.5)];
}

/// The arguments of an entry, ready to run repeatedly.
class Workload {
public:
  static Result<std::unique_ptr<Workload>> make(mlir::MLIRContext &context, Session &session,
                                                const BenchOptions &options);

  const gradc_artifact_entry &entry() const { return *theEntry; }
  /// The nodes that a step executes.
  std::span<const gradc_artifact_node> nodes() const {
    const Artifact &artifact = session.artifact();
    auto entries = artifact.elements<gradc_artifact_entry>(session.level().entries);
    return artifact.elements<gradc_artifact_node>(scheduleOf(artifact, entries, *theEntry).nodes);
  }
  /// The factor from the launches in a profile to those of the step: if rows run one by one, the
  /// profile has those of the first thread.
  double timesOf(const Profile &profile) const {
    return profile.rows ? double(rows ? rows : theEntry->batch) / double(profile.rows) : 1;
  }
  const std::string &data() const { return origin; }
  /// Advances to the next batch.
  Status step() {
    const auto &inputs = batches[next];
    next = (next + 1) % batches.size();
    return session.run(*theEntry, inputs, outputs, rows ? rows : theEntry->batch);
  }
  int64_t inputBytes() const { return bytesOfInputs; }

private:
  Workload(Session &session, int64_t rows) : session(session), rows(rows) {}

  Status chooseEntry(const std::string &wanted);
  Status fillInputs(mlir::MLIRContext &context, const NamedTensors &given);
  Status takeData();
  void *allocate(uint64_t bytes) {
    memory.emplace_back(std::aligned_alloc(64, (bytes + 63) / 64 * 64 + 64));
    return memory.back().get();
  }
  std::span<const gradc_artifact_port> ports(gradc_range range) const {
    return session.artifact().elements<gradc_artifact_port>(range);
  }

  struct Free {
    void operator()(void *bytes) const { std::free(bytes); }
  };

  Session &session;
  int64_t rows; ///< of a step; 0: a whole batch
  const gradc_artifact_entry *theEntry = nullptr;
  std::string entryName; ///< the one that is wanted, or that of a job's step
  std::string origin = "random inputs";
  std::vector<std::unique_ptr<void, Free>> memory;
  std::vector<Batch> data_;
  std::vector<std::vector<const void *>> batches; ///< one pointer per input
  std::vector<void *> outputs;
  int64_t bytesOfInputs = 0;
  size_t next = 0;
};

Status Workload::chooseEntry(const std::string &wanted) {
  if (!wanted.empty()) {
    entryName = wanted;
    theEntry = session.findEntry(wanted);
    auto entries = session.artifact().elements<gradc_artifact_entry>(session.level().entries);
    return theEntry ? Status()
                    : Status(Code::usage, text("no entry '", wanted, "', expected one of ",
                                               entryNames(session.artifact(), entries)));
  }
  // With several kinds of steps, measures the first kind in its last phase, when nothing is frozen.
  Turns turns(Config::job(session.artifact()), [](std::string_view) { return false; });
  entryName = turns.entries().front().name;
  for (std::string name :
       {entryName, std::string(GRADC_GRADIENTS_ENTRY), std::string(GRADC_FORWARD_ENTRY)})
    if ((theEntry = session.findEntry(name)))
      return {};
  return Status::invalid("the artifact has none of the entries 'train', 'gradients' and 'forward'");
}

/// Random values for all inputs except the given ones.
Status Workload::fillInputs(mlir::MLIRContext &context, const NamedTensors &given) {
  const Artifact &artifact = session.artifact();
  std::vector<Port> inputs;
  for (const auto &port : ports(theEntry->inputs))
    inputs.push_back({std::string(artifact.string(port.tensor.name)),
                      tensorType(context, gradc_dtype(port.tensor.dtype),
                                 artifact.elements<int64_t>(port.tensor.shape)),
                      gradc_role(port.role), port.classes, port.batched != 0, "", port.text != 0});
  std::vector<HostTensor> values = randomTensors(inputs, /*seed=*/1);
  auto arranged = arrange(given, inputs, &values);
  if (!arranged)
    return arranged.status();
  if (!given.empty())
    origin = "the given inputs";
  batches.emplace_back();
  for (const HostTensor &value : *arranged) {
    void *copy = allocate(value.bytes().size());
    std::memcpy(copy, value.bytes().data(), value.bytes().size());
    batches.back().push_back(copy);
    bytesOfInputs += int64_t(value.bytes().size());
  }
  for (const auto &port : ports(theEntry->outputs))
    if (isGiven(port))
      outputs.push_back(allocate(port.tensor.bytes));
  return {};
}

/// Uses the first batches of the job's data instead of random ones.
Status Workload::takeData() {
  constexpr size_t most = 16;
  auto job = Job::read(session.artifact(), {});
  if (!job)
    return job.status();
  auto phase = Phase::make(session, {&entryName, 1}, job->data, *job);
  if (!phase)
    return phase.status();
  auto iterator = phase->dataset->iterate();
  size_t count = std::min<size_t>(most, size_t(phase->dataset->batchesPerEpoch()));
  std::vector<const void *> inputs = batches.front();
  const float rate = float(job->learningRate);
  std::vector<std::vector<const void *>> taken;
  for (size_t i = 0; i < count; ++i) {
    Batch &batch = data_.emplace_back(phase->dataset->allocate());
    if (Status status = iterator->next(batch); !status.ok())
      return status;
    if (batch.rows != theEntry->batch || &phase->callFor(batch, 0).calledEntry() != theEntry)
      continue;
    auto all = ports(theEntry->inputs);
    for (size_t port = 0, field = 0; port < all.size(); ++port)
      if (all[port].role == GRADC_ROLE_DATA)
        inputs[port] = batch.field(field++);
      else if (all[port].role == GRADC_ROLE_LEARNING_RATE)
        std::memcpy(const_cast<void *>(inputs[port]), &rate, sizeof rate);
    taken.push_back(inputs);
  }
  if (taken.empty())
    return Status::error("the data gives no whole batch");
  batches = std::move(taken);
  return {};
}

Result<std::unique_ptr<Workload>> Workload::make(mlir::MLIRContext &context, Session &session,
                                                 const BenchOptions &options) {
  std::unique_ptr<Workload> workload(new Workload(session, options.rows));
  if (Status chosen = workload->chooseEntry(options.entry); !chosen.ok())
    return chosen;
  if (Status filled = workload->fillInputs(context, options.inputs); !filled.ok())
    return filled;
  if (session.artifact().header().job.count && options.inputs.empty()) {
    Status taken = workload->takeData();
    workload->origin =
        taken.ok() ? "the job's data" : text("random inputs, because ", taken.message());
  }
  return workload;
}

class Bench {
public:
  Bench(Session &session, Workload &workload, const BenchOptions &options)
      : session(session), workload(workload), options(options) {}

  Status run(BenchResult &result);

private:
  template <typename After> Status repeat(double time, After &&after);
  void describeKernels(BenchResult &result);

  Session &session;
  Workload &workload;
  const BenchOptions &options;
  std::vector<std::vector<double>>
      launchSeconds;                ///< by node: one value per step, of all iterations
  std::vector<int64_t> launchesRun; ///< by node, in the last step
  int64_t runs = 0;
};

/// Runs steps for a while, at least a few, and records when each step began and ended.
template <typename After> Status Bench::repeat(double time, After &&after) {
  constexpr int least = 5;
  // Training only continues while its numbers stay ordinary.
  constexpr int64_t resetEvery = 64;
  int64_t start = Trace::now();
  for (int i = 0; i < least || seconds(Trace::now() - start) < time; ++i) {
    if (runs++ % resetEvery == 0) {
      if (Status reset = session.resetStates(); !reset.ok())
        return reset;
      if (Status warmed = workload.step(); !warmed.ok())
        return warmed;
    }
    int64_t begin = Trace::now();
    if (Status ran = workload.step(); !ran.ok())
      return ran;
    after(begin, Trace::now());
  }
  return {};
}

Status Bench::run(BenchResult &result) {
  // 1. Warm up caches and clocks, then run steps without a profile.
  if (Status s = repeat(options.seconds / 10, [](int64_t, int64_t) {}); !s.ok())
    return s;
  std::vector<double> steps;
  auto keep = [&](int64_t begin, int64_t end) { steps.push_back(seconds(end - begin)); };
  if (Status s = repeat(options.seconds / 2, keep); !s.ok())
    return s;
  result.steps = int64_t(steps.size());
  result.p10 = quantile(steps, 0.1);
  result.median = quantile(steps, 0.5);
  result.p90 = quantile(steps, 0.9);

  // 2. Run steps with a profile.
  constexpr size_t tracedSteps = 200;
  Trace trace;
  if (!options.trace.empty())
    if (Status opened = trace.open(options.trace); !opened.ok())
      return opened;
  session.profile(true);
  launchSeconds.resize(workload.nodes().size());
  size_t profiled = 0;
  auto note = [&](int64_t begin, int64_t end) {
    const Profile &profile = session.lastProfile();
    for (std::vector<double> &ofNode : launchSeconds)
      ofNode.push_back(0);
    double times = workload.timesOf(profile);
    for (size_t i = 0; i < profile.paths.size(); ++i)
      launchSeconds[profile.paths[i].node].back() +=
          times * seconds(profile.times[i + 1] - profile.times[i]);
    launchesRun.assign(launchSeconds.size(), 0);
    for (const LaunchPath &path : profile.paths)
      ++launchesRun[path.node];
    for (int64_t &launches : launchesRun)
      launches = std::llround(times * double(launches));
    if (profiled++ < tracedSteps) {
      trace.span("step", "step", begin, end, int64_t(profiled));
      trace.launches(session, workload.entry());
    }
  };
  Status noted = repeat(options.seconds / 3, note);
  session.profile(false);
  if (Status closed = trace.close(); noted.ok())
    noted = closed;
  if (noted.ok())
    describeKernels(result);
  return noted;
}

void Bench::describeKernels(BenchResult &result) {
  const Artifact &artifact = session.artifact();
  auto kernels = artifact.elements<gradc_artifact_kernel>(session.level().kernels);
  auto nodes = workload.nodes();
  int threads = workload.entry().each_row ? 1 : result.threads;
  for (size_t i = 0; i < nodes.size(); ++i) {
    result.nodeSeconds.push_back(quantile(launchSeconds[i], 0.5));
    if (nodes[i].kind != GRADC_NODE_LAUNCH)
      continue;
    const gradc_artifact_kernel &kernel = kernels[nodes[i].as.launch.kernel];
    KernelTime time;
    time.kernel = artifact.string(kernel.title);
    time.nodes = artifact.string(nodes[i].node);
    time.seconds = result.nodeSeconds.back();
    time.flops = int64_t(kernel.flops) * launchesRun[i];
    time.bytes = int64_t(kernel.bytes) * launchesRun[i];
    time.ofInt8s = kernel.factors == GRADC_I8 || kernel.factors == GRADC_U8;
    int64_t shares = kernel.grain > 0 ? kernel.units / kernel.grain : kernel.units;
    time.threads = int(std::clamp<int64_t>(shares, 1, threads));
    result.kernels.push_back(std::move(time));
  }
  llvm::sort(result.kernels,
             [](const KernelTime &a, const KernelTime &b) { return a.seconds > b.seconds; });
}

} // namespace

Result<BenchResult> measure(mlir::MLIRContext &context,
                            std::function<Result<std::shared_ptr<Artifact>>()> open,
                            const BenchOptions &options) {
  BenchResult result;
  result.threads = options.threads ? options.threads : int(ThreadTeam::availableCpus());

  // 1. Measure the start: artifact, session, first step.
  MemoryPeak memory;
  int64_t begin = Trace::now();
  auto artifact = open();
  if (!artifact)
    return artifact.status();
  int64_t opened = Trace::now();
  auto session = Session::create(*artifact, {result.threads, "", options.ranks});
  if (!session)
    return session.status();
  int64_t created = Trace::now();
  auto workload = Workload::make(context, **session, options);
  if (!workload)
    return workload.status();
  int64_t prepared = Trace::now();
  if (Status ran = (*workload)->step(); !ran.ok())
    return ran;
  result.open = seconds(opened - begin);
  result.create = seconds(created - opened);
  result.first = seconds(Trace::now() - prepared);

  // 2. Record facts about the model.
  const gradc_artifact_entry &entry = (*workload)->entry();
  result.entry = (*artifact)->string(entry.name);
  result.level = (*artifact)->string((*session)->level().name);
  result.data = (*workload)->data();
  result.batch = entry.batch;
  result.arenaBytes = int64_t((*session)->arenaOf(entry));
  for (const auto &buffer :
       (*artifact)->elements<gradc_artifact_buffer>((*session)->level().buffers))
    result.stateBytes += int64_t(buffer.bytes);

  // 3. Measure steps, kernels, and their roofline.
  if (Status ran = Bench(**session, **workload, options).run(result); !ran.ok())
    return ran;
  result.placement = (*session)->placement();
  result.peakBytes = memory.bytes();
  result.peaks = measurePeaks(result.level, result.threads,
                              result.arenaBytes + result.stateBytes + (*workload)->inputBytes());
  auto computing = [&](const KernelTime &kernel, int threads) {
    const Peak &peak = kernel.ofInt8s ? result.peaks.int8Flops : result.peaks.flops;
    return double(kernel.flops) / peak.at(threads);
  };
  auto share = [&](double computing, double bytes, int threads, double seconds) {
    double least = std::max(computing, bytes / result.peaks.bytes.at(threads));
    return seconds > 0 ? least / seconds : 0;
  };
  double all = 0; // seconds that the step's arithmetic takes at the peak
  for (KernelTime &kernel : result.kernels) {
    all += computing(kernel, result.threads);
    kernel.roof = share(computing(kernel, kernel.threads), double(kernel.bytes), kernel.threads,
                        kernel.seconds);
  }
  result.roof = share(all, double(result.stateBytes + (*workload)->inputBytes()), result.threads,
                      result.median);
  return result;
}

} // namespace gradc
