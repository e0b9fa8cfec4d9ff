// Training by several processes: how they start, and how they end.
#ifndef RUNTIME_RANKS_RANKS_H
#define RUNTIME_RANKS_RANKS_H

#include "runtime/ranks/Communicator.h"

#include <atomic>
#include <memory>

namespace gradc::runtime {

/// The processes that mpirun has started together.
class Ranks : public Communicator {
public:
  /// CPUs that this process may use, those divided that other ranks may use, too; at least 1.
  virtual int cpus() const = 0;
  /// A rank that gives no sign of life for so long is lost; 30 seconds at first.
  virtual void setStall(double seconds) = 0;
  /// The last so many ranks own all that ranks divide; 0, as at first: each owns as much.
  virtual void setServers(int count) = 0;
  /// At the end, with this process' exit code. 0: returns once all ranks have come to theirs, or
  /// with a failure of theirs meanwhile. Else the others stop, too.
  virtual Status leave(int code) = 0;
};

/// Joins the others.
Result<std::unique_ptr<Ranks>> joinRanks();

/// A program that `launchRanks` starts.
struct RankProgram {
  int count;                          ///< processes
  std::vector<std::string> arguments; ///< of this program
  /// An artifact that is in no file: ranks find its file's name in `artifactVariable`.
  std::span<const std::byte> artifact = {};
  /// When ranks are lost, the others are started again to go on from the last checkpoint.
  bool isElastic = false;
};
constexpr const char *artifactVariable = "GRADC_RANKS_ARTIFACT";

/// Runs this program in several processes, on this host unless the environment says otherwise, and
/// returns their exit code. If `interrupt` becomes a signal's number, they are told to stop.
Result<int> launchRanks(const RankProgram &program, const std::atomic<int> &interrupt);

/// Whether this process is a rank that `launchRanks` has started, not the user's own mpirun.
bool isStartedByLauncher();

} // namespace gradc::runtime

#endif
