// Groups results by metric, sums them over batches, and lets the rule combine them.
#include "runtime/train/entry/EntryMetrics.h"

#include <algorithm>

namespace gradc::runtime {

static constexpr std::string_view lossName = "loss";

/// Samples of more than one dim have the classes in the last one.
static size_t classesOf(const Artifact &artifact, const gradc_artifact_port &port) {
  auto shape = artifact.elements<int64_t>(port.tensor.shape);
  return shape.size() > 1 ? size_t(std::max<int64_t>(1, shape.back())) : 1;
}

EntryMetrics::EntryMetrics(const Artifact &artifact, const gradc_artifact_entry &entry) {
  Config job = Config::job(artifact);
  auto ports = artifact.elements<gradc_artifact_port>(entry.outputs);
  results.resize(ports.size());
  for (size_t i = 0; i < ports.size(); ++i) {
    const gradc_artifact_port &port = ports[i];
    bool isSum = port.role == GRADC_ROLE_SUMS, isMean = port.role == GRADC_ROLE_METRIC;
    if (!isSum && !isMean && port.role != GRADC_ROLE_SAMPLES)
      continue;
    std::string name(artifact.string(port.tensor.name));
    auto group = std::ranges::find(theGroups, name, &Group::name);
    if (group == theGroups.end()) {
      theGroups.push_back({name,
                           MetricRule(job, name, classesOf(artifact, port)),
                           isMean,
                           {},
                           port.role == GRADC_ROLE_SAMPLES});
      group = std::prev(theGroups.end());
      if (name != lossName)
        theMetrics.push_back({name, 0, {}});
    }
    Result &result = results[i];
    result.group = size_t(group - theGroups.begin());
    result.part = group->parts.size();
    group->parts.emplace_back();
    result.elements = port.tensor.bytes / (isSum ? sizeof(double) : sizeof(float));
    isSum ? result.sums.resize(result.elements) : result.single.resize(result.elements);
    bool isSamples = port.role == GRADC_ROLE_SAMPLES && entry.batch > 0;
    result.perRow = isSamples ? result.elements / size_t(entry.batch) : 0;
  }
}

void *EntryMetrics::place(size_t index) {
  Result &result = results[index];
  if (!result.sums.empty())
    return result.sums.data();
  return result.single.empty() ? nullptr : result.single.data();
}

void EntryMetrics::read(int64_t rows) {
  for (const Result &result : results) {
    if (!result.elements)
      continue;
    std::vector<double> &part = theGroups[result.group].parts[result.part];
    size_t count =
        result.perRow ? std::min(result.elements, result.perRow * size_t(rows)) : result.elements;
    if (result.sums.empty())
      part.assign(result.single.begin(), result.single.begin() + ptrdiff_t(count));
    else
      part.assign(result.sums.begin(), result.sums.end());
  }
  auto metric = theMetrics.begin();
  for (Group &group : theGroups) {
    if (group.name == lossName)
      continue;
    if (group.isMean)
      metric->value = group.parts[0][0];
    else
      group.rule.combine(group.parts, *metric);
    ++metric;
  }
}

/// Samples are appended; all other parts are summed.
void MetricTotals::addParts(const EntryMetrics::Group &group) {
  auto total = std::ranges::find(totals, group.name, &EntryMetrics::Group::name);
  if (total == totals.end()) {
    totals.push_back({group.name, group.rule, group.isMean, {}, group.isSamples});
    total = std::prev(totals.end());
  }
  MetricParts &parts = total->parts;
  parts.resize(group.parts.size());
  for (size_t i = 0; i < parts.size(); ++i) {
    if (group.isSamples) {
      parts[i].insert(parts[i].end(), group.parts[i].begin(), group.parts[i].end());
      continue;
    }
    parts[i].resize(group.parts[i].size());
    for (size_t j = 0; j < parts[i].size(); ++j)
      parts[i][j] += group.parts[i][j];
  }
}

/// A mean is weighted by its number of rows.
void MetricTotals::add(const EntryMetrics &batch, int64_t rows) {
  for (const EntryMetrics::Group &group : batch.groups()) {
    if (!group.isMean) {
      addParts(group);
      continue;
    }
    EntryMetrics::Group weighted = group;
    weighted.parts = {{group.parts[0][0] * double(rows)}, {double(rows)}};
    addParts(weighted);
  }
}

std::vector<Metric> MetricTotals::metrics() {
  std::vector<Metric> metrics;
  for (EntryMetrics::Group &group : totals)
    if (group.name != lossName)
      group.rule.combine(group.parts, metrics.emplace_back(Metric{group.name, 0, {}}));
  return metrics;
}

std::optional<double> MetricTotals::loss() {
  for (EntryMetrics::Group &group : totals)
    if (group.name == lossName) {
      Metric metric;
      group.rule.combine(group.parts, metric);
      return metric.value;
    }
  return std::nullopt;
}

} // namespace gradc::runtime
