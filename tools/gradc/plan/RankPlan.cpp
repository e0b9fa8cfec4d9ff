// Simulates a schedule whose exchanges with other ranks run concurrently.
#include "tools/gradc/plan/RankPlan.h"

#include "runtime/base/ThreadTeam.h"
#include "runtime/core/artifact/Config.h"
#include "runtime/core/entry/PlacedSlice.h"
#include "runtime/data/Dataset.h"
#include "runtime/ranks/DivideCuts.h"
#include "runtime/train/job/Job.h"

#include <algorithm>

namespace gradc {
using namespace runtime;

/// Parses a number followed by one of the units, and multiplies it by the unit.
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

RankPlan::RankPlan(const Artifact &artifact, std::string_view levelName, std::string_view name)
    : artifact(artifact) {
  for (const gradc_artifact_level &candidate : artifact.levels())
    if (artifact.string(candidate.name) == levelName)
      for (const auto &one : artifact.elements<gradc_artifact_entry>(candidate.entries))
        if (artifact.string(one.name) == name) {
          entry = &one;
          level = &candidate;
        }
  nodes = artifact.elements<gradc_artifact_node>(entry->nodes);
  rowUnit = std::max<int64_t>(entry->row_unit, 1);
  serverCount = runtime::serversOf(Config::job(artifact));
  modelRanks = modelRanksOf(Config::job(artifact));
  findExchanges();
}

int64_t RankPlan::rowsOf(int64_t ranks) const {
  return RankShare{0, int((ranks - serversOf(ranks)) / modelRanks), rowUnit}.most(entry->batch);
}

void RankPlan::findExchanges() {
  exchanges.resize(nodes.size());
  auto slicesOf = [&](size_t node) {
    std::vector<PlacedSlice> slices;
    for (const auto &slice : artifact.elements<gradc_artifact_slice>(nodes[node].slices))
      slices.emplace_back(artifact, slice);
    return slices;
  };
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].kind != GRADC_NODE_COLLECTIVE)
      continue;
    const auto &record = nodes[i].as.collective;
    Exchange exchange;
    exchange.kind = record.kind;
    exchange.width = record.wire == GRADC_WIRE_BF16 ? 0.5 : 1;
    exchange.awaitedBy = i + 1;
    auto cuts = artifact.elements<uint32_t>(record.cuts);
    std::vector<PlacedSlice> own = slicesOf(i);
    for (size_t s = 0; s < nodes[i].operands; ++s) {
      auto bytes = int64_t(own[s].slice.bytes);
      exchange.bytes += bytes;
      if (!cuts.empty())
        exchange.cuts.emplace_back(cuts[s], bytes);
    }
    auto touches = [&](size_t node) {
      return llvm::any_of(slicesOf(node), [&](const PlacedSlice &theirs) {
        return llvm::any_of(own, [&](const PlacedSlice &mine) { return mine.overlaps(theirs); });
      });
    };
    while (exchange.awaitedBy < nodes.size() && !touches(exchange.awaitedBy))
      ++exchange.awaitedBy;
    totalSummed += int64_t(double(exchange.bytes) * exchange.width);
    exchanges[i] = std::move(exchange);
  }
}

/// The number of ranks that take part. Ranks with the same part of the model sum over rows.
int64_t RankPlan::membersOf(const Exchange &exchange, int64_t ranks) const {
  return exchange.kind == GRADC_COLLECTIVE_SUM_SHARDS ? modelRanks : ranks / modelRanks;
}

Division RankPlan::divide(int64_t ranks) const {
  auto cuts = artifact.elements<gradc_artifact_cut>(level->cuts);
  return {0, int(ranks), divideCuts(cuts, ranks, serversOf(ranks) ? ranks - serversOf(ranks) : 0)};
}

/// The portion of a cut that a rank owns.
double RankPlan::portion(const Division &division, uint32_t cut, int rank) const {
  auto elements = artifact.elements<gradc_artifact_cut>(level->cuts)[cut].elements;
  return double(division.begin(cut, rank + 1) - division.begin(cut, rank)) / double(elements);
}

/// Parts owned by other ranks are packed to send, and stored when they return. A rank's own part is
/// summed from all ranks and written, and written again for others to read.
RankPlan::Load RankPlan::loadOf(const Exchange &exchange, const Division &division,
                                int rank) const {
  double n = double(membersOf(exchange, division.ranks)), all = double(exchange.bytes), own = 0;
  for (auto [cut, bytes] : exchange.cuts)
    own += double(bytes) * portion(division, cut, rank);
  if (exchange.isSum())
    own = all / n;
  bool scatters = exchange.kind != GRADC_COLLECTIVE_GATHER;
  bool gathers = exchange.kind != GRADC_COLLECTIVE_SCATTER;
  Load load = {};
  if (scatters)
    load = {all - own + own * (n + 1) / 2, all - own, own * (n - 1)};
  if (gathers) {
    load.copied += all - own + (scatters ? own / 2 : own);
    load.sent += own * (n - 1);
    load.received += all - own;
  }
  for (double *bytes : {&load.sent, &load.received})
    *bytes *= exchange.width;
  return load;
}

/// The bytes of the states that a rank holds.
int64_t RankPlan::stateBytes(const Division &division, int rank) const {
  double bytes = 0;
  for (const auto &buffer : artifact.elements<gradc_artifact_buffer>(level->buffers))
    bytes += double(buffer.bytes) * (buffer.cut ? portion(division, buffer.cut - 1, rank) : 1);
  return int64_t(bytes);
}

/// The forecast of the rank whose step ends last, with the maximum that any rank sends and holds.
RankForecast
RankPlan::forecast(int64_t ranks, const BenchResult &share,
                   llvm::function_ref<Cost(const Exchange &, const Load &)> costOf) const {
  Division division = divide(ranks);
  RankForecast longest;
  // Ranks differ only in what they own.
  for (int rank = 0; rank < (division.begins.empty() ? 1 : int(ranks)); ++rank) {
    RankForecast one = forecast(division, rank, share, costOf);
    int64_t sent = std::max(one.sentBytes, longest.sentBytes);
    int64_t memory = std::max(one.memoryBytes, longest.memoryBytes);
    if (one.step > longest.step)
      longest = one;
    longest.sentBytes = sent;
    longest.memoryBytes = memory;
  }
  longest.ranks = ranks;
  longest.rows = rowsOf(ranks);
  return longest;
}

RankForecast
RankPlan::forecast(const Division &division, int rank, const BenchResult &share,
                   llvm::function_ref<Cost(const Exchange &, const Load &)> costOf) const {
  RankForecast result;
  bool isServer = rank >= division.ranks - serversOf(division.ranks);
  result.memoryBytes = share.arenaBytes + stateBytes(division, rank);
  // The time at which the link has finished the exchanges so far; exchanges use it one after
  // another.
  double now = 0, linkIsFree = 0, sent = 0;
  std::vector<double> ends(nodes.size(), 0);
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (size_t earlier = 0; earlier < i; ++earlier)
      if (exchanges[earlier] && exchanges[earlier]->awaitedBy == i)
        now = std::max(now, ends[earlier]);
    double seconds = exchanges[i] ? 0 : share.nodeSeconds[i];
    if (nodes[i].kind == GRADC_NODE_LAUNCH && nodes[i].as.launch.cut)
      seconds *= portion(division, nodes[i].as.launch.cut - 1, rank);
    else if (isServer)
      seconds = 0; // it has no rows
    result.compute += seconds;
    now += seconds;
    if (exchanges[i] && membersOf(*exchanges[i], division.ranks) > 1) {
      Load load = loadOf(*exchanges[i], division, rank);
      Cost cost = costOf(*exchanges[i], load);
      sent += load.sent;
      result.sums += cost.host + cost.link;
      now += cost.host;
      ends[i] = linkIsFree = std::max(now, linkIsFree) + cost.link;
    }
  }
  result.sentBytes = int64_t(sent);
  result.step = std::max(now, linkIsFree);
  return result;
}

std::string RankPlan::strategyOr(llvm::StringRef other) const {
  auto strategy = Config::job(artifact).child("distribution").string("strategy");
  return isDivided() ? llvm::StringRef(strategy).lower() : other.str();
}

double measureCopies(int threads, int64_t bytes) {
  constexpr int64_t least = 4 << 20; // larger than a core's own cache
  // A triad reads and writes, like a copy.
  return measureTriad(threads, std::max(2 * bytes, least)) / 2 / threads;
}

RankForecast RankPlan::onThisHost(int64_t ranks, const BenchResult &share) const {
  constexpr double meeting = 20e-6; // the time that threads of one host need to signal each other
  int64_t cpus = ThreadTeam::availableCpus();
  int threads = int(std::min(ranks, cpus));
  double rate = measureCopies(threads, totalSummed);
  RankForecast result = forecast(ranks, share, [&](const Exchange &, const Load &load) {
    return Cost{load.copied / rate, meeting};
  });
  result.strategy = strategyOr("mirrored");
  // Ranks that outnumber the CPUs take turns.
  double turns = double(ranks) / double(threads);
  for (double *seconds : {&result.compute, &result.sums, &result.step})
    *seconds *= turns;
  return result;
}

RankForecast RankPlan::over(const RankLink &link, int64_t ranks, const BenchResult &share) const {
  double rate = measureCopies(1, totalSummed);
  RankForecast result = forecast(ranks, share, [&](const Exchange &exchange, const Load &load) {
    int rounds = exchange.isSum() ? 2 : 1;
    return Cost{load.copied / rate,
                std::max(load.sent, load.received) / link.bandwidth + rounds * link.latency};
  });
  result.strategy = strategyOr("multi_worker");
  return result;
}

} // namespace gradc
