// The trainer's command line, read into options.
#ifndef RUNTIME_TRAIN_COMMANDLINE_H
#define RUNTIME_TRAIN_COMMANDLINE_H

#include "runtime/train/Trainer.h"

namespace gradc::runtime {

struct CommandLine {
  TrainOptions options;
  bool help = false, version = false;
};

/// Reads the arguments behind the program's name. Failures have Code::usage.
Result<CommandLine> parseCommandLine(std::span<char *const> arguments);

/// What --help prints.
std::string helpText(std::string_view program);

} // namespace gradc::runtime

#endif
