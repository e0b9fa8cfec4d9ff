// gradc report: turns training logs into one page, or into TensorBoard's files.
#include "compiler/artifact/Artifact.h"
#include "tools/gradc/Command.h"
#include "tools/gradc/Console.h"
#include "tools/gradc/Files.h"
#include "tools/gradc/report/Page.h"
#include "tools/gradc/report/TensorBoard.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <fmt/core.h>

namespace gradc {
namespace {

struct Settings {
  std::vector<std::string> logs, benches, plans;
  std::string output, tensorBoard;
};

Result<std::vector<NamedJson>> readJson(const std::vector<std::string> &paths) {
  std::vector<NamedJson> contents;
  for (const std::string &path : paths) {
    auto file = llvm::MemoryBuffer::getFile(path);
    if (!file)
      return Status::error("cannot read " + path + ": " + file.getError().message());
    llvm::StringRef text = (*file)->getBuffer();
    contents.emplace_back(path, nlohmann::json::parse(text.begin(), text.end(), nullptr, false));
  }
  return contents;
}

int writePage(const Settings &settings, const std::vector<TrainingLog> &logs) {
  auto benches = readJson(settings.benches), plans = readJson(settings.plans);
  if (!benches || !plans)
    return fail(benches ? plans.status() : benches.status());
  auto page = reportPage(logs, *benches, *plans);
  if (!page)
    return fail(page.status());
  if (auto error = writeFile(settings.output, {*page}, /*executable=*/false))
    return failToWrite(settings.output, std::move(error));
  fmt::print("wrote {}: {} run{}\n", settings.output, logs.size(), logs.size() == 1 ? "" : "s");
  return exitCode(Code::ok);
}

/// Writes one folder per run; TensorBoard names the run by it.
int writeEvents(const Settings &settings, const std::vector<TrainingLog> &logs) {
  for (const TrainingLog &log : logs) {
    llvm::SmallString<128> path(settings.tensorBoard);
    llvm::sys::path::append(path, log.name);
    if (auto error = llvm::sys::fs::create_directories(path))
      return fail(Code::error, "cannot make " + path + ": " + error.message());
    llvm::sys::path::append(path, tensorBoardFile);
    if (int code = expectNoneOf(path, settings.logs))
      return code;
    llvm::sys::fs::file_status status;
    (void)llvm::sys::fs::status(log.path, status);
    double end = double(llvm::sys::toTimeT(status.getLastModificationTime()));
    if (auto error = writeFile(path, {tensorBoardEvents(log, end)}, /*executable=*/false))
      return failToWrite(path, std::move(error));
    fmt::print("wrote {}\n", std::string(path));
  }
  return exitCode(Code::ok);
}

int report(Settings settings) {
  if (settings.output.empty() && settings.tensorBoard.empty())
    settings.output = "report.html";
  std::vector<std::string> inputs = settings.logs;
  inputs.insert(inputs.end(), settings.benches.begin(), settings.benches.end());
  inputs.insert(inputs.end(), settings.plans.begin(), settings.plans.end());
  std::vector<TrainingLog> logs;
  for (const std::string &path : inputs)
    if (int code = expectFile(path))
      return code;
  if (int code = settings.output.empty() ? 0 : expectNoneOf(settings.output, inputs))
    return code;
  for (const std::string &path : settings.logs) {
    auto log = readTrainingLog(path);
    if (!log)
      return fail(log.status());
    logs.push_back(std::move(*log));
  }
  if (Status named = nameRuns(logs); !named.ok())
    return fail(named);
  int code = settings.output.empty() ? 0 : writePage(settings, logs);
  return code || settings.tensorBoard.empty() ? code : writeEvents(settings, logs);
}

} // namespace

void addReport(CLI::App &app, Runner &run) {
  auto settings = std::make_shared<Settings>();
  CLI::App *command = app.add_subcommand("report", "curves of trainings as a page for the browser");
  command->add_option("logs", settings->logs, "files written by --log, one per run")->required();
  command->add_option("-o,--output", settings->output, "the page (default: report.html)")
      ->type_name("FILE");
  command
      ->add_option("--bench", settings->benches,
                   "the output of gradc bench --json: kernels, roofline and memory")
      ->type_name("FILE")
      ->expected(1);
  command
      ->add_option("--plan", settings->plans,
                   "the output of gradc plan --json: the memory of each entry")
      ->type_name("FILE")
      ->expected(1);
  command
      ->add_option(
          "--tensorboard", settings->tensorBoard,
          "write event files for TensorBoard below this folder; a page only if -o asks for it")
      ->type_name("DIR");
  command->callback([=, &run] { run = [=] { return report(*settings); }; });
}

} // namespace gradc
