// Reports on the input pipeline, for the user and for the log.
#include "runtime/train/report/InputWatch.h"

#include "runtime/base/Text.h"
#include "runtime/base/ThreadTeam.h"

#include <algorithm>
#include <cstdio>

namespace gradc::runtime {

static constexpr double worthAWarning = 0.05;
static constexpr double worthAJudgement = 250; // milliseconds
static constexpr int64_t changesAwaited = 4;   // changes of threads and batches ahead
static constexpr int64_t complaintsShown = 5;

static std::string percent(double share) {
  char digits[32];
  std::snprintf(digits, sizeof digits, share < 0.0995 ? "%.1f%%" : "%.0f%%", 100 * share);
  return digits;
}

static std::string megabytes(size_t bytes) {
  char digits[32];
  std::snprintf(digits, sizeof digits, "%.1f", double(bytes) / (1 << 20));
  return digits;
}

/// For example "800 us" or "9.83 ms", with three digits.
static std::string duration(double seconds) {
  bool isLong = seconds >= 0.9995e-3; // else three digits round it up to 1e+03 us
  char digits[40];
  std::snprintf(digits, sizeof digits, "%.3g %s", seconds * (isLong ? 1e3 : 1e6),
                isLong ? "ms" : "us");
  return digits;
}

static std::string howItWorks(const InputReport &report) {
  if (report.workers == 0)
    return "batches are made by the step's own thread";
  return text(report.workers, report.workers == 1 ? " thread, " : " threads, ", report.depth,
              report.depth == 1 ? " batch ahead, " : " batches ahead, ", megabytes(report.bytes),
              " of ", report.budget >> 20, " MB");
}

std::string inputWarning(const InputReport &report, double waitShare) {
  double all = 0;
  const StageTime *dearest = nullptr;
  for (const StageTime &stage : report.stages) {
    all += stage.seconds;
    if (!dearest || stage.seconds > dearest->seconds)
      dearest = &stage;
  }
  if (waitShare < worthAWarning || !dearest || all <= 0 || dearest->rows == 0)
    return {};
  bool isSource = dearest->name.starts_with("source");
  const char *advice =
      report.workers == 0 && !report.prefetches ? "add stage { prefetch { } } behind batch"
      : report.bytes * 5 / 4 > report.budget    ? "raise memory_mb"
      : report.isFixed && report.workers < int(ThreadTeam::availableCpus())
          ? "leave parallelism out: it is then found by measuring"
      : isSource ? "put stage { cache { } } behind the source, or the files on a faster disk"
      : dearest->name == "mix" // it is random, and behind batch
          ? "give the run more CPUs"
          : "put stage { cache { } } behind it where nothing random comes before, do its work once "
            "before training, or give the run more CPUs";
  return text("steps wait ", percent(waitShare), " of their time for input; ", dearest->name,
              " takes ", percent(dearest->seconds / all), " of its work (",
              duration(dearest->seconds / double(dearest->rows)), " a row, ", howItWorks(report),
              "): ", advice);
}

void InputWatch::skip(const Batch &batch) {
  skipped += batch.skipped;
  for (const std::string &complaint : batch.complaints) {
    log.line("skip").string("message", complaint);
    if (complaints++ < complaintsShown)
      progress.print(text("skipped: ", complaint));
  }
}

void InputWatch::write(int64_t step, const InputReport &report, double share) {
  LogLine line = log.line("input");
  line.integer("step", step)
      .real("wait", float(share))
      .integer("workers", report.workers)
      .integer("depth", report.depth)
      .integer("bytes", int64_t(report.bytes))
      .integer("budget", int64_t(report.budget))
      .real("ready", float(report.ready));
  if (skipped)
    line.integer("skipped", skipped);
  for (const StageTime &stage : report.stages)
    if (stage.seconds > 0)
      line.real(text("rows_per_second ", stage.name), float(double(stage.rows) / stage.seconds));
}

void InputWatch::look(int64_t step, Iterator &iterator) {
  InputReport report = iterator.report();
  double share = milliseconds > 0 ? inputMilliseconds / milliseconds : 0;
  allMilliseconds += milliseconds;
  allInputMilliseconds += inputMilliseconds;
  milliseconds = inputMilliseconds = 0;
  bool isNew = report.workers != workers || report.depth != depth;
  if (isNew) {
    workers = report.workers;
    depth = report.depth;
    write(step, report, share);
  }
  // While tuning still makes changes, it may solve the problem itself.
  if (isNew && ++changes < changesAwaited)
    return;
  due = std::min(2 * due, 10000.0);
  warn(step, report, share);
}

void InputWatch::warn(int64_t step, const InputReport &report, double share) {
  std::string warning = hasWarned ? std::string() : inputWarning(report, share);
  if (warning.empty())
    return;
  hasWarned = true;
  progress.warn(warning);
  log.line("warning").integer("step", step).string("message", warning);
}

void InputWatch::finish(int64_t step, Iterator &iterator) {
  allMilliseconds += milliseconds;
  allInputMilliseconds += inputMilliseconds;
  InputReport report = iterator.report();
  double share = allMilliseconds > 0 ? allInputMilliseconds / allMilliseconds : 0;
  write(step, report, share);
  bool ranLong = allMilliseconds >= worthAJudgement;
  if (ranLong)
    warn(step, report, share);
  bool waitedLong = share >= worthAWarning && ranLong;
  if (report.workers || skipped || waitedLong)
    progress.print(text("input: steps waited ", percent(share), " of their time; ",
                        howItWorks(report),
                        skipped ? text("; ", RowCount{skipped}, " skipped") : std::string()));
}

} // namespace gradc::runtime
