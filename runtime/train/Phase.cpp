// Combines data sets and entries, and evaluates.
#include "runtime/train/Phase.h"

#include "runtime/base/Text.h"
#include "runtime/core/NonFinite.h"
#include "runtime/data/chain/Chain.h"
#include "runtime/data/source/ArraySource.h"
#include "runtime/train/PhaseWalk.h"

namespace gradc::runtime {

Result<Phase> Phase::make(Session &session, std::string_view name, Config data, const Job &job) {
  const gradc_artifact_entry *entry = session.findEntry(name);
  const gradc_artifact_entry *tailEntry = session.findEntry(text(name, ".tail"));
  if (!entry)
    return Status::invalid(text("the artifact has no entry '", name, "'"));

  DataContext context;
  context.folders = job.dataFolders;
  context.demands = demandsOf(session.artifact(), *entry);
  context.seed = job.seed;
  context.state = job.dataState;
  if (name == "train")
    context.arrays = job.fields;
  context.tailAllowed = entry->any_rows || tailEntry;
  context.hostMemory = session.hostMemory();
  context.heldBatches = session.runsBeside() ? 2 : 1; // the next batch is copied while a step runs
  if (hasModels(data)) {
    auto host = session.onHost();
    if (!host)
      return host.status();
    context.models = *host;
  }
  auto dataset = makeDataset(data, context);
  if (!dataset)
    return dataset.status();
  Phase phase;
  phase.session = &session;
  phase.dataset = std::move(*dataset);

  auto mismatch = [&](const char *which, int64_t expected, int64_t found) {
    return Status::error(text("the artifact was compiled for ", name, ' ', which, " of ", expected,
                              " rows, but the data gives ", found,
                              ": compile it again with this data"));
  };
  int64_t batchSize = phase.dataset->batchSize(), tailSize = phase.dataset->tailSize();
  if (entry->any_rows) {
    for (int64_t rows : {batchSize, tailSize ? tailSize : batchSize})
      if (Status fits = checkRows(session.artifact(), *entry, rows); !fits.ok())
        return Status::error(fits.message());
    tailSize = 0;
  } else if (batchSize != entry->batch) {
    return mismatch("batches", entry->batch, batchSize);
  } else if (tailSize && tailSize != tailEntry->batch) {
    return mismatch("last batches", tailEntry->batch, tailSize);
  }

  auto whole = EntryCall::bind(session, *entry, context.demands);
  if (!whole)
    return whole.status();
  phase.whole = std::move(*whole);
  if (tailSize) {
    auto tail = EntryCall::bind(session, *tailEntry, context.demands);
    if (!tail)
      return tail.status();
    phase.tail = std::move(*tail);
  }
  return phase;
}

std::string findNonFiniteData(const Phase &phase, const Batch &batch) {
  std::span<const Field> fields = phase.dataset->fields();
  for (size_t i = 0; i < fields.size(); ++i) {
    auto found =
        firstNonFinite({batch.field(i), size_t(batch.rows) * fields[i].bytes()}, fields[i].dtype);
    if (found)
      return text(phase.dataset->describeRow(batch, found->index / int64_t(fields[i].elements())),
                  ", field '", fields[i].name, "', has ", found->value);
  }
  return {};
}

Result<std::vector<Metric>> evaluate(const Phase &phase, uint64_t seed) {
  MetricTotals totals;
  double losses = 0;
  PhaseWalk walk(phase);
  int64_t rows = 0;
  do {
    if (Status status = walk.fetch(); !status.ok())
      return status;
    if (Status status = walk.run({.seed = seed}, !walk.batch().endsEpoch); !status.ok())
      return status;
    EntryCall &call = walk.call();
    if (!std::isfinite(call.loss()))
      if (std::string bad = findNonFiniteData(phase, walk.batch()); !bad.empty())
        return Status::error(text("cannot evaluate: ", bad, ", expected a finite number"));
    losses += call.loss() * double(walk.batch().rows);
    totals.add(call.metricResults(), walk.batch().rows);
    rows += walk.batch().rows;
  } while (!walk.batch().endsEpoch);
  std::vector<Metric> metrics = {{"loss", totals.loss().value_or(losses / double(rows))}};
  for (Metric &metric : totals.metrics())
    metrics.push_back(std::move(metric));
  return metrics;
}

} // namespace gradc::runtime
