// Walks a schedule once more, while its sums over ranks go on beside it.
#include "tools/gradc/RankPlan.h"

#include "runtime/base/ThreadTeam.h"
#include "runtime/data/Dataset.h"

#include <algorithm>

namespace gradc {
using namespace runtime;

/// A number and one of the units, which it is multiplied by.
static std::optional<double>
parseUnit(llvm::StringRef text, std::initializer_list<std::pair<const char *, double>> units) {
  for (auto [unit, scale] : units) {
    llvm::StringRef number = text;
    double value;
    if (number.consume_back(unit) && !number.getAsDouble(value) && value > 0 && value < 1e9)
      return value * scale;
  }
  return std::nullopt;
}

std::optional<RankLink> RankLink::parse(llvm::StringRef text) {
  auto [rate, delay] = text.split(',');
  auto bandwidth = parseUnit(rate, {{"GB/s", 1e9}, {"MB/s", 1e6}, {"KB/s", 1e3}});
  auto latency = parseUnit(delay, {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}});
  if (!bandwidth || !latency)
    return std::nullopt;
  return RankLink{*bandwidth, *latency};
}

RankPlan::RankPlan(const Artifact &artifact, std::string_view level, std::string_view name)
    : artifact(artifact) {
  for (const gradc_artifact_level &candidate : artifact.levels())
    if (artifact.string(candidate.name) == level)
      for (const auto &one : artifact.elements<gradc_artifact_entry>(candidate.entries))
        if (artifact.string(one.name) == name)
          entry = &one;
  nodes = artifact.elements<gradc_artifact_node>(entry->nodes);
  rowUnit = std::max<int64_t>(entry->row_unit, 1);
  findSums();
}

int64_t RankPlan::rowsOf(int64_t ranks) const {
  return RankShare{0, int(ranks), rowUnit}.most(entry->batch);
}

static bool overlap(const gradc_artifact_slice &a, const gradc_artifact_slice &b) {
  bool isSameSpace = a.space == b.space && (a.space == GRADC_SPACE_ARENA || a.index == b.index);
  return isSameSpace && a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
}

void RankPlan::findSums() {
  sums.resize(nodes.size());
  auto slicesOf = [&](size_t node) {
    return artifact.elements<gradc_artifact_slice>(nodes[node].slices);
  };
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].kind != GRADC_NODE_COLLECTIVE)
      continue;
    Sum sum{0, i + 1};
    for (const auto &slice : slicesOf(i).first(nodes[i].operands))
      sum.bytes += int64_t(slice.bytes);
    if (nodes[i].as.collective.wire == GRADC_WIRE_BF16)
      sum.bytes /= 2;
    auto touches = [&](size_t node) {
      return llvm::any_of(slicesOf(node), [&](const auto &theirs) {
        return llvm::any_of(slicesOf(i), [&](const auto &own) { return overlap(own, theirs); });
      });
    };
    while (sum.awaitedBy < nodes.size() && !touches(sum.awaitedBy))
      ++sum.awaitedBy;
    totalSummed += sum.bytes;
    sums[i] = sum;
  }
}

RankForecast RankPlan::forecast(int64_t ranks, const BenchResult &share,
                                llvm::function_ref<SumCost(int64_t)> costOf) const {
  RankForecast result;
  result.ranks = ranks;
  result.rows = rowsOf(ranks);
  result.memoryBytes = share.arenaBytes + share.stateBytes;
  result.sentBytes = 2 * (ranks - 1) * totalSummed / ranks;
  // When the link has ended the sums so far: they travel one after the other.
  double now = 0, linkIsFree = 0;
  std::vector<double> ends(nodes.size(), 0);
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (size_t sum = 0; sum < i; ++sum)
      if (sums[sum] && sums[sum]->awaitedBy == i)
        now = std::max(now, ends[sum]);
    double seconds = nodes[i].kind == GRADC_NODE_COLLECTIVE ? 0 : share.nodeSeconds[i];
    result.compute += seconds;
    now += seconds;
    if (sums[i] && ranks > 1) {
      SumCost cost = costOf(sums[i]->bytes);
      result.sums += cost.host + cost.link;
      now += cost.host;
      ends[i] = linkIsFree = std::max(now, linkIsFree) + cost.link;
    }
  }
  result.step = std::max(now, linkIsFree);
  return result;
}

/// Bytes that a rank copies for each byte of a sum: what others own is packed and taken, and its
/// own part is added up from all ranks and written twice.
static double copiesOf(int64_t ranks) {
  auto n = double(ranks);
  return 2 * (n - 1) / n + (n + 2) / (2 * n);
}

/// Bytes per second that each of so many threads copies.
static double measureCopies(int threads, int64_t bytes) {
  constexpr int64_t least = 4 << 20; // beyond a core's own cache
  // A triad reads and writes, as a copy does.
  return measureTriad(threads, std::max(2 * bytes, least)) / 2 / threads;
}

RankForecast RankPlan::onThisHost(int64_t ranks, const BenchResult &share) const {
  constexpr double meeting = 20e-6; // the threads of a host hear each other after about so long
  int64_t cpus = ThreadTeam::availableCpus();
  int threads = int(std::min(ranks, cpus));
  double rate = measureCopies(threads, totalSummed);
  RankForecast result = forecast(ranks, share, [&](int64_t bytes) {
    return SumCost{double(bytes) * copiesOf(ranks) / rate, meeting};
  });
  result.strategy = "mirrored";
  // Ranks that outnumber the CPUs take turns.
  double turns = double(ranks) / double(threads);
  for (double *seconds : {&result.compute, &result.sums, &result.step})
    *seconds *= turns;
  return result;
}

RankForecast RankPlan::over(const RankLink &link, int64_t ranks, const BenchResult &share) const {
  double rate = measureCopies(1, totalSummed);
  RankForecast result = forecast(ranks, share, [&](int64_t bytes) {
    double sent = 2 * double(ranks - 1) / double(ranks) * double(bytes);
    return SumCost{double(bytes) * copiesOf(ranks) / rate,
                   sent / link.bandwidth + 2 * link.latency};
  });
  result.strategy = "multi_worker";
  return result;
}

} // namespace gradc
