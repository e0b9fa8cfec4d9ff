// Training by several processes, as the command line asks for it.
#ifndef RUNTIME_TRAIN_RANKSTART_H
#define RUNTIME_TRAIN_RANKSTART_H

#include "runtime/base/Text.h"
#include "runtime/ranks/Ranks.h"
#include "runtime/train/CommandLine.h"

#include <optional>

namespace gradc::runtime {

/// The number of processes that mpirun has started, of which this is one; 0: it has started none.
int launchedRanks();
/// Of programs without ranks, and of specs that ask for none.
Status needsDistribution();

/// A failure of a rank other than the first, named in its message; one about another rank names
/// that.
inline Status sayingRank(const Communicator &ranks, const Status &status) {
  const std::string &message = status.message();
  if (ranks.rank() == 0 || message.empty() || message.starts_with("rank "))
    return status;
  return Status(status.code(), text("rank ", ranks.rank(), ": ", message));
}

// Null in programs linked without ranks (gradc_ranks).

/// Runs `--ranks` processes of this program with the same arguments, and returns their exit code;
/// none where this process trains itself, alone or as a rank. `file`: what gradc was given; "": the
/// program is the artifact's own.
__attribute__((weak)) Result<std::optional<int>> startRanks(const Artifact &artifact,
                                                            const std::string &file,
                                                            const CommandLine &line,
                                                            std::span<char *const> arguments);

/// The ranks that mpirun has started, with the line's options set for them; null: this process
/// trains alone.
__attribute__((weak)) Result<std::unique_ptr<Ranks>> joinTraining(const Artifact &artifact,
                                                                  CommandLine &line);

} // namespace gradc::runtime

#endif
