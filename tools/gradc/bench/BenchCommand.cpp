// gradc bench: the time of a step and of its kernels, and the distance of each kernel from the
// roofline.
#include "runtime/train/spec/JobFiles.h"
#include "tools/gradc/Command.h"
#include "tools/gradc/Files.h"
#include "tools/gradc/bench/Bench.h"
#include "tools/gradc/bench/BenchInput.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

namespace gradc {
using namespace runtime;
namespace {

struct Settings {
  CompileArguments compile;
  std::vector<std::string> inputs;
  BenchOptions bench;
  bool json = false;
};

double totalFlops(const BenchResult &result) {
  auto flops = [](const KernelTime &kernel) { return double(kernel.flops); };
  return llvm::sum_of(llvm::map_range(result.kernels, flops));
}
double totalSeconds(const BenchResult &result) {
  auto seconds = [](const KernelTime &kernel) { return kernel.seconds; };
  return llvm::sum_of(llvm::map_range(result.kernels, seconds));
}

std::string peakText(const Peak &peak, const char *unit) {
  std::string text = fmt::format("{:.1f} {}", peak.one / 1e9, unit);
  return peak.threads > 1
             ? text + fmt::format(" on one thread, {:.1f} on {}", peak.all / 1e9, peak.threads)
             : text;
}

void printTable(const BenchResult &result) {
  const Peaks &peaks = result.peaks;
  fmt::print("{}{}, {}, {} thread{}, {}\n", result.entry,
             result.batch ? fmt::format(", batch {}", result.batch) : "", result.level,
             result.threads, result.threads > 1 ? "s" : "", result.data);
  fmt::print("  step      {}, p10 {}, p90 {}, of {} steps", timeText(result.median),
             timeText(result.p10), timeText(result.p90), result.steps);
  if (result.batch)
    fmt::print("; {:.0f} samples/s", double(result.batch) / result.median);
  fmt::print("; {:.1f} GFLOP/s, {:.0f}% of the roof\n", totalFlops(result) / result.median / 1e9,
             100 * result.roof);
  fmt::print("  start-up  {}: artifact {}, session {}, first step {}\n",
             timeText(result.open + result.create + result.first), timeText(result.open),
             timeText(result.create), timeText(result.first));
  fmt::print("  memory    {} at the peak; arena {}, states {}\n", bytesText(result.peakBytes),
             bytesText(result.arenaBytes), bytesText(result.stateBytes));
  fmt::print("  machine   {}; {} within {}\n", peakText(peaks.flops, "GFLOP/s"),
             peakText(peaks.bytes, "GB/s"), bytesText(peaks.triadBytes));
  if (llvm::any_of(result.kernels, [](const KernelTime &kernel) { return kernel.ofInt8s; }))
    fmt::print("            {} of 8-bit integers\n", peakText(peaks.int8Flops, "GFLOP/s"));
  if (!result.placement.empty())
    fmt::print("  device    {}\n", result.placement);
  size_t width = 6;
  for (const KernelTime &kernel : result.kernels)
    width = std::max(width, std::min<size_t>(kernel.kernel.size(), 44));
  double all = totalSeconds(result);
  fmt::print("\n  {:>9}  {:>5}  {:>8}  {:>7}  {:>6}  {:>7}  {:{}}  {}\n", "time", "share",
             "GFLOP/s", "GB/s", "roof", "threads", "kernel", width, "nodes");
  for (const KernelTime &kernel : result.kernels)
    fmt::print("  {:>9}  {:>4.1f}%  {:>8.1f}  {:>7.1f}  {:>5.0f}%  {:>7}  {:{}}  {}\n",
               timeText(kernel.seconds), 100 * kernel.seconds / all,
               double(kernel.flops) / kernel.seconds / 1e9,
               double(kernel.bytes) / kernel.seconds / 1e9, 100 * kernel.roof, kernel.threads,
               kernel.kernel, width, kernel.nodes);
  fmt::print("  {:>9}  in {} launches\n", timeText(all), result.kernels.size());
}

nlohmann::json peakJson(const Peak &peak) {
  return {{"one_thread", peak.one}, {"all_threads", peak.all}};
}

void printJson(const BenchResult &result) {
  nlohmann::json json = {
      {"entry", result.entry},
      {"level", result.level},
      {"threads", result.threads},
      {"batch", result.batch},
      {"data", result.data},
      {"device", result.placement},
      {"steps", result.steps},
      {"ms",
       {{"median", result.median * 1e3}, {"p10", result.p10 * 1e3}, {"p90", result.p90 * 1e3}}},
      {"gflops", totalFlops(result) / result.median / 1e9},
      {"roof", result.roof},
      {"start_up_ms",
       {{"artifact", result.open * 1e3},
        {"session", result.create * 1e3},
        {"first_step", result.first * 1e3}}},
      {"memory",
       {{"peak", result.peakBytes}, {"arena", result.arenaBytes}, {"states", result.stateBytes}}},
      {"machine",
       {{"flops", peakJson(result.peaks.flops)},
        {"int8_flops", peakJson(result.peaks.int8Flops)},
        {"bytes", peakJson(result.peaks.bytes)},
        {"triad_bytes", result.peaks.triadBytes}}},
      {"kernels", nlohmann::json::array()}};
  for (const KernelTime &kernel : result.kernels)
    json["kernels"].push_back({{"kernel", kernel.kernel},
                               {"nodes", kernel.nodes},
                               {"ms", kernel.seconds * 1e3},
                               {"flops", kernel.flops},
                               {"bytes", kernel.bytes},
                               {"threads", kernel.threads},
                               {"of_int8s", kernel.ofInt8s},
                               {"roof", kernel.roof}});
  printAsJson(json);
}

void printInput(const InputBenchResult &result) {
  const InputReport &report = result.report;
  fmt::print("input, batch {}, {} rows in all{}\n", result.batch, result.rows,
             result.skipped ? fmt::format(", {} skipped", result.skipped) : "");
  fmt::print("  start     {}\n", timeText(result.open));
  fmt::print("  rows      {:.0f}/s in the first epoch", result.firstRate);
  fmt::print("{}\n", result.laterRate > 0 ? fmt::format(", {:.0f}/s later", result.laterRate) : "");
  fmt::print("  threads   {}, {} batches ahead, {} of {}\n", report.workers ? report.workers : 1,
             report.depth, bytesText(int64_t(report.bytes)), bytesText(int64_t(report.budget)));
  double all = 0;
  for (const StageTime &stage : report.stages)
    all += stage.seconds;
  fmt::print("\n  {:>5}  {:>9}  {}\n", "share", "a row", "stage");
  for (const StageTime &stage : report.stages)
    fmt::print("  {:>4.1f}%  {:>9}  {}\n", all > 0 ? 100 * stage.seconds / all : 0,
               timeText(stage.seconds / double(stage.rows)), stage.name);
}

void printInputJson(const InputBenchResult &result) {
  const InputReport &report = result.report;
  nlohmann::json json = {
      {"batch", result.batch},
      {"rows", result.rows},
      {"skipped", result.skipped},
      {"start_ms", result.open * 1e3},
      {"rows_per_second", {{"first_epoch", result.firstRate}, {"later", result.laterRate}}},
      {"workers", report.workers},
      {"depth", report.depth},
      {"bytes", report.bytes},
      {"budget", report.budget},
      {"stages", nlohmann::json::array()}};
  for (const StageTime &stage : report.stages)
    json["stages"].push_back(
        {{"stage", stage.name}, {"us_per_row", stage.seconds * 1e6 / double(stage.rows)}});
  printAsJson(json);
}

/// `--input SPEC`: the pipeline without the steps.
int benchInput(Settings &settings) {
  settings.compile.file = settings.inputs.front();
  const std::string &file = settings.compile.file;
  Compilation compilation(settings.compile);
  if (int code = isArtifact(file) ? settings.compile.expectNoneForArtifact()
                                  : compilation.compile(folderOf(file)))
    return code;
  auto artifact = isArtifact(file)
                      ? Artifact::open(file)
                      : Artifact::fromMemory(std::as_bytes(std::span(compilation.artifact())));
  if (!artifact)
    return fail(artifact.status());
  auto result = measureInput(*artifact, settings.bench.seconds);
  if (!result)
    return fail(result.status());
  settings.json ? printInputJson(*result) : printInput(*result);
  return exitCode(Code::ok);
}

/// Refuses to write the trace over a file that is read now or was read by the artifact's
/// compilation.
int expectTraceIsNew(const Settings &settings, Compilation &compilation) {
  const std::string &file = settings.compile.file;
  std::vector<std::string> read = {file};
  for (llvm::StringRef input : settings.inputs)
    read.push_back(input.split('=').second.str());
  if (!isArtifact(file)) {
    llvm::append_range(read, inputFiles(file, compilation.program().imported));
  } else if (auto artifact = Artifact::open(file)) {
    Config spec = Config::job(**artifact);
    std::string folders[] = {std::string(spec.string("directory"))};
    llvm::append_range(read, filesToKeep(spec, folders, /*program=*/file));
  }
  return expectNoneOf(settings.bench.trace, read);
}

int bench(Settings &settings) {
  if (settings.compile.file.empty()) {
    if (settings.inputs.size() != 1 || settings.inputs[0].find('=') != std::string::npos)
      return fail(Code::usage, "expected a file, or --input with a training spec or a compiled "
                               "artifact; see gradc bench --help");
    return benchInput(settings);
  }
  Compilation compilation(settings.compile);
  auto inputs = readInputs(compilation.context(), settings.inputs, compilation.options());
  if (!inputs)
    return fail(inputs.status());
  settings.bench.inputs = std::move(*inputs);
  const std::string &file = settings.compile.file;
  std::function<Result<std::shared_ptr<Artifact>>()> open;
  if (isArtifact(file)) {
    if (int code = settings.compile.expectNoneForArtifact())
      return code;
    open = [&] { return Artifact::open(file); };
  } else {
    if (int code = compilation.compile(folderOf(file)))
      return code;
    dropBound(settings.bench.inputs, compilation.program().imported);
    open = [&] { return Artifact::fromMemory(std::as_bytes(std::span(compilation.artifact()))); };
  }
  if (int code = expectTraceIsNew(settings, compilation))
    return code;
  auto result = measure(compilation.context(), open, settings.bench);
  if (!result)
    return fail(result.status());
  settings.json ? printJson(*result) : printTable(*result);
  return exitCode(Code::ok);
}

/// Accepts only numbers from `least` to `most`.
auto between(double least, double most) {
  return [=](const std::string &text) -> std::string {
    double value;
    if (!llvm::StringRef(text).getAsDouble(value) && value >= least && value <= most)
      return "";
    return fmt::format("expected a number from {} to {}, found {}", least, most, text);
  };
}

} // namespace

void addBench(CLI::App &app, Runner &run) {
  auto settings = std::make_shared<Settings>();
  CLI::App *command = app.add_subcommand("bench", "time a step and each of its kernels");
  settings->compile.add(*command, "an ONNX model (.onnx), a training spec or a compiled artifact");
  settings->compile.oneBucket = true; // measures the largest batch
  command->get_option("file")->required(false);
  addInputs(*command, settings->inputs);
  command->get_option("--input")->description(
      "the tensor of a graph input, NAME=FILE; or alone a training spec or a compiled artifact, "
      "whose input pipeline is timed");
  command
      ->add_option("--threads", settings->bench.threads,
                   "threads that share a kernel (default: one a CPU)")
      ->check(between(1, 1024));
  command->add_option("--entry", settings->bench.entry,
                      "what is timed (default: the step, or the model's forward)");
  command->add_option("--seconds", settings->bench.seconds, "how long to measure (default: 2)")
      ->check(between(0, 3600));
  command
      ->add_option("--trace", settings->bench.trace,
                   "write a trace of the first steps, for ui.perfetto.dev")
      ->type_name("FILE");
  command->add_flag("--json", settings->json, "print JSON");
  command->callback([=, &run] { run = [=] { return bench(*settings); }; });
}

} // namespace gradc
