// The step of a training that several processes share, predicted from that of one.
#ifndef TOOLS_GRADC_RANKPLAN_H
#define TOOLS_GRADC_RANKPLAN_H

#include "tools/gradc/Bench.h"

#include <optional>

namespace gradc {

/// What joins hosts.
struct RankLink {
  double bandwidth = 0; ///< bytes per second that a rank sends and receives at the same time
  double latency = 0;   ///< seconds of a message

  /// "12GB/s,5us"; nothing: it is none.
  static std::optional<RankLink> parse(llvm::StringRef text);
};

/// A step of `ranks` processes of one thread each.
struct RankForecast {
  llvm::StringRef strategy; ///< "mirrored": on this host, "multi_worker": each on a host of its own
  int64_t ranks = 1, rows = 0; ///< of the largest share
  double compute = 0;          ///< seconds of its kernels
  double sums = 0;             ///< of its sums over ranks, if nothing ran beside them
  double step = 0;
  int64_t sentBytes = 0, memoryBytes = 0; ///< of one rank

  /// The share of the sums that the step does not wait for.
  double hidden() const { return sums > 0 ? 1 - (step - compute) / sums : 1; }
};

/// Predicts steps from the times of an entry's nodes for the rows that a rank takes of a batch.
class RankPlan {
public:
  /// `entry`: its name, at that level.
  RankPlan(const runtime::Artifact &artifact, std::string_view level, std::string_view entry);

  /// Whether the step sums over ranks at all.
  bool isShared() const { return totalSummed > 0; }
  /// Of the largest share.
  int64_t rowsOf(int64_t ranks) const;
  /// `share`: steps of these rows on one thread, measured beside those of as many other ranks as
  /// there are CPUs for.
  RankForecast onThisHost(int64_t ranks, const BenchResult &share) const;
  /// `share`: steps of these rows on one thread.
  RankForecast over(const RankLink &link, int64_t ranks, const BenchResult &share) const;

private:
  /// What a sum costs a rank.
  struct SumCost {
    double host; ///< seconds in which it computes nothing else
    double link; ///< beside what it computes
  };
  struct Sum {
    int64_t bytes;    ///< as they travel
    size_t awaitedBy; ///< the node that first touches what it sums, or the end
  };

  void findSums();
  RankForecast forecast(int64_t ranks, const BenchResult &share,
                        llvm::function_ref<SumCost(int64_t bytes)> costOf) const;

  const runtime::Artifact &artifact;
  const gradc_artifact_entry *entry = nullptr;
  std::span<const gradc_artifact_node> nodes;
  std::vector<std::optional<Sum>> sums; ///< [node]
  int64_t totalSummed = 0, rowUnit = 1;
};

} // namespace gradc

#endif
