// Detects ranks that end before heartbeats between ranks have started.
#ifndef RUNTIME_RANKS_RANKWATCH_H
#define RUNTIME_RANKS_RANKWATCH_H

#include <chrono>
#include <map>
#include <string>
#include <sys/types.h>

namespace gradc::runtime {

/// Watches mpirun's child processes, which are the ranks of this host.
class RankWatch {
public:
  using Clock = std::chrono::steady_clock;

  RankWatch(pid_t mpirun, int ranks) : mpirun(mpirun), ranks(ranks) {}

  /// The ranks that have ended, as text for messages; "" if none is known. All ranks of a host
  /// start together, so a rank that stays missing while others run has ended, even if it was never
  /// seen.
  const std::string &lookFor(Clock::time_point now);
  const std::string &lost() const { return missing; }

private:
  pid_t mpirun;
  int ranks;
  std::map<int, pid_t> seen, running; ///< [rank]
  Clock::time_point changedAt, lookedAt;
  std::string missing;
};

} // namespace gradc::runtime

#endif
