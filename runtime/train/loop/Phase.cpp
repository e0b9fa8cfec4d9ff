// Combines data sets and entries, and evaluates.
#include "runtime/train/loop/Phase.h"

#include "runtime/base/Text.h"
#include "runtime/core/NonFinite.h"
#include "runtime/data/chain/Chain.h"
#include "runtime/data/source/ArraySource.h"
#include "runtime/include/gradc/entries.h"
#include "runtime/train/loop/PhaseWalk.h"

#include <algorithm>

namespace gradc::runtime {

namespace {
/// An entry of the artifact and its twins: for a smaller last batch, and for batches of each length
/// except the longest.
struct Pair {
  const gradc_artifact_entry *whole, *tail;
  std::vector<const gradc_artifact_entry *> shorter;
};
} // namespace

/// The fields that all entries use together.
static std::vector<Demand> demandsOf(const Artifact &artifact, std::span<const Pair> entries) {
  std::vector<Demand> demands;
  for (const Pair &entry : entries)
    for (Demand &demand : demandsOf(artifact, *entry.whole)) {
      auto same = std::ranges::find(demands, demand.field, &Demand::field);
      if (same == demands.end())
        demands.push_back(std::move(demand));
      else if (!same->classes)
        same->classes = demand.classes;
    }
  return demands;
}

Result<std::shared_ptr<const Dataset>> makeData(Session &session, Config data,
                                                DataContext context) {
  context.hostMemory = session.hostMemory();
  context.heldBatches = session.runsBeside() ? 2 : 1; // the next batch is copied during a step
  if (hasModels(data)) {
    auto host = session.onHost();
    if (!host)
      return host.status();
    context.models = *host;
  }
  return makeDataset(data, context);
}

/// A set has an entry of its own only if the evaluation's does not take its batches.
const gradc_artifact_entry *Phase::entryOf(const Session &session, const std::string &name,
                                           std::string_view set) {
  const auto *own = set.empty() ? nullptr : session.findEntry(text(name, '.', set));
  return own ? own : session.findEntry(name);
}

/// The entry, and its twin for the last batch, which a set may have alone.
static Result<Pair> findPair(const Session &session, const std::string &name,
                             std::string_view set) {
  Pair pair{Phase::entryOf(session, name, set), nullptr, {}};
  if (!pair.whole)
    return Status::invalid(text("the artifact has no entry '", name, "'"));
  if (!set.empty())
    pair.tail = session.findEntry(text(name, '.', set, GRADC_TAIL_SUFFIX));
  if (!pair.tail)
    pair.tail =
        session.findEntry(text(session.artifact().string(pair.whole->name), GRADC_TAIL_SUFFIX));
  return pair;
}

/// Adds the twins for batches made by length.
static Status findShorter(const Session &session, std::string_view name, Config batch, Pair &pair) {
  for (Config bucket : batch.children("bucket")) {
    std::string twin = text(name, GRADC_LENGTH_INFIX, bucket.integer("length", 0));
    pair.shorter.push_back(session.findEntry(twin));
    if (!pair.shorter.back())
      return Status::invalid(text("the artifact has no entry '", twin, "'"));
  }
  return {};
}

/// Checks that an entry accepts the batches, or each rank's share of them.
static Status checkShares(const Artifact &artifact, const gradc_artifact_entry &entry,
                          BatchSizes sizes, RankShare share) {
  for (int64_t all : {sizes.full, sizes.rest})
    for (int64_t rows : {share.least(all), share.most(all)})
      if (Status fits = checkRows(artifact, entry, rows, /*isShare=*/share.isPart());
          all && !fits.ok())
        return Status::error(fits.message());
  return {};
}

/// The entry's calls on batches of the data set, if the entry accepts them.
static Result<Phase::Calls> bindCalls(Session &session, const Pair &entry, const Dataset &dataset,
                                      std::span<const Demand> demands, RankShare share) {
  const Artifact &artifact = session.artifact();
  auto mismatch = [&](const char *which, int64_t expected, int64_t found) {
    return Status::error(text("the artifact was compiled for ", artifact.string(entry.whole->name),
                              ' ', which, " of ", expected, " rows, but the data gives ", found,
                              ": compile it again with this data"));
  };
  auto undivided = [&] {
    return Status::error(text("the step takes batches of ", entry.whole->batch,
                              " rows only, and cannot be divided among ranks"));
  };
  int64_t batchSize = dataset.batchSize(), tailSize = dataset.tailSize();
  if (!entry.shorter.empty()) {
    tailSize = 0; // its batches are as compiled
    if (share.isPart() && !entry.whole->any_rows)
      return undivided();
    for (size_t i = 0; i <= entry.shorter.size(); ++i) {
      const auto *taker = i < entry.shorter.size() ? entry.shorter[i] : entry.whole;
      if (Status fits = checkShares(artifact, *taker, dataset.sizesOf(i), share);
          taker->any_rows && !fits.ok())
        return fits;
    }
  } else if (entry.whole->any_rows) {
    Status fits = checkShares(artifact, *entry.whole, {batchSize, tailSize}, share);
    if (!fits.ok())
      return fits;
    tailSize = 0;
  } else if (share.isPart()) {
    return undivided();
  } else if (batchSize != entry.whole->batch) {
    return mismatch("batches", entry.whole->batch, batchSize);
  } else if (tailSize && tailSize != entry.tail->batch) {
    return mismatch("last batches", entry.tail->batch, tailSize);
  }

  Phase::Calls calls;
  auto whole = EntryCall::bind(session, *entry.whole, demands);
  if (!whole)
    return whole.status();
  calls.whole = std::move(*whole);
  if (tailSize) {
    auto tail = EntryCall::bind(session, *entry.tail, demands);
    if (!tail)
      return tail.status();
    calls.tail = std::move(*tail);
  }
  for (const gradc_artifact_entry *shorter : entry.shorter) {
    auto call = EntryCall::bind(session, *shorter, demands);
    if (!call)
      return call.status();
    calls.shorter.push_back(std::move(*call));
  }
  return calls;
}

/// Whether an entry takes a last batch, but not one of this size.
static bool isOtherTail(std::span<const Pair> entries, int64_t tailSize) {
  return std::ranges::any_of(entries, [&](const Pair &entry) {
    return tailSize && !entry.whole->any_rows && entry.tail && entry.tail->batch != tailSize;
  });
}

Result<Phase> Phase::make(Session &session, std::span<const std::string> names, Config data,
                          const Job &job, std::string_view set) {
  std::vector<Pair> pairs;
  DataContext context;
  context.tailAllowed = true;
  for (const std::string &name : names) {
    auto pair = findPair(session, name, set);
    if (!pair)
      return pair.status();
    context.tailAllowed &= pair->whole->any_rows || pair->tail;
    std::string_view whole = session.artifact().string(pair->whole->name);
    if (Status status = findShorter(session, whole, data.child("batch"), *pair); !status.ok())
      return status;
    for (const gradc_artifact_entry *shorter : pair->shorter)
      context.tailAllowed &= shorter->any_rows;
    pairs.push_back(std::move(*pair));
  }
  context.demands = demandsOf(session.artifact(), pairs);
  if (data.position() == job.data.position())
    context.arrays = job.fields;
  std::vector<Demand> demands = context.demands;
  context.folders = job.dataFolders;
  context.seed = job.seed;
  context.share = job.share;
  context.state = job.dataState;
  context.fits = job.fitsData;
  context.interrupt = job.interrupt;
  context.saysWaits = job.saysWaits;
  auto dataset = makeData(session, data, context);
  if (dataset && job.leavesOutRest && isOtherTail(pairs, (*dataset)->tailSize())) {
    context.tailAllowed = false;
    dataset = makeData(session, data, std::move(context));
  }
  if (!dataset)
    return dataset.status();
  Phase phase;
  phase.session = &session;
  phase.set = set;
  phase.dataset = std::move(*dataset);
  for (const Pair &pair : pairs) {
    auto calls = bindCalls(session, pair, *phase.dataset, demands, job.share);
    if (!calls)
      return calls.status();
    phase.entries.push_back(std::move(*calls));
  }
  return phase;
}

std::string findNonFiniteData(const Dataset &dataset, const Batch &batch) {
  std::span<const Field> fields = dataset.fields();
  for (size_t i = 0; i < fields.size(); ++i) {
    size_t perRow = dataset.rowElements(batch, i);
    auto found = firstNonFinite(
        {batch.field(i), size_t(batch.rows) * perRow * fields[i].elementBytes()}, fields[i].dtype);
    if (found)
      return text(dataset.describeRow(batch, found->index / int64_t(perRow)), ", field '",
                  fields[i].name, "', has ", found->value);
  }
  return {};
}

std::string rowsLeftOut(const Dataset &dataset, Config data) {
  int64_t dropped = dataset.droppedRows();
  if (!dropped)
    return {};
  return text(dropped, " of ", dataset.rows() + dropped, " rows, which fill no batch",
              data.child("batch").child("bucket") ? " of their length"
                                                  : text(" of ", dataset.batchSize()));
}

Result<std::vector<Metric>> evaluate(const Phase &phase, uint64_t seed, Communicator *ranks,
                                     const std::atomic<int> *interrupt) {
  MetricTotals totals;
  double losses = 0;
  PhaseWalk walk(phase);
  int64_t rows = 0, counter = 0; // random ops draw other numbers for each batch
  do {
    if (interrupt && interrupt->load())
      return std::vector<Metric>();
    if (Status status = walk.fetch(); !status.ok())
      return status;
    if (walk.batch().rows == 0)
      continue; // fewer rows than ranks
    if (Status status = walk.run({.step = counter++, .seed = seed}, !walk.batch().endsEpoch);
        !status.ok())
      return status;
    EntryCall &call = walk.call();
    if (!std::isfinite(call.loss()))
      if (std::string bad = findNonFiniteData(*phase.dataset, walk.batch()); !bad.empty())
        return Status::error(text("cannot evaluate: ", bad, ", expected a finite number"));
    losses += call.loss() * double(walk.batch().rows);
    totals.add(call.metricResults(), walk.batch().rows);
    rows += walk.batch().rows;
  } while (!walk.batch().endsEpoch);
  if (ranks)
    if (Status status = totals.addUp(*ranks, phase.entries[0].whole->metricResults(), losses, rows);
        !status.ok())
      return status;
  std::vector<Metric> metrics = {{"loss", totals.loss().value_or(losses / double(rows))}};
  for (Metric &metric : totals.metrics())
    metrics.push_back(std::move(metric));
  if (!phase.set.empty())
    for (Metric &metric : metrics)
      metric.name = text(phase.set, '/', metric.name);
  return metrics;
}

} // namespace gradc::runtime
