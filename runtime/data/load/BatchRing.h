// The unfinished and ready batches, in the order in which they are returned.
#ifndef RUNTIME_DATA_LOAD_BATCHRING_H
#define RUNTIME_DATA_LOAD_BATCHRING_H

#include "runtime/data/load/BatchPlan.h"

#include <memory>

namespace gradc::runtime {

struct BadRow {
  size_t index; ///< in its batch
  std::string complaint;
};

/// A batch in the ring.
struct Slot {
  Batch batch; ///< without memory if `isEmpty`
  BatchPlan plan;
  bool isEmpty = true;
  bool isPlanned = false;
  bool isStaged = false; ///< the stage after batch has run, or does not exist
  size_t claimed = 0;    ///< rows
  int working = 0;       ///< threads on claimed rows
  std::vector<BadRow> bad;
  Status status; ///< of row `failedAt`
  size_t failedAt = 0;

  bool hasRows() const { return isPlanned && working == 0 && claimed == plan.rows.size(); }
  bool isDone() const { return hasRows() && isStaged; }
};

/// Rows to make; empty for a batch that has all its rows and needs the stage after batch.
struct Claim {
  Slot *slot = nullptr;
  size_t begin = 0, end = 0;

  size_t rows() const { return end - begin; }
};

/// The result of a claim.
struct Outcome {
  Status status; ///< of row `failedAt`
  size_t failedAt = 0;
  std::vector<BadRow> bad = {};
};

/// Plans batches into slots, hands out their rows to be made, removes bad rows, and queues ready
/// batches. Not synchronized. The thread that claimed rows writes to the slot; only this class
/// records that rows are made and that a batch is done.
class BatchRing {
public:
  /// `hasStage`: a stage after batch must be claimed as well.
  BatchRing(const Table &table, const BatchRule &rule, bool hasStage,
            std::shared_ptr<HostMemory> memory)
      : table(table), rule(rule), hasStage(hasStage), memory(std::move(memory)),
        planner(table, rule) {}

  /// The number of batches with memory.
  size_t size() const { return slots.size(); }
  /// Grows to `size` batches; never shrinks.
  void grow(size_t size);
  size_t batchBytes() const { return bytes; }

  /// Queues ready batches while fewer than `most` are queued. Returns the number of queued batches.
  size_t queue(size_t most);
  /// Hands over the queued batches.
  void take(std::vector<Batch> &batches) { batches.swap(queued); }
  /// Takes back batches that were handed out; later batches reuse their memory.
  void takeBack(std::vector<Batch> &batches);
  /// The reason if no further batch follows the queued ones; otherwise null.
  const Status *failure();

  /// Whether batch `index` is done, counted from the next one to be handed over.
  bool isDone(size_t index);
  int countDone();

  /// Claims up to `rows` rows of the oldest of the first `among` batches with unclaimed rows.
  Claim claim(size_t among, size_t rows);
  void finish(const Claim &claim, Outcome outcome);

  /// Drops all batches and restarts at `position`. No thread may work on a batch, and all batches
  /// must have been given back.
  void restart(Position position);

  /// Warnings about rows found bad since the last call.
  std::vector<std::string> takeComplaints();

private:
  /// A slot, counted from the first batch after the queued ones.
  Slot &slot(size_t index) { return *slots[(first + index) % slots.size()]; }
  bool isReady(size_t index);
  bool isComplete(size_t index);
  bool findMemory(Slot &empty);
  void keepShare(Batch &batch) const;
  void repair(size_t index);
  void complain(int64_t row, std::string complaint);
  bool plan(size_t index);
  void endEpochBefore(size_t index);
  void discardFrom(size_t index);

  const Table &table;
  const BatchRule rule;
  const bool hasStage;
  const std::shared_ptr<HostMemory> memory;
  BatchPlanner planner;
  std::vector<std::unique_ptr<Slot>> slots;
  size_t bytes = 0; ///< of a batch
  size_t first = 0;
  size_t complete = 0; ///< batches at the front that are done and have no bad rows left
  bool failed = false; ///< no more batches are planned
  // Stored in one array, so that the caller takes all at once and touches no slot: slots are in the
  // caches of other threads.
  std::vector<Batch> queued, spare;
  std::vector<std::string> complaints; ///< not reported yet
  BadRow firstBad = {};                ///< by its number in the table
};

} // namespace gradc::runtime

#endif
