// Walks along an epoch's order, skipping bad rows.
#include "runtime/data/load/BatchPlan.h"
#include "runtime/data/load/LengthBuckets.h"

#include <algorithm>

namespace gradc::runtime {

std::vector<size_t> orderOf(const Table &table, const BatchRule &rule, uint64_t epoch,
                            std::vector<int64_t> &order) {
  table.order(epoch, order);
  return rule.buckets ? rule.buckets->group(order, rule.dropsRest()) : std::vector<size_t>();
}

size_t BatchPlanner::endOfBatch(size_t begin) const {
  if (!rule.buckets)
    return std::min(order.size(), begin + size_t(rule.size));
  auto end = std::ranges::upper_bound(ends, begin);
  return end == ends.end() ? order.size() : *end;
}

bool BatchPlanner::hasWholeBatch(size_t from) const {
  if (bad.empty())
    return order.size() - from >= size_t(rule.size);
  int64_t good = 0;
  for (size_t i = from; i < order.size() && good < rule.size; ++i)
    good += !bad.contains(order[i]);
  return good == rule.size;
}

/// Keeps the rows of this rank, and the one that its first row is mixed with.
void BatchPlanner::keepShare(BatchPlan &plan) const {
  int64_t begin = rule.share.begin(plan.allRows), end = rule.share.end(plan.allRows);
  plan.hasPartner = rule.mixes && rule.share.isPart() && begin < end && plan.allRows > 1;
  int64_t partner = plan.rows[size_t(begin > 0 ? begin - 1 : plan.allRows - 1)];
  plan.rows.resize(size_t(end));
  plan.rows.erase(plan.rows.begin(), plan.rows.begin() + begin);
  if (plan.hasPartner)
    plan.rows.push_back(partner);
}

bool BatchPlanner::plan(BatchPlan &plan) {
  if (orderedEpoch != at.epoch || order.empty()) {
    ends = orderOf(table, rule, at.epoch, order);
    orderedEpoch = at.epoch;
  }
  plan.rows.clear();
  plan.hasPartner = false;
  plan.begin = at;
  plan.skipped = 0;
  size_t next = at.row;
  if (bad.empty()) {
    size_t end = endOfBatch(next);
    plan.rows.assign(order.begin() + ptrdiff_t(next), order.begin() + ptrdiff_t(end));
    next = end;
  }
  bool byLength = rule.buckets != nullptr;
  for (; !byLength && next < order.size() && plan.rows.size() < size_t(rule.size); ++next)
    if (bad.contains(order[next]))
      ++plan.skipped;
    else
      plan.rows.push_back(order[next]);
  if (byLength && !plan.rows.empty())
    plan.bucket = rule.buckets->ofRow[size_t(plan.rows.front())];

  bool dropsRest = rule.dropsRest() && !byLength; // its order excludes the rest
  if (plan.rows.empty() || (dropsRest && plan.rows.size() < size_t(rule.size))) {
    at = {at.epoch + 1, 0};
    return false;
  }
  plan.endsEpoch = dropsRest ? !hasWholeBatch(next) : next == order.size();
  at = plan.after = plan.endsEpoch ? Position{at.epoch + 1, 0} : Position{at.epoch, next};
  plan.allRows = int64_t(plan.rows.size());
  if (!rule.makesAll)
    keepShare(plan);
  return true;
}

} // namespace gradc::runtime
