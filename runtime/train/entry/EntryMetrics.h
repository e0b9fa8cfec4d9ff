// The metrics among an entry's results, for one batch and for many.
#ifndef RUNTIME_TRAIN_ENTRY_ENTRYMETRICS_H
#define RUNTIME_TRAIN_ENTRY_ENTRYMETRICS_H

#include "runtime/core/artifact/Artifact.h"
#include "runtime/ranks/Communicator.h"
#include "runtime/train/entry/MetricRule.h"

#include <optional>

namespace gradc::runtime {

/// Memory for the results of an entry's metrics, and the metrics of the last batch.
class EntryMetrics {
public:
  /// The results of one metric, or of the loss if they are sums.
  struct Group {
    std::string name;
    MetricRule rule;
    bool isMean; ///< one mean over the batch; else the rule's parts
    MetricParts parts;
    bool isSamples = false; ///< parts have a number for each sample
  };

  EntryMetrics(const Artifact &artifact, const gradc_artifact_entry &entry);
  EntryMetrics(const EntryMetrics &) = delete;

  /// Where output `index` is written; null if it belongs to no metric.
  void *place(size_t index);
  /// Reads the metrics after a run over `rows` rows.
  void read(int64_t rows);

  std::span<const Metric> metrics() const { return theMetrics; }
  std::span<const Group> groups() const { return theGroups; }

private:
  struct Result {
    size_t group, part;
    std::vector<float> single; ///< means and samples
    std::vector<double> sums;
    size_t elements, perRow;
  };

  std::vector<Result> results; ///< one an output; without elements: no metric's
  std::vector<Group> theGroups;
  std::vector<Metric> theMetrics;
};

/// Metrics over the rows of many batches.
class MetricTotals {
public:
  void add(const EntryMetrics &batch, int64_t rows);
  /// Sums the totals of all ranks, each over its own batches, and their losses and rows. `entry`
  /// defines the metrics; a rank may have had no batch. Only in programs with ranks (gradc_ranks).
  __attribute__((weak)) Status addUp(Communicator &ranks, const EntryMetrics &entry, double &losses,
                                     int64_t &rows);
  std::vector<Metric> metrics();
  /// The loss, if the entries return its sums.
  std::optional<double> loss();

private:
  void addParts(const EntryMetrics::Group &group);

  std::vector<EntryMetrics::Group> totals; ///< with the parts of all batches
};

} // namespace gradc::runtime

#endif
