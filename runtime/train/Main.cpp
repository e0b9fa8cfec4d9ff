// trainerMain: the command line, signals, exit codes.
#include "runtime/base/Text.h"
#include "runtime/train/CommandLine.h"

#include <csignal>
#include <cstdio>

namespace gradc::runtime {

namespace {

std::atomic<int> interruptedBy{0};

/// During a training, the first SIGINT or SIGTERM ends it after the current step; a second one ends
/// the process at once.
class SignalGuard {
public:
  SignalGuard() {
    struct sigaction stop = {};
    stop.sa_handler = [](int signal) { interruptedBy.store(signal); };
    stop.sa_flags = int(SA_RESETHAND) | SA_RESTART;
    sigaction(SIGINT, &stop, &before[0]);
    sigaction(SIGTERM, &stop, &before[1]);
    // A file that reaches the size limit then gives a write error, like a full disk.
    struct sigaction ignore = {};
    ignore.sa_handler = SIG_IGN;
    sigaction(SIGXFSZ, &ignore, &before[2]);
  }
  ~SignalGuard() {
    sigaction(SIGINT, &before[0], nullptr);
    sigaction(SIGTERM, &before[1], nullptr);
    sigaction(SIGXFSZ, &before[2], nullptr);
  }
  SignalGuard(const SignalGuard &) = delete;

private:
  struct sigaction before[3];
};

int fail(const Status &status) {
  std::fflush(stdout);
  std::fprintf(stderr, "error: %s\n", status.message().c_str());
  return int(status.code());
}

} // namespace

int trainerMain(int argc, char **argv, std::shared_ptr<const Artifact> artifact) {
  auto line = parseCommandLine({argv + 1, size_t(argc > 1 ? argc - 1 : 0)});
  std::string_view program = argc > 0 ? argv[0] : "trainer";
  if (!line) {
    int code = fail(line.status());
    std::fprintf(stderr, "see %.*s --help\n", int(program.size()), program.data());
    return code;
  }
  if (line->help || line->version) {
    std::fputs(line->help ? helpText(program).c_str() : "gradc " GRADC_VERSION "\n", stdout);
    return 0;
  }

  interruptedBy = 0;
  SignalGuard guard;
  line->options.interrupt = &interruptedBy;
  auto summary = train(std::move(artifact), line->options);
  if (!summary)
    return fail(summary.status());
  // The exit code that a shell reports for a process ended by a signal.
  return summary->signal ? 128 + summary->signal : 0;
}

} // namespace gradc::runtime
