// The messages of a run: one line per epoch and, at the end, the files that it wrote and how to
// continue.
#include "runtime/train/loop/Loop.h"

#include "runtime/base/Text.h"
#include "runtime/train/job/CommandLine.h"
#include "runtime/train/spec/JobFiles.h"

#include <climits>
#include <cstdio>
#include <unistd.h>

namespace gradc::runtime {

static std::string secondsText(double seconds) {
  char digits[40];
  std::snprintf(digits, sizeof digits, seconds < 10 ? "%.3f s" : "%.0f s", seconds);
  return digits;
}

/// Reports the epoch of the last step, which the end of the job may have cut short.
void Loop::sayEpoch(bool isEvaluated) {
  Position position = walk->position();
  int64_t batches = training.dataset->batchesBefore(position);
  std::string line = text("epoch ", int64_t(position.epoch) + (batches > 0));
  if (job.epochs != Job::unlimited)
    line += text('/', job.epochs);
  if (batches)
    line += text(" (", batches, " of ", training.dataset->batchesPerEpoch(), " steps)");
  line += text("  step ", done);
  if (epochRows > 0)
    line += text("  ", metricsText({{{"loss", epochLoss / epochRows}}}));
  if (isEvaluated)
    line += text("  evaluation: ", metricsText(summary.evaluation));
  line += text("  ", secondsText(std::chrono::duration<double>(Clock::now() - epochBegin).count()));
  if (isEvaluated && watch->bestStep() >= 0)
    line += watch->bestStep() == done ? "  best so far" : text("  best ", watch->bestText());
  progress->print(line);
  epochSaid = Clock::now();
}

void Loop::beginEpoch() {
  epochLoss = epochRows = 0;
  epochBegin = Clock::now();
}

/// The path in the form used by commands in the current folder.
static std::string fromHere(const std::string &path) {
  std::string here(PATH_MAX, '\0');
  if (!getcwd(here.data(), here.size()))
    return path;
  here.resize(here.find('\0'));
  bool isBelow =
      path.starts_with(here) && path.size() > here.size() + 1 && path[here.size()] == '/';
  return isBelow ? path.substr(here.size() + 1) : path;
}

/// Prints the files, and the next command.
void Loop::sayWhatWasMade(bool isSignalled) {
  if (!options.findRate.empty())
    return;
  std::string made;
  auto add = [&](const auto &...parts) { made += text(made.empty() ? "" : "; ", parts...); };
  std::string folder = fromHere(job.checkpointFolder);
  if (!lastCheckpoint.empty() && !folder.empty())
    add("checkpoint '", fromHere(lastCheckpoint), '\'');
  if (!folder.empty() && watch->bestStep() >= 0)
    add("the best '", fromHere(checkpoints.best()), "' (", watch->bestText(), ')');
  if (!exported.empty())
    add("trained model '", fromHere(exported), '\'');
  if (made.empty())
    add("nothing was kept: name a folder for checkpoints with --checkpoint or in the spec");
  if (!options.log.empty())
    add("log '", fromHere(pathOfVariant(options.log, options.variant)), '\'');
  progress->print(made);
  if (folder.empty() || lastCheckpoint.empty() || options.trainCommand.empty() ||
      !options.variant.empty())
    return;
  if (isSignalled)
    progress->print(text("go on with: ", options.trainCommand, " --resume",
                         options.checkpoint.empty() ? text(' ', forShell(folder)) : ""));
  else
    progress->print(text("use it: ", options.predictCommand, " --checkpoint ", forShell(folder),
                         " --data FILE -o predictions.csv"));
}

} // namespace gradc::runtime
