// One small function per kind of metric.
#include "runtime/train/entry/MetricRule.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace gradc::runtime {

namespace {

using Samples = MetricRule::Samples;

constexpr double none = std::numeric_limits<double>::quiet_NaN();

/// The first number of a part; NaN if the artifact lacks the part.
double scalar(const MetricParts &parts, size_t part) {
  return part < parts.size() && !parts[part].empty() ? parts[part][0] : none;
}

double over(double sum, double count) { return count != 0 ? sum / count : 0; }

void quotient(const MetricParts &parts, Metric &metric, Samples &) {
  metric.value = scalar(parts, 0) / scalar(parts, 1);
}
void root(const MetricParts &parts, Metric &metric, Samples &) {
  metric.value = std::sqrt(scalar(parts, 0) / scalar(parts, 1));
}
void exponential(const MetricParts &parts, Metric &metric, Samples &) {
  metric.value = std::exp(scalar(parts, 0) / scalar(parts, 1));
}

void loss(const MetricParts &parts, Metric &metric, Samples &) {
  metric.value = 0;
  for (size_t i = 0; i + 1 < parts.size(); i += 2)
    metric.value += over(scalar(parts, i), scalar(parts, i + 1));
}

void r2(const MetricParts &parts, Metric &metric, Samples &) {
  double sum = scalar(parts, 1), count = scalar(parts, 3);
  metric.value = 1 - scalar(parts, 0) / (scalar(parts, 2) - sum * sum / count);
}

/// The mean over classes of a number; `ofClass` takes right, taken, wanted.
template <typename OfClass>
void meanOverClasses(const MetricParts &parts, Metric &metric, bool occurringOnly,
                     OfClass ofClass) {
  double sum = 0, classes = 0;
  size_t count =
      parts.size() < 3 ? 0 : std::min({parts[0].size(), parts[1].size(), parts[2].size()});
  for (size_t i = 0; i < count; ++i) {
    double right = parts[0][i], taken = parts[1][i], wanted = parts[2][i];
    if (occurringOnly && taken + wanted == 0)
      continue;
    sum += ofClass(right, taken, wanted);
    ++classes;
  }
  metric.value = over(sum, classes);
}
void precision(const MetricParts &parts, Metric &metric, Samples &) {
  meanOverClasses(parts, metric, false,
                  [](double right, double taken, double) { return over(right, taken); });
}
void recall(const MetricParts &parts, Metric &metric, Samples &) {
  meanOverClasses(parts, metric, false,
                  [](double right, double, double wanted) { return over(right, wanted); });
}
void f1(const MetricParts &parts, Metric &metric, Samples &) {
  meanOverClasses(parts, metric, false, [](double right, double taken, double wanted) {
    return over(2 * right, taken + wanted);
  });
}
void iou(const MetricParts &parts, Metric &metric, Samples &) {
  meanOverClasses(parts, metric, true, [](double right, double taken, double wanted) {
    return over(right, taken + wanted - right);
  });
}

void confusion(const MetricParts &parts, Metric &metric, Samples &) {
  metric.value = none;
  if (!parts.empty())
    metric.table = parts[0];
}

/// The share of pairs of a positive and a negative in which the positive has the higher score,
/// computed from the sum of the positives' ranks. Sorts the samples.
double areaUnderCurve(std::vector<std::pair<double, double>> &samples) {
  std::ranges::sort(samples);
  double ranks = 0, positives = 0;
  for (size_t begin = 0, end = 0; begin < samples.size(); begin = end) {
    double tied = 0;
    for (; end < samples.size() && samples[end].first == samples[begin].first; ++end)
      tied += samples[end].second;
    ranks += tied * (double(begin) + double(end) + 1) / 2;
    positives += tied;
  }
  double others = double(samples.size()) - positives;
  if (positives == 0 || others == 0)
    return none;
  return (ranks - positives * (positives + 1) / 2) / (positives * others);
}

/// The mean over classes; the sorted samples of one class at a time.
void meanArea(const MetricParts &parts, Metric &metric, Samples &samples) {
  metric.value = none;
  if (parts.size() < 2 || parts[0].size() != parts[1].size())
    return;
  double sum = 0;
  for (size_t c = 0; c < samples.classes; ++c) {
    samples.ofClass.clear();
    for (size_t i = c; i < parts[0].size(); i += samples.classes) {
      double score = parts[0][i], label = parts[1][i];
      if (label < 0)
        continue;
      if (std::isnan(score))
        return;
      samples.ofClass.emplace_back(score, label);
    }
    sum += areaUnderCurve(samples.ofClass);
  }
  metric.value = sum / double(samples.classes);
}

struct Kind {
  std::string_view name;
  void (*function)(const MetricParts &, Metric &, Samples &);
};

constexpr Kind kinds[] = {{"accuracy", quotient},
                          {"top_k", quotient},
                          {"mean_absolute_error", quotient},
                          {"root_mean_squared_error", root},
                          {"perplexity", exponential},
                          {"precision", precision},
                          {"recall", recall},
                          {"f1", f1},
                          {"iou", iou},
                          {"r2", r2},
                          {"confusion_matrix", confusion},
                          {"auc", meanArea}};

} // namespace

MetricRule::MetricRule(Config job, std::string_view name, size_t classes)
    : function(name == "loss" ? loss : quotient), samples{classes, {}} {
  for (Config metric : job.children("metric"))
    for (const Kind &kind : kinds)
      if (metric.child(kind.name) && metric.string("name", kind.name) == name)
        function = kind.function;
}

} // namespace gradc::runtime
