// Training by several processes, as the command line asks for it.
#ifndef RUNTIME_TRAIN_RANKSTART_H
#define RUNTIME_TRAIN_RANKSTART_H

#include "runtime/ranks/Ranks.h"
#include "runtime/train/CommandLine.h"

#include <optional>

namespace gradc::runtime {

/// Runs `--ranks` processes of this program with the same arguments, and returns their exit code;
/// none where this process trains itself, alone or as a rank. `file`: what gradc was given; "": the
/// program is the artifact's own.
Result<std::optional<int>> startRanks(const Artifact &artifact, const std::string &file,
                                      const CommandLine &line, std::span<char *const> arguments);

/// The ranks that mpirun has started, with the line's options set for them; null: this process
/// trains alone.
Result<std::unique_ptr<Ranks>> joinTraining(const Artifact &artifact, CommandLine &line);

} // namespace gradc::runtime

#endif
