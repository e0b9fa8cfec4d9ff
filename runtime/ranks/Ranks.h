// The start and the end of training by several processes.
#ifndef RUNTIME_RANKS_RANKS_H
#define RUNTIME_RANKS_RANKS_H

#include "runtime/ranks/Communicator.h"

#include <atomic>
#include <cstdlib>
#include <memory>

namespace gradc::runtime {

/// The processes that one mpirun has started.
class Ranks : public Communicator {
public:
  /// This process' share of the CPUs: CPUs that several ranks may use are divided among them; at
  /// least 1.
  virtual int cpus() const = 0;
  /// A rank without heartbeats for this long counts as lost; 30 seconds by default.
  virtual void setStall(double seconds) = 0;
  /// The last `count` ranks own all divided states; 0, the default: every rank owns an equal share.
  virtual void setServers(int count) = 0;
  /// Lets workers run steps independently: the gradient of a worker's step is applied once the
  /// slowest worker is at most `steps` steps behind it. Expects one server.
  virtual void setStaleness(int64_t steps) = 0;
  /// Collective call: from now on each `count` successive ranks have one replica of the model. They
  /// divide the ranks evenly.
  virtual Status setModelRanks(int count) = 0;
  /// Called at the end with this process' exit code. With 0 it returns once all ranks have reached
  /// their end, or with the failure of another rank. Otherwise it makes the other ranks stop.
  virtual Status leave(int code) = 0;
};

/// Joins the other ranks.
Result<std::unique_ptr<Ranks>> joinRanks();

/// A program that `launchRanks` starts.
struct RankProgram {
  int count;                          ///< number of processes
  std::vector<std::string> arguments; ///< command line of the program
  /// An artifact without a file; `launchRanks` writes one and names it in `artifactVariable`.
  std::span<const std::byte> artifact = {};
  /// When ranks are lost, the others are restarted and continue from the last checkpoint.
  bool isElastic = false;
};
constexpr const char *artifactVariable = "GRADC_RANKS_ARTIFACT";
/// Set for ranks that `launchRanks` starts if its standard output is a terminal. mpirun gives the
/// ranks a terminal of its own, whatever becomes of their output.
constexpr const char *terminalVariable = "GRADC_RANKS_TERMINAL";

/// The mpirun that `launchRanks` starts: the one named by GRADC_MPIRUN, or else the first in PATH.
Result<std::string> findMpirun();

/// How ranks have ended.
struct RankEnd {
  int code = 1;                ///< the exit code
  int lost = 0;                ///< number of lost ranks
  bool areAllLost = false;     ///< no rank is left that could have reported it
  std::string checkpoint = {}; ///< the newest that they have written; "": none
  Status failure = {};         ///< why ranks that followed others have not begun
};

/// Runs the program in several processes, on this host unless the environment says otherwise. The
/// processes are told to stop once `interrupt` holds a signal number.
Result<RankEnd> launchRanks(const RankProgram &program, const std::atomic<int> &interrupt);

/// The number of processes that mpirun has started together with this one; 0 if it has started
/// none.
inline int launchedRanks() {
  const char *size = std::getenv("OMPI_COMM_WORLD_SIZE");
  return size ? std::atoi(size) : 0;
}

/// Whether this process is a rank that `launchRanks` has started, not the user's own mpirun.
bool isStartedByLauncher();

} // namespace gradc::runtime

#endif
