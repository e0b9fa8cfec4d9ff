// The trainer's command line, parsed into options.
#ifndef RUNTIME_TRAIN_JOB_COMMANDLINE_H
#define RUNTIME_TRAIN_JOB_COMMANDLINE_H

#include "runtime/train/job/TrainOptions.h"

namespace gradc::runtime {

/// The runs of a --sweep: the values of one field, each with a complete set of options.
struct Sweep {
  std::string field; ///< "": no sweep
  std::vector<std::pair<std::string, TrainOptions>> runs;
};

/// The commands of a program, as bits.
enum Command : unsigned { trains = 1, predicts = 2, evaluates = 4 };

struct CommandLine {
  Command command = trains;
  TrainOptions options;
  Sweep sweep;
  std::string data, output; ///< of a use of the model
  std::string repeated;     ///< all options except --resume, as a shell reads them
  int ranks = 1;            ///< that are started
  bool isElastic = false;   ///< fewer go on when some are lost
  bool help = false, version = false;
};

/// An argument as a shell reads it, in quotes if need be.
std::string forShell(std::string_view argument);

/// Parses the arguments after the program's name. Errors have Code::usage.
Result<CommandLine> parseCommandLine(std::span<char *const> arguments);

/// The text of --help.
std::string helpText(std::string_view program, Command command);

} // namespace gradc::runtime

#endif
