// The trainer's command line, parsed into options.
#ifndef RUNTIME_TRAIN_COMMANDLINE_H
#define RUNTIME_TRAIN_COMMANDLINE_H

#include "runtime/train/Trainer.h"

namespace gradc::runtime {

struct CommandLine {
  TrainOptions options;
  bool help = false, version = false;
};

/// Parses the arguments after the program's name. Failures have Code::usage.
Result<CommandLine> parseCommandLine(std::span<char *const> arguments);

/// The text of --help.
std::string helpText(std::string_view program);

} // namespace gradc::runtime

#endif
