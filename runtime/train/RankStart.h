// Training by several processes, as requested on the command line.
#ifndef RUNTIME_TRAIN_RANKSTART_H
#define RUNTIME_TRAIN_RANKSTART_H

#include "runtime/base/Text.h"
#include "runtime/ranks/Ranks.h"
#include "runtime/train/job/CommandLine.h"

#include <optional>

namespace gradc::runtime {

/// The error for programs without ranks, and for specs that do not ask for ranks.
Status needsDistribution();

/// Adds the rank to the message of a failure of a rank other than the first; a failure that
/// concerns another rank names that rank.
inline Status sayingRank(const Communicator &ranks, const Status &status) {
  const std::string &message = status.message();
  if (ranks.rank() == 0 || message.empty() || message.starts_with("rank "))
    return status;
  return Status(status.code(), text("rank ", ranks.rank(), ": ", message));
}

// Null in programs linked without ranks (gradc_ranks).

/// Runs `--ranks` processes of this program with the same arguments, and returns their exit code;
/// nullopt if this process itself trains, alone or as a rank. `file`: the file given to gradc; ""
/// if the program contains the artifact.
__attribute__((weak)) Result<std::optional<int>> startRanks(const Artifact &artifact,
                                                            const std::string &file,
                                                            const CommandLine &line,
                                                            std::span<char *const> arguments);

/// The ranks started by mpirun, with the line's options set for them; null if this process trains
/// alone.
__attribute__((weak)) Result<std::unique_ptr<Ranks>> joinTraining(const Artifact &artifact,
                                                                  CommandLine &line);

} // namespace gradc::runtime

#endif
