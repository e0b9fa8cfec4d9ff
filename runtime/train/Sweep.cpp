// Runs the values of a sweep in turn, and tabulates the results.
#include "runtime/train/Sweep.h"

#include "runtime/base/Text.h"
#include "runtime/train/Trainer.h"
#include "runtime/train/report/Progress.h"

#include <algorithm>
#include <cstdio>

namespace gradc::runtime {

using Row = std::vector<std::string>;

static std::string shortNumber(double value) {
  char digits[40];
  std::snprintf(digits, sizeof digits, "%.4g", value);
  return digits;
}

static Row rowOf(const std::string &value, const Result<TrainSummary> &summary) {
  if (!summary)
    return {value, "", text("failed: ", summary.status().message())};
  Row row = {value, text(summary->steps),
             summary->lastLoss ? shortNumber(double(*summary->lastLoss)) : std::string("-")};
  for (const Metric &metric : summary->evaluation)
    row.push_back(shortNumber(metric.value));
  return row;
}

/// Columns are as wide as their cells; messages of failures may be wider.
static std::string tableText(std::span<const Row> rows) {
  std::vector<size_t> widths;
  for (const Row &row : rows)
    for (size_t i = 0; i < row.size(); ++i) {
      widths.resize(std::max(widths.size(), i + 1));
      if (!row[i].starts_with("failed"))
        widths[i] = std::max(widths[i], row[i].size());
    }
  std::string out;
  for (const Row &row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      line += row[i];
      if (i + 1 < row.size())
        line.append(widths[i] + 2 - std::min(row[i].size(), widths[i]), ' ');
    }
    out += text(out.empty() ? "" : "\n", line);
  }
  return out;
}

Status runSweep(const std::shared_ptr<const Artifact> &artifact, const CommandLine &line) {
  Row header = {line.sweep.field, "steps", "last loss"};
  std::vector<Row> rows;
  Status failure;
  bool anySucceeds = false;
  for (const auto &[value, options] : line.sweep.runs) {
    if (line.options.interrupt && line.options.interrupt->load())
      break;
    TrainOptions run = options;
    run.interrupt = line.options.interrupt;
    Progress progress(/*descriptor=*/1, run.quiet, 1, 1);
    progress.print(text(line.sweep.field, " = ", value));
    auto summary = train(artifact, run);
    // All other runs would fail in the same way.
    if (!summary && summary.status().code() != Code::error)
      return summary.status();
    if (!summary && failure.ok())
      failure = summary.status();
    if (summary && !anySucceeds)
      for (const Metric &metric : summary->evaluation)
        header.push_back(metric.name == "loss" ? "evaluation loss" : metric.name);
    anySucceeds |= summary.ok();
    rows.push_back(rowOf(value, summary));
  }
  rows.insert(rows.begin(), header);
  Progress(/*descriptor=*/1, line.options.quiet, 1, 1).print(tableText(rows));
  return anySucceeds ? Status() : failure;
}

} // namespace gradc::runtime
