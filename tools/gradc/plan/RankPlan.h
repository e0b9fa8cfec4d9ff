// Predicts a training step shared by several processes from that of one process.
#ifndef TOOLS_GRADC_PLAN_RANKPLAN_H
#define TOOLS_GRADC_PLAN_RANKPLAN_H

#include "runtime/core/state/Division.h"
#include "tools/gradc/bench/Bench.h"

#include <optional>

namespace gradc {

/// The network link between hosts.
struct RankLink {
  double bandwidth = 0; ///< bytes per second that a rank sends and receives at the same time
  double latency = 0;   ///< seconds of a message

  /// Parses "12GB/s,5us"; nullopt if the text is not a link.
  static std::optional<RankLink> parse(llvm::StringRef text);
};

/// Bytes per second that each of `threads` threads copies, of `bytes` bytes and no less than a
/// cache holds.
double measureCopies(int threads, int64_t bytes);

/// The step of `ranks` processes with one thread each, from the view of the process with the most
/// work.
struct RankForecast {
  std::string strategy; ///< "mirrored": on this host, "multi_worker": each on a host of its own; or
                        ///< the spec's, where ranks divide parameters
  int64_t ranks = 1, rows = 0; ///< of the largest share
  double compute = 0;          ///< seconds of its kernels
  double sums = 0;             ///< of its exchanges with others, if nothing ran beside them
  double step = 0;
  int64_t sentBytes = 0, memoryBytes = 0; ///< of the rank with most of each

  /// The fraction of the sums that the step does not wait for.
  double hidden() const { return sums > 0 ? 1 - (step - compute) / sums : 1; }
};

/// Predicts steps from the times of an entry's nodes, measured for a rank's rows of a batch.
class RankPlan {
public:
  /// `entry`: its name in that level.
  RankPlan(const runtime::Artifact &artifact, std::string_view level, std::string_view entry);

  /// Whether the step sums over ranks at all.
  bool isShared() const { return totalSummed > 0; }
  /// Whether each rank updates its part of the parameters, or has its shards of them.
  bool isDivided() const { return level->cuts.count > 0 || modelRanks > 1; }
  /// The number of ranks that own the parameters and take no rows.
  int64_t serversOf(int64_t ranks) const { return ranks > 1 ? serverCount : 0; }
  /// The rows of the largest share.
  int64_t rowsOf(int64_t ranks) const;
  /// `share`: steps on a rank's rows on one thread, measured while other ranks run on the other
  /// CPUs.
  RankForecast onThisHost(int64_t ranks, const BenchResult &share) const;
  /// `share`: steps on a rank's rows on one thread.
  RankForecast over(const RankLink &link, int64_t ranks, const BenchResult &share) const;

private:
  /// An exchange between all ranks, or between those of one replica of the model.
  struct Exchange {
    uint32_t kind = GRADC_COLLECTIVE_SUM;
    double width = 1;                               ///< bytes on the wire of one in memory
    int64_t bytes = 0;                              ///< in memory
    size_t awaitedBy = 0;                           ///< the node that first touches it, or the end
    std::vector<std::pair<uint32_t, int64_t>> cuts; ///< of each operand, and its bytes

    bool isSum() const {
      return kind == GRADC_COLLECTIVE_SUM || kind == GRADC_COLLECTIVE_SUM_SHARDS;
    }
  };
  /// The bytes of an exchange for one rank.
  struct Load {
    double copied, sent, received;
  };
  /// The cost of an exchange for one rank.
  struct Cost {
    double host; ///< seconds in which it computes nothing else
    double link; ///< beside what it computes
  };

  void findExchanges();
  int64_t membersOf(const Exchange &exchange, int64_t ranks) const;
  runtime::Division divide(int64_t ranks) const;
  double portion(const runtime::Division &division, uint32_t cut, int rank) const;
  Load loadOf(const Exchange &exchange, const runtime::Division &division, int rank) const;
  int64_t stateBytes(const runtime::Division &division, int rank) const;
  RankForecast forecast(int64_t ranks, const BenchResult &share,
                        llvm::function_ref<Cost(const Exchange &, const Load &)> costOf) const;
  RankForecast forecast(const runtime::Division &division, int rank, const BenchResult &share,
                        llvm::function_ref<Cost(const Exchange &, const Load &)> costOf) const;
  std::string strategyOr(llvm::StringRef other) const;

  const runtime::Artifact &artifact;
  const gradc_artifact_entry *entry = nullptr;
  std::span<const gradc_artifact_node> nodes;
  const gradc_artifact_level *level = nullptr;
  std::vector<std::optional<Exchange>> exchanges; ///< [node]
  int64_t totalSummed = 0, rowUnit = 1, serverCount = 0;
  int64_t modelRanks = 1; ///< that have one replica of the model
};

} // namespace gradc

#endif
