// trainerMain: command line, signals, and exit codes.
#include "runtime/base/Text.h"
#include "runtime/data/source/MappedFile.h"
#include "runtime/train/RankStart.h"
#include "runtime/train/RateFinder.h"
#include "runtime/train/Sweep.h"
#include "runtime/train/Trainer.h"
#include "runtime/train/predict/Predict.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <optional>

namespace gradc::runtime {

namespace {

std::atomic<int> interruptedBy{0};

/// Signal handlers during a training. Signals that were ignored before, as under nohup, stay
/// ignored. Only executables install handlers; the library changes no signal disposition.
class SignalGuard {
public:
  SignalGuard() {
    // The first signal ends the training after the current step, or between batches of an
    // evaluation; a second one ends the process at once. mpirun passes SIGUSR1 on to ranks.
    for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1})
      handle(signal, int(SA_RESETHAND) | SA_RESTART,
             [](int number, siginfo_t *, void *) { interruptedBy.store(number); });
    // A file that reaches the size limit, or a pipe that has lost its reader, then gives a write
    // error, like a full disk.
    for (int signal : {SIGXFSZ, SIGPIPE})
      handle(signal, 0, nullptr);
    // If another program truncates a data file, the training ends normally. Any other fault recurs,
    // and then ends the process.
    handle(SIGBUS, 0, [](int number, siginfo_t *info, void *) {
      if (!MappedFile::outliveFault(info->si_addr))
        std::signal(number, SIG_DFL);
    });
  }
  ~SignalGuard() {
    for (int i = 0; i < count; ++i)
      sigaction(before[i].signal, &before[i].action, nullptr);
  }
  SignalGuard(const SignalGuard &) = delete;

private:
  /// Ignores the signal if `handler` is null.
  void handle(int signal, int flags, void (*handler)(int, siginfo_t *, void *)) {
    Before &saved = before[count++];
    saved.signal = signal;
    sigaction(signal, nullptr, &saved.action);
    if (saved.action.sa_handler == SIG_IGN)
      return;
    struct sigaction action = {};
    action.sa_flags = flags;
    if (handler) {
      action.sa_flags |= SA_SIGINFO;
      action.sa_sigaction = handler;
    } else {
      action.sa_handler = SIG_IGN;
    }
    sigaction(signal, &action, nullptr);
  }

  struct Before {
    int signal;
    struct sigaction action;
  } before[7];
  int count = 0;
};

int fail(const Status &status, const Communicator *ranks = nullptr) {
  std::fflush(stdout);
  Status said = ranks ? sayingRank(*ranks, status) : status;
  if (!said.message().empty()) // otherwise another rank reports it
    std::fprintf(stderr, "error: %s\n", printable(said.message()).c_str());
  return int(status.code());
}

/// The exit code of a command whose result goes to standard output.
int printed(const Status &status) {
  if (status.ok() && (std::fflush(stdout) || std::ferror(stdout)))
    return fail(Status::error(text("cannot write to standard output: ", std::strerror(errno))));
  return status.ok() ? 0 : fail(status);
}

/// Runs one training, alone or as one of several ranks.
int runTraining(std::shared_ptr<const Artifact> artifact, CommandLine &line) {
  auto ranks = joinTraining ? joinTraining(*artifact, line) : Result(std::unique_ptr<Ranks>());
  if (!ranks)
    return fail(ranks.status(), line.options.ranks);
  Communicator *others = line.options.ranks;
  bool findsRate = !line.options.findRate.empty();
  auto summary = (findsRate ? findLearningRate : train)(std::move(artifact), line.options);
  int code = !summary          ? fail(summary.status(), others)
             : summary->signal ? int(codeOfSignal(summary->signal))
                               : 0;
  if (!others)
    return code;
  Status left = (*ranks)->leave(code);
  return left.ok() || code ? code : fail(left, others);
}

} // namespace

Status needsDistribution() {
  return Status::invalid("this program trains in one process: add distribution { } to the training "
                         "spec and compile it again, to train in several");
}

int trainerMain(int argc, char **argv, std::shared_ptr<const Artifact> artifact,
                const std::string &file) {
  auto line = parseCommandLine({argv + 1, size_t(argc > 1 ? argc - 1 : 0)});
  std::string_view program = argc > 0 ? argv[0] : "trainer";
  if (!line) {
    int code = fail(line.status());
    std::string_view command = file.empty() && argc > 1 ? argv[1] : ""; // of gradc: the program
    bool hasHelp = command == "predict" || command == "evaluate";
    std::string help = text(file.empty() ? "" : "gradc ", program, hasHelp ? " " : "",
                            hasHelp ? command : "", " --help");
    std::fprintf(stderr, "see %s\n", help.c_str());
    return code;
  }
  if (line->help || line->version) {
    std::fputs(line->help ? helpText(program, line->command).c_str() : "gradc " GRADC_VERSION "\n",
               stdout);
    return printed({});
  }

  std::string own = forShell(program), given = forShell(file);
  line->options.program = file;
  line->options.trainCommand =
      text(file.empty() ? own : text("gradc train ", given), line->repeated);
  line->options.predictCommand =
      text(file.empty() ? own : "gradc", " predict", file.empty() ? "" : text(' ', given));
  interruptedBy = 0;
  SignalGuard guard;
  line->options.interrupt = &interruptedBy;
  if (line->command != trains) {
    Status status = (line->command == predicts ? predict : evaluateOn)(artifact, *line);
    if (interruptedBy)
      return int(codeOfSignal(interruptedBy));
    return printed(status);
  }
  if (!startRanks && (line->isElastic || std::max(line->ranks, launchedRanks()) > 1))
    return fail(needsDistribution());
  auto started = !startRanks ? Result(std::optional<int>())
                             : startRanks(*artifact, file, *line, {argv + 1, size_t(argc - 1)});
  if (!started)
    return fail(started.status());
  if (*started)
    return **started;
  if (!line->sweep.field.empty()) {
    Status status = runSweep(artifact, *line);
    return status.ok() && interruptedBy ? int(codeOfSignal(interruptedBy)) : printed(status);
  }
  return runTraining(std::move(artifact), *line);
}

} // namespace gradc::runtime
