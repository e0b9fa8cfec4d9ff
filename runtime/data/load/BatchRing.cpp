// Makes batches independent of when their rows are made or found to be bad.
#include "runtime/data/load/BatchRing.h"

#include "runtime/base/Text.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

namespace gradc::runtime {

void BatchRing::grow(size_t size) {
  std::rotate(slots.begin(), slots.begin() + ptrdiff_t(first), slots.end());
  first = 0;
  while (slots.size() < size) {
    slots.push_back(std::make_unique<Slot>());
    spare.push_back(Batch(table.fields(), rule.capacity(), memory));
    bytes = spare.back().bytes();
  }
}

size_t BatchRing::queue(size_t most) {
  while (queued.size() < most && isReady(0) && slot(0).status.ok()) {
    Slot &here = slot(0);
    here.batch.rows = here.plan.ownRows();
    here.batch.bucket = here.plan.bucket;
    here.batch.allRows = here.plan.allRows;
    here.batch.firstRow = rule.share.begin(here.plan.allRows);
    if (rule.makesAll && rule.share.isPart())
      keepShare(here.batch);
    here.batch.begin = here.plan.begin;
    here.batch.after = here.plan.after;
    here.batch.endsEpoch = here.plan.endsEpoch;
    here.batch.skipped = here.plan.skipped;
    here.batch.complaints.clear();
    queued.push_back(std::move(here.batch));
    here.isEmpty = true;
    here.isPlanned = false;
    first = (first + 1) % slots.size();
    --complete;
  }
  return queued.size();
}

/// Keeps this rank's share of a batch with the rows of all ranks.
void BatchRing::keepShare(Batch &batch) const {
  batch.rows = rule.share.end(batch.allRows) - batch.firstRow;
  for (size_t field = 0; field < batch.fieldCount(); ++field) {
    size_t bytes = table.fields()[field].bytes();
    std::byte *rows = batch.field(field);
    std::memmove(rows, rows + size_t(batch.firstRow) * bytes, size_t(batch.rows) * bytes);
  }
}

void BatchRing::takeBack(std::vector<Batch> &batches) {
  if (spare.empty())
    spare.swap(batches);
  std::move(batches.begin(), batches.end(), std::back_inserter(spare));
  batches.clear();
}

/// Allocates memory for a slot; returns false if memory is exhausted.
bool BatchRing::findMemory(Slot &empty) {
  if (spare.empty())
    return false;
  empty.batch = std::move(spare.back());
  empty.isEmpty = false;
  spare.pop_back();
  return true;
}

const Status *BatchRing::failure() {
  return isReady(0) && !slot(0).status.ok() ? &slot(0).status : nullptr;
}

bool BatchRing::isDone(size_t index) {
  if (index < queued.size())
    return true;
  index -= queued.size();
  return index < slots.size() && slot(index).isDone();
}

/// No later finding changes a ready batch or one before it.
bool BatchRing::isReady(size_t index) {
  if (!isComplete(index))
    return false;
  Slot &here = slot(index);
  if (!rule.skips || here.plan.endsEpoch || !here.status.ok())
    return true;
  // If bad rows leave the next batch empty, this batch ends its epoch.
  return isComplete(index + 1);
}

/// Whether a batch and all batches before it are done and have no bad rows left.
bool BatchRing::isComplete(size_t index) {
  for (; complete <= index && complete < slots.size(); ++complete) {
    if (slot(complete).hasRows())
      repair(complete);
    if (!slot(complete).isDone())
      return false;
  }
  return index < complete;
}

int BatchRing::countDone() {
  size_t done = queued.size() + complete;
  for (size_t i = complete; i < slots.size(); ++i)
    done += slot(i).isDone();
  return int(done);
}

void BatchRing::restart(Position position) {
  takeBack(queued);
  discardFrom(0);
  planner.moveTo(position);
}

std::vector<std::string> BatchRing::takeComplaints() { return std::exchange(complaints, {}); }

/// Removes bad rows from a finished batch, and plans rows that replace them.
void BatchRing::repair(size_t index) {
  Slot &here = slot(index);
  if (here.bad.empty())
    return;
  // 1. Close the gaps between good rows.
  std::sort(here.bad.begin(), here.bad.end(),
            [](const BadRow &a, const BadRow &b) { return a.index < b.index; });
  size_t kept = 0, nextBad = 0;
  for (size_t i = 0; i < here.plan.rows.size(); ++i) {
    if (nextBad < here.bad.size() && here.bad[nextBad].index == i) {
      complain(here.plan.rows[i], std::move(here.bad[nextBad].complaint));
      ++nextBad;
      continue;
    }
    if (kept != i)
      for (size_t field = 0; field < here.batch.fieldCount(); ++field) {
        size_t bytes = table.fields()[field].bytes();
        std::byte *rows = here.batch.field(field);
        std::memmove(rows + kept * bytes, rows + i * bytes, bytes);
      }
    ++kept;
  }
  here.bad.clear();

  // 2. Discard later batches, which now begin elsewhere.
  discardFrom(index + 1);
  planner.moveTo(here.plan.begin);
  uint64_t epoch = here.plan.begin.epoch;
  here.isPlanned = false;
  if (plan(index) && here.plan.begin.epoch == epoch)
    here.claimed = kept;
}

/// Reports a bad row once, with the next batch returned.
void BatchRing::complain(int64_t row, std::string complaint) {
  if (!planner.markBad(row))
    return;
  if (firstBad.complaint.empty() || size_t(row) < firstBad.index)
    firstBad = {size_t(row), complaint};
  complaints.push_back(std::move(complaint));
}

void BatchRing::discardFrom(size_t index) {
  failed = false;
  complete = std::min(complete, index);
  for (; index < slots.size(); ++index) {
    Slot &here = slot(index);
    here.isPlanned = false;
    here.claimed = here.plan.rows.size();
  }
}

/// Plans a batch at the planner's cursor; returns false if the epoch has no batch left.
bool BatchRing::plan(size_t index) {
  Slot &here = slot(index);
  here.claimed = 0;
  here.bad.clear();
  here.status = {};
  here.isStaged = !hasStage;
  for (int attempt = 0; attempt < 2; ++attempt) {
    Position begin = planner.cursor();
    if (planner.plan(here.plan)) {
      here.isPlanned = true;
      return true;
    }
    if (begin.row == 0)
      break;
    endEpochBefore(index);
  }
  here.plan.rows.clear();
  here.plan.hasPartner = false;
  here.isPlanned = here.isStaged = failed = true;
  here.status =
      Status::error(text("an epoch of ", table.origin(),
                         " has fewer rows that can be read "
                         "than a batch of ",
                         rule.size, ": ", planner.badRows(), " are bad; ", firstBad.complaint));
  return false;
}

/// Called when the preceding batch turns out to be the last one of its epoch.
void BatchRing::endEpochBefore(size_t index) {
  if (index == 0)
    return;
  BatchPlan &before = slot(index - 1).plan;
  before.endsEpoch = true;
  before.after = planner.cursor();
}

Claim BatchRing::claim(size_t among, size_t rows) {
  for (size_t i = complete; i < std::min(among, slots.size()); ++i) {
    if (isComplete(i))
      continue;
    Slot &here = slot(i);
    if (here.hasRows())
      repair(i);
    if (!here.isPlanned) {
      if (failed || here.working > 0) // a thread may still write there, but its result is dropped
        return {};
      if (here.isEmpty && !findMemory(here))
        return {};
      plan(i);
    }
    size_t count = here.plan.rows.size(), left = count - here.claimed;
    if (left == 0 && (here.isStaged || here.working > 0))
      continue;
    size_t begin = here.claimed;
    here.claimed += std::min(left, rows);
    ++here.working;
    return {&here, begin, here.claimed};
  }
  return {};
}

void BatchRing::finish(const Claim &claim, Outcome outcome) {
  Slot &here = *claim.slot;
  --here.working;
  // A batch discarded in the meantime is planned again once no thread works on it.
  if (!here.isPlanned)
    return;
  here.isStaged |= claim.rows() == 0 || !outcome.status.ok();
  if (!outcome.status.ok()) {
    if (here.status.ok() || outcome.failedAt < here.failedAt) {
      here.status = std::move(outcome.status);
      here.failedAt = outcome.failedAt;
    }
    here.claimed = here.plan.rows.size();
    failed = true;
  }
  std::move(outcome.bad.begin(), outcome.bad.end(), std::back_inserter(here.bad));
}

} // namespace gradc::runtime
