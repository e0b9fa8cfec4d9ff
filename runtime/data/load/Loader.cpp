// A ring of batches in the order in which they are returned. Threads claim rows of the oldest batch
// with unclaimed rows, and plan the next batch if there is none. The caller takes several finished
// batches at a time, since handing over costs up to a tenth of a small step. It swaps its own batch
// for one of them, and helps with the oldest batch if it would otherwise wait.
#include "runtime/data/load/Loader.h"

#include "runtime/base/Text.h"
#include "runtime/base/Thread.h"
#include "runtime/base/ThreadSlice.h"
#include "runtime/data/Meter.h"
#include "runtime/data/load/BatchRing.h"
#include "runtime/data/load/TuningPeriod.h"
#include "runtime/data/source/MappedFile.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>

namespace gradc::runtime {

namespace {

// A claim costs a lock. The last rows of a batch keep other threads waiting for at most this time.
constexpr double claimSeconds = 50e-6;
// One of this many claims is measured stage by stage. Claims of whole batches, for the stage after
// batch, are counted separately, because a single thread alternates them with claims of rows.
constexpr uint64_t sampling = 8;
// An idle thread sleeps for a quarter of the time that the stored work lasts. Waking it costs the
// caller as much as several small batches, so the caller does so only if the store lasts longer
// than this.
constexpr int64_t shortestNap = 50'000, longestNap = 2'000'000;
// Handing over batches costs two microseconds, so batches worth up to this many nanoseconds go
// together.
constexpr int64_t longestGrant = 1'000'000;
constexpr int64_t readySampling = 16;

class Loader final : public Iterator {
public:
  Loader(const Table &table, const BatchRule &rule, int64_t rows, const LoaderOptions &options)
      : table(table), rule(rule), rows(rows), options(options),
        ring(table, rule, options.batchStage != nullptr, options.hostMemory),
        tuner(options.limits) {
    for (const Field &field : table.fields())
      rowBytes.push_back(field.bytes());
    scratches.push_back(std::make_unique<Scratch>());
    std::lock_guard lock(mutex);
    adapt(tuner.tuning());
    table.letGo(); // the code that made the table may have read all of it
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
  std::unique_lock<std::mutex> lockSoon();
  Status grant();
  void release();
  void takeBack();
  Outcome make(const Claim &claim, Scratch &scratch) const;
  void work(int thread);
  void stop();

  // Requires the lock; `fill` releases it while it makes rows.
  void fill(const Claim &claim, int thread, std::unique_lock<std::mutex> &lock);
  void collect(Meter &meter, int thread);
  void pace(int64_t now);
  void countReady(size_t released);
  void tune(int64_t begin);
  void adapt(InputTuning tuning);
  bool isRunningOut();
  void wakeInTime(std::unique_lock<std::mutex> &lock);
  int64_t nap() const { return int64_t(ring.size()) * interval / 4; }
  size_t grantedAtOnce() const {
    int64_t most =
        std::min(int64_t(ring.size()) / 2, longestGrant / std::max<int64_t>(interval, 1));
    return size_t(std::max<int64_t>(most, 1));
  }
  size_t claimedRows() const {
    return rowSeconds > 0 ? size_t(claimSeconds / rowSeconds) + 1 : SIZE_MAX;
  }

  const Table &table;
  const BatchRule rule;
  const int64_t rows;
  const LoaderOptions options;
  std::vector<size_t> rowBytes;

  // Used by the caller.
  Position at;
  std::vector<Batch> granted; ///< those given out are exchanged for the caller's
  size_t given = 0;           ///< of these
  size_t group = 1;           ///< number granted at once
  int64_t lastGrant = 0, grants = 0, batches = 0;
  std::atomic<size_t> readBytes = 0; ///< since the table last released memory
  TuningPeriod period;

  // Kept separate, so that members used only by the caller stay in its cache.
  alignas(64) std::mutex mutex;
  std::condition_variable ready, room; ///< for the caller; for the workers
  BatchRing ring;
  Autotune tuner;
  InputTuning tuning;
  std::vector<std::unique_ptr<Scratch>> scratches; ///< [thread]
  std::vector<size_t> scratchBytes = {0};          ///< of each, when last measured
  std::vector<Thread> workers;
  bool stopping = false;
  int sleeping = 0;
  int64_t interval = longestNap; ///< between two calls: decaying mean
  double rowSeconds = 0;         ///< decaying mean
  uint64_t rowClaims = 0, batchClaims = 0;

  // Measurements.
  std::vector<Meter::Total> totals;
  bool isTraced = false;
  std::vector<InputSpan> spans;
  double workSeconds = 0, helpSeconds = 0; ///< making batches: all threads, the caller
  double readyBatches = 0;
  int64_t looks = 0; ///< at the number of ready batches
};

Status Loader::next(Batch &batch) {
  if (given == granted.size())
    if (Status status = grant(); !status.ok())
      return status;
  std::swap(batch, granted[given++]);
  at = batch.after;
  if (group == 1) // a long step: other code needs the memory while it runs
    release();
  if (given == granted.size())
    return {};
  // The next batch is in another thread's cache; it is transferred while the step runs.
  auto *next = reinterpret_cast<const std::byte *>(&granted[given]);
  for (size_t line = 0; line < sizeof(Batch); line += 64)
    __builtin_prefetch(next + line, /*rw=*/1);
  return {};
}

/// Threads hold the lock for a microsecond, but sleeping and waking take fifty, so this tries
/// several times first.
std::unique_lock<std::mutex> Loader::lockSoon() {
  std::unique_lock lock(mutex, std::try_to_lock);
  for (int looks = 0; !lock && looks < 1000; ++looks) {
    __builtin_ia32_pause();
    (void)lock.try_lock();
  }
  if (!lock)
    lock.lock();
  return lock;
}

/// Waits for a batch or helps to make it, and takes other finished batches with it.
Status Loader::grant() {
  bool isAlone = workers.empty();
  int64_t begin = isAlone ? 0 : Meter::now();
  std::unique_lock lock = lockSoon();
  size_t released = granted.size();
  takeBack();
  pace(begin);
  while (ring.queue(grantedAtOnce()) == 0) {
    if (const Status *failure = ring.failure())
      return *failure;
    period.sawEmpty();
    // A bad row of the last batch can be skipped only while the batch before it has not been handed
    // out.
    Claim mine = ring.claim(rule.skips ? 2 : 1, isAlone ? SIZE_MAX : claimedRows());
    if (mine.slot)
      fill(mine, 0, lock);
    // It may have just turned out that no batch is left to plan, or that the next one has no rows
    // for this rank.
    else if (!ring.failure() && ring.queue(grantedAtOnce()) == 0)
      ready.wait(lock);
  }
  ring.take(granted);
  group = granted.size();
  granted.front().complaints = ring.takeComplaints();
  batches += int64_t(group);
  countReady(released);
  tune(begin);
  if (group > 1)
    wakeInTime(lock);
  return {};
}

/// Returns the memory of batches that were handed out.
void Loader::release() {
  std::unique_lock lock = lockSoon();
  takeBack();
  wakeInTime(lock);
}

void Loader::takeBack() {
  ring.takeBack(granted);
  given = 0;
}

/// Releases the lock, and wakes threads that would otherwise come too late.
void Loader::wakeInTime(std::unique_lock<std::mutex> &lock) {
  bool wakes = sleeping && isRunningOut();
  lock.unlock();
  if (wakes)
    room.notify_all();
}

/// Measures the time between two batches. Pauses for evaluations are not counted.
void Loader::pace(int64_t now) {
  if (lastGrant && now) {
    int64_t since = (now - lastGrant) / int64_t(group);
    interval += (std::min(since, 2 * interval + 8) - interval) / 8;
  }
  lastGrant = now;
}

/// `released`: slots that were just given back, which no thread could have filled yet.
void Loader::countReady(size_t released) {
  if (grants++ % readySampling && nap() < longestNap)
    return; // batches not yet granted are in other threads' caches
  int ahead = int(granted.size()) + ring.countDone();
  readyBatches += ahead;
  ++looks;
  if (size_t(ahead) + released >= ring.size())
    period.sawFull();
}

/// Whether sleeping threads would wake too late: few batches are left after the granted ones.
bool Loader::isRunningOut() { return !ring.isDone(nap() < longestNap ? 0 : (ring.size() + 1) / 2); }

/// Makes claimed rows, without holding the lock while doing so.
void Loader::fill(const Claim &claim, int thread, std::unique_lock<std::mutex> &lock) {
  Scratch &scratch = *scratches[size_t(thread)];
  Meter &meter = scratch.meter();
  uint64_t &claims = claim.rows() ? rowClaims : batchClaims;
  meter.isOn = isTraced || claims++ % sampling == 0;
  meter.keepsSpans = isTraced;
  lock.unlock();
  int64_t begin = Meter::now();
  Outcome outcome = make(claim, scratch);
  size_t bytes = 0;
  for (size_t ofField : rowBytes)
    bytes += ofField * size_t(claim.rows());
  if (readBytes.fetch_add(bytes) + bytes >= lettingGoBytes) {
    readBytes = 0;
    table.letGo(); // threads that read meanwhile get their pages back
  }
  double seconds = double(Meter::now() - begin) / 1e9;
  lock.lock();

  if (claim.rows())
    rowSeconds += (seconds / double(claim.rows()) - rowSeconds) / (rowSeconds > 0 ? 8 : 1);
  workSeconds += seconds;
  if (thread == 0)
    helpSeconds += seconds;
  if (meter.isOn) {
    collect(meter, thread);
    scratchBytes[size_t(thread)] = scratch.bytes();
  }
  ring.finish(claim, std::move(outcome));
  ring.queue(grantedAtOnce());
  if (claim.slot->working == 0 && thread != 0)
    ready.notify_one();
}

Outcome Loader::make(const Claim &claim, Scratch &scratch) const {
  const BatchPlan &plan = claim.slot->plan;
  Batch &batch = claim.slot->batch;
  std::span<const int64_t> rows(plan.rows);
  if (claim.rows() == 0) {
    batch.begin = plan.begin;
    batch.rows = plan.ownRows();
    return {.status = options.batchStage->apply(batch, {plan.begin.epoch, rows}, scratch)};
  }
  Outcome outcome;
  size_t step = rule.skips || options.rowByRow ? 1 : claim.rows();
  for (size_t begin = claim.begin; begin < claim.end; begin += step) {
    RowList list = {plan.begin.epoch, rows.subspan(begin, step)};
    for (size_t field = 0; field < rowBytes.size(); ++field) {
      Status status =
          table.read(field, list, scratch, batch.field(field) + begin * rowBytes[field]);
      if (status.ok())
        continue;
      if (!rule.skips)
        return {.status = std::move(status), .failedAt = begin};
      outcome.bad.push_back({begin, status.message()});
      break;
    }
  }
  return outcome;
}

/// Adds a thread's measurements to the totals.
void Loader::collect(Meter &meter, int thread) {
  totals.resize(std::max(totals.size(), meter.totals.size()));
  for (size_t i = 0; i < meter.totals.size(); ++i) {
    totals[i].nanoseconds += meter.totals[i].nanoseconds;
    totals[i].rows += meter.totals[i].rows;
    meter.totals[i] = {};
  }
  for (const Meter::Span &span : meter.spans)
    spans.push_back({options.stages[span.stage], thread, span.begin, span.end});
  meter.spans.clear();
}

void Loader::work(int thread) {
  preferShortSlices(); // the store lasts as long as a time slice of the step's threads
  std::unique_lock lock(mutex);
  while (!stopping) {
    Claim mine = ring.claim(ring.size(), claimedRows());
    if (mine.slot) {
      fill(mine, thread, lock);
      continue;
    }
    ++sleeping;
    room.wait_for(lock, std::chrono::nanoseconds(std::clamp(nap(), shortestNap, longestNap)));
    --sleeping;
  }
}

void Loader::tune(int64_t begin) {
  std::optional<InputPeriod> seen;
  if (begin) {
    period.countWait(begin, Meter::now(), granted.size());
    seen = period.closeBeside(workSeconds, helpSeconds);
  } else {
    seen = period.closeAlone(workSeconds);
  }
  if (!seen)
    return;
  InputTuning wanted = tuner.decide(*seen);
  // Every thread's scratch is assumed to be as large as the largest one.
  size_t scratch = *std::max_element(scratchBytes.begin(), scratchBytes.end());
  size_t bytes = size_t(wanted.depth + options.heldBatches) * ring.batchBytes() +
                 size_t(wanted.workers + 1) * scratch;
  if (wanted != tuning && bytes <= options.budget)
    adapt(wanted);
}

/// Applies the chosen numbers of threads and batches. The ring and the number of threads only grow.
void Loader::adapt(InputTuning wanted) {
  tuning = wanted;
  int ahead = wanted.workers ? wanted.depth : 1;
  ring.grow(size_t(std::max(ahead, rule.skips ? 2 : 1)));
  while (int(workers.size()) < wanted.workers) {
    int thread = int(workers.size()) + 1;
    scratches.push_back(std::make_unique<Scratch>());
    scratchBytes.push_back(0);
    auto worker = Thread::start([this, thread] { work(thread); });
    if (!worker) {
      scratches.pop_back(); // fewer threads suffice
      scratchBytes.pop_back();
      break;
    }
    workers.push_back(*worker);
  }
}

void Loader::stop() {
  {
    std::lock_guard lock(mutex);
    stopping = true;
  }
  room.notify_all();
  for (Thread &worker : workers)
    worker.join();
  workers.clear();
  stopping = false;
}

Status Loader::restore(Position position) {
  if (position.row >= uint64_t(rows))
    return Status::error(text("cannot go on at row ", position.row,
                              " of an epoch: ", table.origin(), " gives ", RowCount{rows}));
  stop();
  std::lock_guard lock(mutex); // the first thread runs before the last one has started
  takeBack();
  ring.restart(position);
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
  report.prefetches = report.isFixed || options.limits.maxWorkers > 0;
  report.depth = workers.empty() ? 0 : int(ring.size());
  report.budget = options.memory;
  report.bytes = (ring.size() + size_t(options.heldBatches)) * ring.batchBytes();
  for (size_t bytes : scratchBytes)
    report.bytes += bytes;
  report.bytes += table.held();
  report.ready = looks ? readyBatches / double(looks) : 0;
  report.workSeconds = workSeconds;
  report.batches = batches - int64_t(granted.size() - given);
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

} // namespace gradc::runtime
