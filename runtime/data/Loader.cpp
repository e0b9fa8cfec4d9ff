// A ring of batches in the order in which they are given out. Threads claim rows of the oldest
// batch that has some left, and plan the next batch when none has; the caller exchanges its own
// batch for the oldest one, and helps with that one where it would have to wait.
#include "runtime/data/Loader.h"

#include "runtime/core/Text.h"
#include "runtime/data/MappedFile.h"
#include "runtime/data/Meter.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <numeric>
#include <system_error>
#include <thread>
#include <utility>

namespace gradc {

namespace {

// A claim costs a lock, and the last rows of a batch keep other threads waiting at most so long.
constexpr double claimSeconds = 50e-6;
// One claim in so many is measured stage by stage.
constexpr uint64_t sampling = 8;
constexpr int64_t windowNanoseconds = 50'000'000, windowBatches = 16;
// A thread without work sleeps for a quarter of what is in store. To wake it costs the caller as
// much as several small batches, so that it does only where they last longer than this.
constexpr int64_t shortestNap = 50'000, longestNap = 2'000'000;
constexpr int64_t levelSampling = 16;

struct BadRow {
  size_t index; ///< in its batch
  std::string complaint;
};

/// A batch under way.
struct Slot {
  Batch batch;
  BatchPlan plan;
  bool isPlanned = false;
  bool isStaged = false; ///< the stage behind batch has run, or there is none
  size_t claimed = 0;    ///< rows
  int working = 0;       ///< threads on claimed rows
  std::vector<BadRow> bad;
  Status status; ///< of row `failedAt`
  size_t failedAt = 0;

  bool hasRows() const { return isPlanned && working == 0 && claimed == plan.rows.size(); }
  bool isDone() const { return hasRows() && isStaged; }
};

/// Rows to make; none of a batch that has them all: the stage behind batch.
struct Claim {
  Slot *slot = nullptr;
  size_t begin = 0, end = 0;
};

class Loader final : public Iterator {
public:
  Loader(const Table &table, const BatchRule &rule, int64_t rows, const LoaderOptions &options)
      : table(table), rule(rule), rows(rows), options(options), planner(table, rule),
        tuner(options.limits) {
    for (const Field &field : table.fields())
      rowBytes.push_back(field.bytes());
    scratches.push_back(std::make_unique<Scratch>());
    std::lock_guard lock(mutex);
    adapt(tuner.tuning());
    table.letGo(); // whoever made the table may have read all of it
  }
  ~Loader() override { stop(); }

  Status next(Batch &batch) override;
  Position position() const override { return at; }
  Status restore(Position position) override;
  InputReport report() override;
  void trace() override {
    std::lock_guard lock(mutex);
    isTraced = true;
  }
  void takeSpans(std::vector<InputSpan> &taken) override {
    std::lock_guard lock(mutex);
    taken.swap(spans);
    spans.clear();
  }

private:
  // All but `fill` and `work` is called under the lock.
  Claim claim(size_t slots, bool whole);
  bool isReady();
  int countDone();
  bool isRunningOut();
  int64_t nap() const { return int64_t(ring.size()) * interval / 4; }
  void repair(size_t index);
  void complain(int64_t row, std::string complaint);
  bool planSlot(size_t index);
  void endEpochBefore(size_t index);
  void discardFrom(size_t index);
  void finish(const Claim &claim, Status status, size_t failedAt, std::vector<BadRow> bad,
              int thread, double seconds);
  void adapt(InputTuning tuning);
  void observe(int64_t begin, int64_t end, bool waited);
  Slot &slotAt(size_t index) { return *ring[(first + index) % ring.size()]; }
  void stop();

  void fill(const Claim &claim, int thread, std::unique_lock<std::mutex> &lock);
  Status fillRows(const Claim &claim, Scratch &scratch, size_t &failedAt,
                  std::vector<BadRow> &bad) const;
  void work(int thread);

  const Table &table;
  const BatchRule rule;
  const int64_t rows;
  const LoaderOptions options;
  std::vector<size_t> rowBytes;
  Position at; ///< the caller's

  std::mutex mutex;
  std::condition_variable ready, room; ///< for the caller; for the workers
  BatchPlanner planner;
  std::vector<std::unique_ptr<Slot>> ring;
  size_t first = 0;
  Autotune tuner;
  InputTuning tuning;
  double rowSeconds = 0; ///< mean that forgets
  uint64_t claims = 0;
  std::vector<std::unique_ptr<Scratch>> scratches; ///< [thread]
  std::vector<size_t> scratchBytes = {0};          ///< of each, when it was last measured
  std::vector<std::thread> workers;
  bool stopping = false;
  bool failed = false;                 ///< nothing more is planned
  std::vector<std::string> complaints; ///< not told yet
  struct {
    int64_t row;
    std::string complaint;
  } firstBad = {};
  int sleeping = 0;
  int64_t interval = longestNap; ///< between two calls: mean that forgets
  int64_t lastCall = 0;

  // Measured.
  std::vector<Meter::Total> totals;
  bool isTraced = false;
  std::vector<InputSpan> spans;
  double workSeconds = 0, levels = 0;
  std::vector<double> costs; ///< of the batches of a window that the caller makes
  int64_t given = 0;
  size_t readBytes = 0; ///< since the table let go
  struct {
    int64_t begin = 0, waited = 0, batches = 0;
    double workBefore = 0;
    bool sawFull = false, sawEmpty = false;
  } window;
};

Status Loader::next(Batch &batch) {
  std::unique_lock lock(mutex);
  int64_t begin = workers.empty() ? 0 : Meter::now();
  if (lastCall && begin) // a pause, for an evaluation, says nothing
    interval += (std::min(begin - lastCall, 2 * interval + 8) - interval) / 8;
  lastCall = begin;
  bool waited = !isReady();
  while (!isReady()) {
    // To skip a bad row of the last batch the one before it must not have been given out.
    Claim mine = claim(rule.skips ? 2 : 1, workers.empty());
    if (mine.slot)
      fill(mine, 0, lock);
    else
      ready.wait(lock);
  }
  Slot &slot = slotAt(0);
  if (!slot.status.ok()) // stays there: nothing follows it
    return slot.status;
  if (given % levelSampling == 0) { // other batches lie in other threads' caches
    int ahead = countDone();
    levels += ahead;
    window.sawFull |= ahead == int(ring.size());
  }
  bool wakes = sleeping && isRunningOut();

  std::swap(batch, slot.batch);
  batch.rows = int64_t(slot.plan.rows.size());
  batch.after = at = slot.plan.after;
  batch.endsEpoch = slot.plan.endsEpoch;
  batch.skipped = slot.plan.skipped;
  batch.complaints = std::exchange(complaints, {});
  slot.isPlanned = false;
  first = (first + 1) % ring.size();
  ++given;
  readBytes += batch.bytes();
  if (readBytes >= lettingGoBytes) {
    table.letGo();
    readBytes = 0;
  }
  observe(begin, workers.empty() ? 0 : Meter::now(), waited);
  lock.unlock();
  // The next one lies in another thread's cache: it comes while the step runs.
  auto *next = reinterpret_cast<const std::byte *>(&slotAt(0));
  for (size_t line = 0; line < sizeof(Slot); line += 64)
    __builtin_prefetch(next + line);
  if (wakes)
    room.notify_all();
  return {};
}

int Loader::countDone() {
  int done = 0;
  for (size_t i = 0; i < ring.size(); ++i)
    done += slotAt(i).isDone();
  return done;
}

/// Whether threads that sleep would come too late: few batches are left behind the first.
bool Loader::isRunningOut() {
  size_t kept = nap() < longestNap ? 1 : (ring.size() + 1) / 2 + 1;
  return kept >= ring.size() || !slotAt(kept).isDone();
}

bool Loader::isReady() {
  Slot &front = slotAt(0);
  if (front.hasRows())
    repair(0);
  if (!front.isDone())
    return false;
  if (!rule.skips || front.plan.endsEpoch || !front.status.ok())
    return true;
  if (slotAt(1).hasRows())
    repair(1);
  return slotAt(1).isDone();
}

/// Takes bad rows out of a finished batch and plans those that take their places.
void Loader::repair(size_t index) {
  Slot &slot = slotAt(index);
  if (slot.bad.empty())
    return;
  // 1. The good rows move together.
  std::sort(slot.bad.begin(), slot.bad.end(),
            [](const BadRow &a, const BadRow &b) { return a.index < b.index; });
  size_t kept = 0, nextBad = 0;
  for (size_t i = 0; i < slot.plan.rows.size(); ++i) {
    if (nextBad < slot.bad.size() && slot.bad[nextBad].index == i) {
      complain(slot.plan.rows[i], std::move(slot.bad[nextBad].complaint));
      ++nextBad;
      continue;
    }
    if (kept != i)
      for (size_t field = 0; field < rowBytes.size(); ++field)
        std::memmove(slot.batch.field(field) + kept * rowBytes[field],
                     slot.batch.field(field) + i * rowBytes[field], rowBytes[field]);
    ++kept;
  }
  slot.bad.clear();

  // 2. What follows begins elsewhere now.
  discardFrom(index + 1);
  planner.moveTo(slot.plan.begin);
  uint64_t epoch = slot.plan.begin.epoch;
  slot.isPlanned = false;
  if (planSlot(index) && slot.plan.begin.epoch == epoch)
    slot.claimed = kept;
}

/// Tells of a bad row once, with the next batch given out whichever that is.
void Loader::complain(int64_t row, std::string complaint) {
  if (!planner.markBad(row))
    return;
  if (firstBad.complaint.empty() || row < firstBad.row)
    firstBad = {row, complaint};
  complaints.push_back(std::move(complaint));
}

void Loader::discardFrom(size_t index) {
  failed = false;
  for (; index < ring.size(); ++index) {
    Slot &slot = slotAt(index);
    slot.isPlanned = false;
    slot.claimed = slot.plan.rows.size();
  }
}

/// Plans a batch at the planner's cursor; false when an epoch has nothing to give.
bool Loader::planSlot(size_t index) {
  Slot &slot = slotAt(index);
  slot.claimed = 0;
  slot.bad.clear();
  slot.status = {};
  slot.isStaged = !options.batchStage;
  for (int attempt = 0; attempt < 2; ++attempt) {
    Position begin = planner.cursor();
    if (planner.plan(slot.plan)) {
      slot.isPlanned = true;
      return true;
    }
    if (begin.row == 0)
      break;
    endEpochBefore(index);
  }
  slot.plan.rows.clear();
  slot.isPlanned = slot.isStaged = failed = true;
  slot.status =
      Status::error(text("an epoch of ", table.origin(),
                         " has fewer rows that can be read "
                         "than a batch of ",
                         rule.size, ": ", planner.badRows(), " are bad; ", firstBad.complaint));
  return false;
}

/// The batch before turns out to be the last one of its epoch.
void Loader::endEpochBefore(size_t index) {
  if (index == 0)
    return;
  BatchPlan &before = slotAt(index - 1).plan;
  before.endsEpoch = true;
  before.after = planner.cursor();
}

Claim Loader::claim(size_t slots, bool whole) {
  for (size_t i = 0; i < std::min(slots, ring.size()); ++i) {
    Slot &slot = slotAt(i);
    if (slot.hasRows())
      repair(i);
    if (!slot.isPlanned) {
      if (failed || slot.working > 0) // what a thread still writes there is not wanted any more
        return {};
      planSlot(i);
    }
    size_t count = slot.plan.rows.size(), left = count - slot.claimed;
    if (left == 0 && (slot.isStaged || slot.working > 0))
      continue;
    size_t wanted = whole || rowSeconds <= 0 ? left : size_t(claimSeconds / rowSeconds) + 1;
    size_t begin = slot.claimed, end = std::min(count, begin + wanted);
    slot.claimed = end;
    ++slot.working;
    return {&slot, begin, end};
  }
  return {};
}

/// Makes claimed rows; without the lock while it does.
void Loader::fill(const Claim &claim, int thread, std::unique_lock<std::mutex> &lock) {
  Scratch &scratch = *scratches[size_t(thread)];
  Meter &meter = scratch.meter();
  meter.isOn = isTraced || claims % sampling == 0;
  meter.keepsSpans = isTraced;
  ++claims;
  lock.unlock();
  int64_t begin = Meter::now();
  size_t failedAt = 0;
  std::vector<BadRow> bad;
  Status status = fillRows(claim, scratch, failedAt, bad);
  double seconds = double(Meter::now() - begin) / 1e9;
  lock.lock();
  finish(claim, std::move(status), failedAt, std::move(bad), thread, seconds);
}

Status Loader::fillRows(const Claim &claim, Scratch &scratch, size_t &failedAt,
                        std::vector<BadRow> &bad) const {
  const BatchPlan &plan = claim.slot->plan;
  Batch &batch = claim.slot->batch;
  std::span<const int64_t> rows(plan.rows);
  if (claim.begin == claim.end)
    return options.batchStage->apply(batch, {plan.begin.epoch, rows}, scratch);
  size_t step = rule.skips || options.rowByRow ? 1 : claim.end - claim.begin;
  for (size_t begin = claim.begin; begin < claim.end; begin += step) {
    RowList list = {plan.begin.epoch, rows.subspan(begin, step)};
    for (size_t field = 0; field < rowBytes.size(); ++field) {
      Status status =
          table.read(field, list, scratch, batch.field(field) + begin * rowBytes[field]);
      if (status.ok())
        continue;
      if (!rule.skips) {
        failedAt = begin;
        return status;
      }
      bad.push_back({begin, status.message()});
      break;
    }
  }
  return {};
}

void Loader::finish(const Claim &claim, Status status, size_t failedAt, std::vector<BadRow> bad,
                    int thread, double seconds) {
  Slot &slot = *claim.slot;
  --slot.working;
  auto rowsMade = double(claim.end - claim.begin);
  if (rowsMade > 0)
    rowSeconds += (seconds / rowsMade - rowSeconds) / (rowSeconds > 0 ? 8 : 1);
  workSeconds += seconds;
  Meter &meter = scratches[size_t(thread)]->meter();
  if (meter.isOn) {
    totals.resize(std::max(totals.size(), meter.totals.size()));
    for (size_t i = 0; i < meter.totals.size(); ++i) {
      totals[i].nanoseconds += meter.totals[i].nanoseconds;
      totals[i].rows += meter.totals[i].rows;
      meter.totals[i] = {};
    }
    for (const Meter::Span &span : meter.spans)
      spans.push_back({options.stages[span.stage], thread, span.begin, span.end});
    meter.spans.clear();
    scratchBytes[size_t(thread)] = scratches[size_t(thread)]->bytes();
  }
  // A batch that was discarded meanwhile is planned anew once nobody works on it.
  if (slot.isPlanned) {
    slot.isStaged |= rowsMade == 0 || !status.ok();
    if (!status.ok()) {
      if (slot.status.ok() || failedAt < slot.failedAt) {
        slot.status = std::move(status);
        slot.failedAt = failedAt;
      }
      slot.claimed = slot.plan.rows.size();
      failed = true;
    }
    std::move(bad.begin(), bad.end(), std::back_inserter(slot.bad));
  }
  if (slot.working == 0 && thread != 0)
    ready.notify_one();
}

void Loader::work(int thread) {
  std::unique_lock lock(mutex);
  while (!stopping) {
    Claim mine = claim(ring.size(), /*whole=*/false);
    if (mine.slot) {
      fill(mine, thread, lock);
      continue;
    }
    ++sleeping;
    room.wait_for(lock, std::chrono::nanoseconds(std::clamp(nap(), shortestNap, longestNap)));
    --sleeping;
  }
}

/// After so many batches, or so long, decides anew.
void Loader::observe(int64_t begin, int64_t end, bool waited) {
  ++window.batches;
  double work = workSeconds - window.workBefore;
  double waitShare = 1;
  if (workers.empty()) {
    costs.push_back(work - std::accumulate(costs.begin(), costs.end(), 0.0));
    if (window.batches < windowBatches && work < 5e-3)
      return;
    end = Meter::now();
    // Of the batches' costs the median: one that was interrupted tells nothing.
    auto middle = costs.begin() + ptrdiff_t(costs.size() / 2);
    std::nth_element(costs.begin(), middle, costs.end());
    work = *middle * double(window.batches);
    waitShare = window.begin ? 1e9 * work / double(end - window.begin) : 0;
    costs.clear();
  } else {
    if (window.begin == 0)
      window.begin = begin;
    window.waited += end - begin;
    window.sawEmpty |= waited;
    int64_t length = end - window.begin;
    bool isLong = window.batches >= windowBatches || length >= 10 * windowNanoseconds;
    if (length < windowNanoseconds || !isLong)
      return;
    waitShare = double(window.waited) / double(length);
  }
  InputTuning wanted =
      tuner.decide({waitShare, work / double(window.batches), window.sawFull, window.sawEmpty});
  window = {end, 0, 0, workSeconds, false, false};
  // Another thread's scratch is taken to be as large as the largest.
  size_t scratch = *std::max_element(scratchBytes.begin(), scratchBytes.end());
  size_t bytes = (size_t(wanted.depth) + 1) * ring.front()->batch.bytes() +
                 size_t(wanted.workers + 1) * scratch;
  if (wanted != tuning && bytes <= options.budget)
    adapt(wanted);
}

/// Threads and batches as decided. The ring only grows, and threads only come.
void Loader::adapt(InputTuning wanted) {
  tuning = wanted;
  int ahead = wanted.workers ? wanted.depth : 1;
  auto size = size_t(std::max(ahead, rule.skips ? 2 : 1));
  std::rotate(ring.begin(), ring.begin() + ptrdiff_t(first), ring.end());
  first = 0;
  while (ring.size() < size) {
    ring.push_back(std::make_unique<Slot>());
    ring.back()->batch = Batch(table.fields(), rule.size);
  }
  while (int(workers.size()) < wanted.workers) {
    int thread = int(workers.size()) + 1;
    scratches.push_back(std::make_unique<Scratch>());
    scratchBytes.push_back(0);
    try {
      workers.emplace_back([this, thread] { work(thread); });
    } catch (const std::system_error &) {
      scratches.pop_back(); // fewer threads do it too
      scratchBytes.pop_back();
      break;
    }
  }
}

void Loader::stop() {
  {
    std::lock_guard lock(mutex);
    stopping = true;
  }
  room.notify_all();
  for (std::thread &worker : workers)
    worker.join();
  workers.clear();
  stopping = false;
}

Status Loader::restore(Position position) {
  if (position.row >= uint64_t(rows))
    return Status::error(text("cannot go on at row ", position.row,
                              " of an epoch: ", table.origin(), " gives ", rows, " rows"));
  stop();
  std::lock_guard lock(mutex); // the first thread runs before the last one is there
  discardFrom(0);
  planner.moveTo(position);
  at = position;
  scratches.resize(1);
  scratchBytes.resize(1);
  adapt(tuning);
  return {};
}

InputReport Loader::report() {
  std::lock_guard lock(mutex);
  InputReport report;
  report.workers = int(workers.size());
  report.isFixed = options.limits.workers > 0;
  report.prefetches = report.isFixed || options.limits.mostWorkers > 0;
  report.depth = workers.empty() ? 0 : int(ring.size());
  report.budget = options.memory;
  report.bytes = (ring.size() + 1) * ring.front()->batch.bytes();
  for (size_t bytes : scratchBytes)
    report.bytes += bytes;
  report.bytes += table.held();
  report.level = given ? levels / double((given + levelSampling - 1) / levelSampling) : 0;
  report.workSeconds = workSeconds;
  report.batches = given;
  for (size_t i = 0; i < totals.size() && i < options.stages.size(); ++i)
    if (totals[i].rows)
      report.stages.push_back(
          {options.stages[i], double(totals[i].nanoseconds) / 1e9, totals[i].rows});
  return report;
}

} // namespace

std::unique_ptr<Iterator> makeLoader(const Table &table, const BatchRule &rule, int64_t rows,
                                     const LoaderOptions &options) {
  return std::make_unique<Loader>(table, rule, rows, options);
}

} // namespace gradc
