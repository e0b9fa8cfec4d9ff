// Metrics over the batches of all ranks.
#include "runtime/train/entry/EntryMetrics.h"

#include <cstring>

namespace gradc::runtime {

/// Each rank contributes its losses and rows, and for each metric and part a count and values.
Status MetricTotals::addUp(Communicator &ranks, const EntryMetrics &entry, double &losses,
                           int64_t &rows) {
  std::vector<double> mine = {losses, double(rows)};
  for (const EntryMetrics::Group &total : totals) {
    mine.push_back(double(total.parts.size()));
    for (const std::vector<double> &part : total.parts) {
      mine.push_back(double(part.size()));
      mine.insert(mine.end(), part.begin(), part.end());
    }
  }
  auto all = ranks.share(
      std::string(reinterpret_cast<const char *>(mine.data()), mine.size() * sizeof(double)));
  if (!all)
    return all.status();
  totals.clear();
  losses = 0;
  rows = 0;
  for (const std::string &text : *all) {
    std::vector<double> numbers(text.size() / sizeof(double));
    std::memcpy(numbers.data(), text.data(), text.size());
    losses += numbers[0];
    rows += int64_t(numbers[1]);
    size_t at = 2;
    for (const EntryMetrics::Group &group : entry.groups()) {
      if (at == numbers.size())
        break; // it had no batch
      EntryMetrics::Group theirs = group;
      theirs.parts.resize(size_t(numbers[at++]));
      for (std::vector<double> &part : theirs.parts) {
        auto begin = numbers.begin() + ptrdiff_t(at) + 1;
        part.assign(begin, begin + ptrdiff_t(numbers[at]));
        at += 1 + part.size();
      }
      addParts(theirs);
    }
  }
  return {};
}

} // namespace gradc::runtime
