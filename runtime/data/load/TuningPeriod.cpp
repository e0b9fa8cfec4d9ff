// After this number of batches, or this time, there are enough measurements for a decision.
#include "runtime/data/load/TuningPeriod.h"

#include "runtime/data/Meter.h"

#include <algorithm>
#include <numeric>

namespace gradc::runtime {

static constexpr int64_t minBatches = 16, shortest = 50'000'000, longest = 500'000'000;
static constexpr double workAlone = 5e-3;

std::optional<InputPeriod> TuningPeriod::closeBeside(double work, double help) {
  int64_t length = end - begin;
  if (length < shortest || (batches < minBatches && length < longest))
    return {};
  double waitShare = double(waited) / double(length), done = work - workBefore;
  seen.busyThreads = 1e9 * (done - (help - helpBefore)) / double(length);
  return close(work, help, waitShare, done / double(batches));
}

std::optional<InputPeriod> TuningPeriod::closeAlone(double work) {
  double done = work - workBefore;
  costs.push_back(done - std::accumulate(costs.begin(), costs.end(), 0.0));
  if (int64_t(costs.size()) < minBatches && done < workAlone)
    return {};
  end = Meter::now();
  // Uses the median of the batches' costs, because the cost of an interrupted batch is meaningless.
  auto middle = costs.begin() + ptrdiff_t(costs.size() / 2);
  std::nth_element(costs.begin(), middle, costs.end());
  double spent = 1e9 * *middle * double(costs.size());
  return close(work, /*help=*/work, begin ? spent / double(end - begin) : 0, *middle);
}

InputPeriod TuningPeriod::close(double work, double help, double waitShare, double batchSeconds) {
  InputPeriod closed = seen;
  closed.waitShare = waitShare;
  closed.batchSeconds = batchSeconds;
  int64_t now = end;
  *this = {};
  begin = now;
  workBefore = work;
  helpBefore = help;
  return closed;
}

} // namespace gradc::runtime
