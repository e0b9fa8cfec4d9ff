// Walks along an epoch's order, around bad rows.
#include "runtime/data/load/BatchPlan.h"

#include <algorithm>

namespace gradc::runtime {

bool BatchPlanner::hasWholeBatch(size_t from) const {
  if (bad.empty())
    return order.size() - from >= size_t(rule.size);
  int64_t good = 0;
  for (size_t i = from; i < order.size() && good < rule.size; ++i)
    good += !bad.contains(order[i]);
  return good == rule.size;
}

bool BatchPlanner::plan(BatchPlan &plan) {
  if (orderedEpoch != at.epoch || order.empty()) {
    table.order(at.epoch, order);
    orderedEpoch = at.epoch;
  }
  plan.rows.clear();
  plan.begin = at;
  plan.skipped = 0;
  size_t next = at.row;
  if (bad.empty()) {
    size_t end = std::min(order.size(), next + size_t(rule.size));
    plan.rows.assign(order.begin() + ptrdiff_t(next), order.begin() + ptrdiff_t(end));
    next = end;
  }
  for (; next < order.size() && plan.rows.size() < size_t(rule.size); ++next)
    if (bad.contains(order[next]))
      ++plan.skipped;
    else
      plan.rows.push_back(order[next]);

  bool dropsRest = rule.dropRemainder || rule.skips;
  if (plan.rows.empty() || (dropsRest && plan.rows.size() < size_t(rule.size))) {
    at = {at.epoch + 1, 0};
    return false;
  }
  plan.endsEpoch = dropsRest ? !hasWholeBatch(next) : next == order.size();
  at = plan.after = plan.endsEpoch ? Position{at.epoch + 1, 0} : Position{at.epoch, next};
  return true;
}

} // namespace gradc::runtime
