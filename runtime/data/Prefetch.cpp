// Makes batches ahead of the step, on a thread of its own where that pays.
#include "runtime/core/Text.h"
#include "runtime/data/Stages.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <sched.h>
#include <thread>

namespace gradc {

namespace {

using Clock = std::chrono::steady_clock;

// Handing a batch over and waking a thread costs tens of microseconds: cheaper batches are made by
// the caller.
constexpr auto worthAThread = std::chrono::microseconds(50);

class Prefetch final : public Dataset {
public:
  Prefetch(std::shared_ptr<const Dataset> input, size_t depth, PrefetchThread thread)
      : input(std::move(input)), depth(depth), thread(thread) {}

  std::span<const Field> fields() const override { return input->fields(); }
  int64_t rows() const override { return input->rows(); }
  int64_t batchSize() const override { return input->batchSize(); }
  int64_t tailSize() const override { return input->tailSize(); }
  int64_t batchesPerEpoch() const override { return input->batchesPerEpoch(); }
  int64_t droppedRows() const override { return input->droppedRows(); }
  std::unique_ptr<Iterator> iterate() const override;

  const std::shared_ptr<const Dataset> input;
  const size_t depth;
  const PrefetchThread thread;
};

/// A ring of batches: the worker fills slots in order, the caller takes them by exchanging its own
/// batch for the full one.
class PrefetchIterator final : public Iterator {
public:
  explicit PrefetchIterator(const Prefetch &dataset)
      : dataset(dataset), input(dataset.input->iterate()), at(input->position()) {
    cpu_set_t cpus;
    bool alone = sched_getaffinity(0, sizeof cpus, &cpus) == 0 && CPU_COUNT(&cpus) == 1;
    mayStart = dataset.thread != PrefetchThread::never &&
               (dataset.thread == PrefetchThread::always || !alone);
  }
  ~PrefetchIterator() override { stop(); }

  Status next(Batch &batch) override {
    if (!worker.joinable() && dataset.thread == PrefetchThread::always)
      start();
    Status status = worker.joinable() ? take(batch) : make(batch);
    if (status.ok())
      at = batch.after;
    return status;
  }

  Position position() const override { return at; }

  Status restore(Position position) override {
    stop();
    if (Status status = input->restore(position); !status.ok())
      return status;
    at = position;
    return {};
  }

private:
  struct Slot {
    Batch batch;
    Status status;
  };

  Status make(Batch &batch) {
    if (!mayStart)
      return input->next(batch);
    Clock::time_point begin = Clock::now();
    Status status = input->next(batch);
    // A mean that forgets, so that one slow batch (the first, a new epoch's order) starts nothing.
    meanCost += (Clock::now() - begin - meanCost) / 8;
    if (status.ok() && meanCost > worthAThread)
      start();
    return status;
  }

  Status take(Batch &batch) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return full > 0; });
    Slot &slot = slots[first];
    if (!slot.status.ok()) // stays there: nothing follows it
      return slot.status;
    std::swap(batch, slot.batch);
    first = (first + 1) % slots.size();
    --full;
    bool workerWaits = full + 1 == slots.size();
    lock.unlock();
    if (workerWaits)
      changed.notify_one();
    return {};
  }

  void start() {
    if (slots.empty()) {
      slots.resize(dataset.depth);
      for (Slot &slot : slots)
        slot.batch = dataset.allocate();
    }
    first = full = 0;
    stopping = false;
    worker = std::thread([this] { work(); });
  }

  void work() {
    for (size_t index = 0;; index = (index + 1) % slots.size()) {
      {
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return stopping || full < slots.size(); });
        if (stopping)
          return;
      }
      // The slot is empty: until it is counted as full, it is the worker's alone.
      Slot &slot = slots[index];
      slot.status = input->next(slot.batch);
      bool failed = !slot.status.ok();
      {
        std::lock_guard lock(mutex);
        ++full;
      }
      changed.notify_one();
      if (failed)
        return;
    }
  }

  void stop() {
    if (!worker.joinable())
      return;
    {
      std::lock_guard lock(mutex);
      stopping = true;
    }
    changed.notify_one();
    worker.join();
  }

  const Prefetch &dataset;
  std::unique_ptr<Iterator> input;
  Position at;
  bool mayStart;
  Clock::duration meanCost{};

  std::vector<Slot> slots;
  std::mutex mutex;
  std::condition_variable changed;
  size_t first = 0; ///< the oldest full slot
  size_t full = 0;
  bool stopping = false;
  std::thread worker;
};

std::unique_ptr<Iterator> Prefetch::iterate() const {
  return std::make_unique<PrefetchIterator>(*this);
}

} // namespace

std::shared_ptr<const Dataset> makePrefetch(std::shared_ptr<const Dataset> input, size_t depth,
                                            PrefetchThread thread) {
  return std::make_shared<Prefetch>(std::move(input), depth, thread);
}

Status applyPrefetch(Config config, const DataContext &, Pipeline &pipeline) {
  int64_t depth = config.integer("depth", 0);
  if (depth < 0 || depth > 1024)
    return Status::invalid(
        text("prefetch { depth } is ", depth, ", expected 0 (AUTOTUNE) to 1024"));
  if (!pipeline.dataset)
    return Status::invalid("data stage 'prefetch' comes before batch");
  pipeline.dataset =
      makePrefetch(pipeline.dataset, size_t(depth ? depth : 2), PrefetchThread::whenItPays);
  return {};
}

} // namespace gradc
