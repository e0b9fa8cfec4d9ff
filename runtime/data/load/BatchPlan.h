// The rows of each batch: a walk along the orders of epochs.
#ifndef RUNTIME_DATA_LOAD_BATCHPLAN_H
#define RUNTIME_DATA_LOAD_BATCHPLAN_H

#include "runtime/data/Dataset.h"

#include <set>

namespace gradc::runtime {

struct BatchPlan {
  std::vector<int64_t> rows; ///< that are made here
  bool hasPartner = false;   ///< the last row is read only to be mixed with the first
  int64_t allRows = 0;       ///< of all ranks
  Position begin, after;
  int64_t skipped = 0; ///< bad rows skipped between them
  bool endsEpoch = false;
  uint8_t bucket = 0;

  /// The number of rows that the batch gives out.
  int64_t ownRows() const { return int64_t(rows.size()) - hasPartner; }
};

/// The rows that an epoch returns, batch by batch. Returns the end of each batch if batches are
/// made by length; otherwise returns none, and each batch has the rule's size.
std::vector<size_t> orderOf(const Table &table, const BatchRule &rule, uint64_t epoch,
                            std::vector<int64_t> &order);

/// Plans batches in order. Rows known to be bad count as missing from the order, so batches do not
/// depend on when a row was found to be bad.
class BatchPlanner {
public:
  BatchPlanner(const Table &table, const BatchRule &rule) : table(table), rule(rule) {}

  /// Plans the batch at the cursor, and moves the cursor past it. Returns false if the epoch has no
  /// whole batch left; the cursor is then at the next epoch.
  bool plan(BatchPlan &plan);
  void moveTo(Position position) { at = position; }
  Position cursor() const { return at; }

  /// Returns whether the row was not yet marked.
  bool markBad(int64_t row) { return bad.insert(row).second; }
  size_t badRows() const { return bad.size(); }

private:
  bool hasWholeBatch(size_t from) const;
  size_t endOfBatch(size_t begin) const;
  void keepShare(BatchPlan &plan) const;

  const Table &table;
  const BatchRule rule;
  Position at;
  std::vector<int64_t> order; ///< of epoch `orderedEpoch`
  std::vector<size_t> ends;   ///< of its batches, where they are made by length
  uint64_t orderedEpoch = 0;
  std::set<int64_t> bad;
};

} // namespace gradc::runtime

#endif
