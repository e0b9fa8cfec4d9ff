// Runs a training loop without its steps.
#include "tools/gradc/bench/BenchInput.h"

#include "runtime/base/Text.h"
#include "runtime/include/gradc/entries.h"
#include "runtime/train/entry/EntryCall.h"
#include "runtime/train/job/Job.h"
#include "runtime/train/spec/Turns.h"

#include <chrono>

namespace gradc {
using namespace runtime;

using Clock = std::chrono::steady_clock;

static double secondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

Result<InputBenchResult> measureInput(std::shared_ptr<const Artifact> given, double seconds) {
  const Artifact &artifact = *given;
  auto job = Job::read(artifact, {});
  if (!job)
    return job.status();
  const gradc_artifact_entry *train = nullptr;
  DataContext context;
  context.tailAllowed = false;
  Turns turns(Config::job(artifact), [](std::string_view) { return false; });
  const std::string &step = turns.entries().front().name;
  for (const auto &entry : artifact.elements<gradc_artifact_entry>(artifact.levels()[0].entries)) {
    std::string_view name = artifact.string(entry.name);
    if (name == step)
      train = &entry;
    context.tailAllowed |= name == step ? entry.any_rows : name == step + GRADC_TAIL_SUFFIX;
  }
  if (!train)
    return Status::invalid(text("the artifact has no entry '", step, '\''));
  context.folders = job->dataFolders;
  context.demands = demandsOf(artifact, *train);
  context.seed = job->seed;
  context.state = job->dataState;

  // Map models need a session for their code and weights.
  std::unique_ptr<Session> session;
  if (hasModels(job->data)) {
    auto made = Session::create(std::move(given), {1, ""});
    if (!made)
      return made.status();
    session = std::move(*made);
    auto host = session->onHost();
    if (!host)
      return host.status();
    context.models = *host;
  }

  InputBenchResult result;
  Clock::time_point begin = Clock::now();
  auto dataset = makeDataset(job->data, context);
  if (!dataset)
    return dataset.status();
  auto iterator = (*dataset)->iterate();
  Batch batch = (*dataset)->allocate();
  result.batch = (*dataset)->batchSize();
  result.open = secondsSince(begin);

  constexpr int64_t least = 8; // batches, however long they take, plus one more
  begin = Clock::now();
  int64_t inEpoch = 0, batches = 0;
  bool isFirst = true;
  for (double elapsed = 0;
       elapsed < seconds || batches < least || (!isFirst && result.laterRate == 0); ++batches) {
    if (Status status = iterator->next(batch); !status.ok())
      return status;
    inEpoch += batch.rows;
    result.rows += batch.rows;
    result.skipped += batch.skipped;
    elapsed = secondsSince(begin);
    (isFirst ? result.firstRate : result.laterRate) = double(inEpoch) / elapsed;
    if (isFirst && batch.endsEpoch) {
      isFirst = false;
      seconds -= elapsed;
      begin = Clock::now();
      inEpoch = 0;
      elapsed = 0;
    }
  }
  result.report = iterator->report();
  return result;
}

} // namespace gradc
