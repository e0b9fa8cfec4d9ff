// The batches under way, in the order in which they are given out.
#ifndef RUNTIME_DATA_BATCHRING_H
#define RUNTIME_DATA_BATCHRING_H

#include "runtime/data/load/BatchPlan.h"

#include <memory>

namespace gradc::runtime {

struct BadRow {
  size_t index; ///< in its batch
  std::string complaint;
};

/// A batch under way.
struct Slot {
  Batch batch; ///< no memory where `isEmpty`
  BatchPlan plan;
  bool isEmpty = true;
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

  size_t rows() const { return end - begin; }
};

/// What came of a claim.
struct Outcome {
  Status status; ///< of row `failedAt`
  size_t failedAt = 0;
  std::vector<BadRow> bad = {};
};

/// Plans batches into slots, hands out their rows to be made, takes bad ones out, and queues what
/// is ready. Not synchronized. A slot is written by whoever has claimed its rows; that its rows are
/// made, and that it is done, is seen here alone.
class BatchRing {
public:
  /// A batch has a stage behind it to claim, or none.
  BatchRing(const Table &table, const BatchRule &rule, bool hasStage,
            std::shared_ptr<HostMemory> memory)
      : table(table), rule(rule), hasStage(hasStage), memory(std::move(memory)),
        planner(table, rule) {}

  /// Batches that there is memory for.
  size_t size() const { return slots.size(); }
  /// Never fewer.
  void grow(size_t size);
  size_t batchBytes() const { return bytes; }

  /// Queues batches that are ready as long as fewer than `most` are queued. How many are then.
  size_t queue(size_t most);
  /// Hands over what is queued.
  void take(std::vector<Batch> &batches) { batches.swap(queued); }
  /// Batches that were given out: later ones take their memory.
  void takeBack(std::vector<Batch> &batches);
  /// Why there is no batch behind what is queued, nor ever will be; null: there will.
  const Status *failure();

  /// Whether a batch is done; counted from the one that is handed over next.
  bool isDone(size_t index);
  int countDone();

  /// Up to `rows` rows of the oldest of the first `among` batches that has any left.
  Claim claim(size_t among, size_t rows);
  void finish(const Claim &claim, Outcome outcome);

  /// Drops all batches; they begin at `position` now. Nobody works on any, and all are back.
  void restart(Position position);

  /// About rows found bad since the last call.
  std::vector<std::string> takeComplaints();

private:
  /// Counted from the one behind what is queued.
  Slot &slot(size_t index) { return *slots[(first + index) % slots.size()]; }
  bool isReady(size_t index);
  bool isComplete(size_t index);
  bool findMemory(Slot &empty);
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
  size_t complete = 0; ///< batches at the front that are done and have no bad rows any more
  bool failed = false; ///< nothing more is planned
  // In a row, so that the caller takes all at once and touches no slot: those lie in other threads'
  // caches.
  std::vector<Batch> queued, spare;
  std::vector<std::string> complaints; ///< not told yet
  BadRow firstBad = {};                ///< by its number in the table
};

} // namespace gradc::runtime

#endif
