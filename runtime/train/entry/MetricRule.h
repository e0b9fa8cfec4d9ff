// Metrics that the runtime computes from the results of entries.
#ifndef RUNTIME_TRAIN_ENTRY_METRICRULE_H
#define RUNTIME_TRAIN_ENTRY_METRICRULE_H

#include "runtime/core/artifact/Config.h"
#include "runtime/train/entry/Metric.h"

#include <map>
#include <span>
#include <string>
#include <vector>

namespace gradc::runtime {

/// The tensors that entries return for one metric, in order: sums over batches, or numbers per
/// sample.
using MetricParts = std::vector<std::vector<double>>;

/// The computation of a metric from its parts, by the kind in the spec:
///   loss              pairs of a sum of losses and its denominator: the sum of their quotients
///   accuracy, top_k, mean_absolute_error           sum, count: their quotient
///   root_mean_squared_error, perplexity            sum, count: the root of, e to the quotient
///   precision, recall, f1, iou   right, taken, wanted: of one class, or of each: the mean over
///                                classes (those that occur at all, for iou)
///   r2                sum of squared errors, of targets, of squared targets; count
///   confusion_matrix  counts [label, class]: the metric's table
///   auc               scores, labels (1, 0, or -1 where none counts) of all samples, classes
///                     innermost: the mean over classes
/// A quotient with a denominator of 0 is 0, as in scikit-learn (r2 and means: NaN).
class MetricRule {
public:
  /// `name`: one of the job's metrics, or "loss". `classes`: how many numbers of each sample follow
  /// each other, at least 1.
  MetricRule(Config job, std::string_view name, size_t classes = 1);

  /// Sets the value, and the table if the metric has one. Allocates nothing unless parts have
  /// grown.
  void combine(const MetricParts &parts, Metric &metric) { function(parts, metric, samples); }

  struct Samples {
    size_t classes;
    std::vector<std::pair<double, double>> ofClass; ///< score and label; room to sort them
  };

private:
  void (*function)(const MetricParts &parts, Metric &metric, Samples &samples);
  Samples samples;
};

} // namespace gradc::runtime

#endif
