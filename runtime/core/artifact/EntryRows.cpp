// The number of rows an entry takes, and how it is described to callers.
#include "runtime/core/artifact/EntryRows.h"

#include "runtime/base/Text.h"

using namespace gradc::runtime;

const gradc_artifact_entry &
gradc::runtime::entryOfRows(const Artifact &artifact, std::span<const gradc_artifact_entry> entries,
                            const gradc_artifact_entry &entry, int64_t rows) {
  for (uint32_t bucket : artifact.elements<uint32_t>(entry.buckets))
    if (rows > 0 && rows <= entries[bucket].batch)
      return entries[bucket];
  return entry;
}

const gradc_artifact_entry &
gradc::runtime::scheduleOf(const Artifact &artifact, std::span<const gradc_artifact_entry> entries,
                           const gradc_artifact_entry &entry) {
  return entry.each_row ? entries[artifact.elements<uint32_t>(entry.buckets).front()] : entry;
}

Status gradc::runtime::checkCount(const Artifact &artifact, const gradc_artifact_entry &entry,
                                  const char *what, size_t expected, size_t found) {
  return expected == found
             ? Status()
             : Status(Code::usage, text("entry ", artifact.string(entry.name), ": expected ",
                                        expected, ' ', what, ", found ", found));
}

Status gradc::runtime::checkRows(const Artifact &artifact, const gradc_artifact_entry &entry,
                                 int64_t rows, bool isShare) {
  if (isShare && rows == 0 && entry.any_rows)
    return {};
  int64_t unit = unitOf(entry), fewest = entry.least_rows * unit;
  int64_t least = entry.any_rows ? fewest : entry.batch;
  if (rows >= least && rows <= entry.batch && rows % unit == 0)
    return {};
  if (!entry.batch)
    return Status(Code::usage, text("entry '", artifact.string(entry.name),
                                    "' has no batch, so it takes no number of rows, found ", rows,
                                    ": run it by gradc_run"));
  std::string message = text("entry '", artifact.string(entry.name), "' takes ");
  if (entry.any_rows)
    appendText(message, text(least, " to "));
  appendText(message, text(entry.batch, unit > 1 ? " rows, as many for each micro-batch" : " rows",
                           isShare ? ", found a rank's share of " : ", found ", rows));
  if (entry.any_rows && rows > entry.batch)
    appendText(message, ": compile it for a larger batch");
  if (rows >= 0 && rows < fewest)
    appendText(message, text(": node \"", artifact.string(entry.least_rows_node),
                             "\" divides by one less than it counts"));
  return Status(Code::usage, std::move(message));
}
