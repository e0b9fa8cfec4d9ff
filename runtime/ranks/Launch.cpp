// Starts mpirun and waits for it.
#include "runtime/ranks/Launch.h"

#include "runtime/base/AtomicFile.h"
#include "runtime/base/OwnFile.h"
#include "runtime/base/Text.h"
#include "runtime/ranks/RankWatch.h"
#include "runtime/ranks/Ranks.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <ftw.h>
#include <optional>
#include <poll.h>
#include <span>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace gradc::runtime {

static constexpr const char *exitVariable = "GRADC_RANKS_EXIT"; // a file for the exit code

bool isStartedByLauncher() { return std::getenv(exitVariable); }

bool reportExit(int code, int lost) {
  const char *file = std::getenv(exitVariable);
  if (!file)
    return true;
  int descriptor = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (descriptor < 0)
    return false;
  std::string digits = text(code, ' ', lost);
  [[maybe_unused]] ssize_t ignored = write(descriptor, digits.data(), digits.size());
  close(descriptor);
  return true;
}

static std::string meetingFile(const std::string &exitFile) { return exitFile + ".met"; }

void reportMeeting() {
  const char *file = std::getenv(exitVariable);
  if (!file)
    return;
  int descriptor = open(meetingFile(file).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (descriptor >= 0)
    close(descriptor);
}

static std::string checkpointFile(const std::string &exitFile) { return exitFile + ".checkpoint"; }

void reportCheckpoint(const std::string &name) {
  const char *file = std::getenv(exitVariable);
  if (!file)
    return;
  AtomicFile report(checkpointFile(file));
  report.write(std::as_bytes(std::span(name)));
  (void)report.commit(); // without the report, restarted ranks begin anew
}

static std::string reportedCheckpoint(const std::string &exitFile) {
  char name[4096];
  int descriptor = open(checkpointFile(exitFile).c_str(), O_RDONLY | O_CLOEXEC);
  ssize_t size = descriptor < 0 ? 0 : read(descriptor, name, sizeof name);
  if (descriptor >= 0)
    close(descriptor);
  return std::string(name, size_t(std::max<ssize_t>(size, 0)));
}

/// The end as the first rank has reported it.
static std::optional<RankEnd> reportedEnd(const std::string &file) {
  char digits[16] = {};
  int descriptor = open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0)
    return std::nullopt;
  ssize_t count = read(descriptor, digits, sizeof digits - 1);
  close(descriptor);
  RankEnd end;
  bool isWhole = count > 0 && std::sscanf(digits, "%d %d", &end.code, &end.lost) == 2;
  return isWhole ? std::optional(end) : std::nullopt;
}

/// The folder in which Open MPI makes those of its jobs; a job that ends removes the one that all
/// jobs of a user have in common, where another one may be about to begin.
static constexpr const char *jobsVariables[] = {"OMPI_MCA_orte_tmpdir_base",
                                                "PRTE_MCA_prte_tmpdir_base"};

/// Sets mpirun's options as environment variables, unless the user has set them. Open MPI 4 and 5
/// use different variables, and each ignores those of the other.
static void prepareEnvironment(const std::string &folder, const std::string &exitFile) {
  setenv(exitVariable, exitFile.c_str(), 1);
  for (const char *name : jobsVariables)
    setenv(name, folder.c_str(), 0);
  if (isatty(STDOUT_FILENO))
    setenv(terminalVariable, "1", 1);
  constexpr std::pair<const char *, const char *> settings[] = {
      // Ranks may outnumber CPUs; our thread team decides on binding.
      {"OMPI_MCA_rmaps_base_oversubscribe", "1"},
      {"PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe"},
      {"OMPI_MCA_hwloc_base_binding_policy", "none"},
      {"PRTE_MCA_hwloc_default_binding_policy", "none"},
      // The ranks themselves detect a lost rank, report it and stop.
      {"OMPI_MCA_orte_enable_recovery", "1"},
      {"OMPI_MCA_orte_execute_quiet", "1"},
      // Single-copy transfers between processes are forbidden on some systems.
      {"OMPI_MCA_btl_vader_single_copy_mechanism", "none"}};
  for (auto [name, value] : settings)
    setenv(name, value, 0);
  // Containers often have no user but root, and ranks have no more rights than this process.
  if (geteuid() == 0)
    for (const char *name : {"OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM",
                             "PRTE_ALLOW_RUN_AS_ROOT", "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM"})
      setenv(name, "1", 0);
}

Result<std::string> findMpirun() {
  const char *named = std::getenv("GRADC_MPIRUN"), *path = std::getenv("PATH");
  if (named && *named && access(named, X_OK) == 0)
    return std::string(named);
  std::string_view folders = named && *named ? "" : path ? path : "";
  while (!folders.empty()) {
    size_t end = std::min(folders.find(':'), folders.size());
    std::string file = text(folders.substr(0, end), "/mpirun");
    if (access(file.c_str(), X_OK) == 0)
      return file;
    folders.remove_prefix(std::min(end + 1, folders.size()));
  }
  return Status::error(text("cannot start ranks: there is no ",
                            named && *named ? named : "mpirun in PATH",
                            "; install Open MPI (Debian: package openmpi-bin), or name its mpirun "
                            "with GRADC_MPIRUN"));
}

/// Starts mpirun in its own process group, so that signals from a terminal reach only this process.
static pid_t startMpirun(const std::string &mpirun, std::vector<const char *> &arguments,
                         const int (&errors)[2]) {
  pid_t child = fork();
  if (child != 0)
    return child;
  dup2(errors[1], 2);
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE})
    std::signal(signal, SIG_DFL);
  if (int nothing = open("/dev/null", O_RDONLY); nothing >= 0)
    dup2(nothing, 0);
  execv(mpirun.c_str(), const_cast<char *const *>(arguments.data()));
  _exit(127);
}

namespace {
/// Forwards the standard error of mpirun and the ranks line by line, except mpirun's own messages
/// about a lost rank.
class ErrorLines {
public:
  explicit ErrorLines(int descriptor) : descriptor(descriptor) {}
  ~ErrorLines() { write(waiting); }

  /// Forwards output that has arrived or arrives within a short wait; false: there was none.
  bool pass() {
    pollfd input = {descriptor, POLLIN, 0};
    char bytes[4096];
    ssize_t count = 0;
    if (poll(&input, 1, /*milliseconds=*/20) <= 0 ||
        (count = read(descriptor, bytes, sizeof bytes)) <= 0) {
      if (input.revents & POLLHUP)
        usleep(20'000);
      return false;
    }
    waiting.append(bytes, size_t(count));
    for (size_t end; (end = waiting.find('\n')) != waiting.npos; waiting.erase(0, end + 1))
      if (std::string line = waiting.substr(0, end + 1); line.find("] PMIX ERROR: ") == line.npos)
        write(line);
    return true;
  }

private:
  static void write(const std::string &line) {
    [[maybe_unused]] ssize_t ignored = ::write(2, line.data(), line.size());
  }
  int descriptor;
  std::string waiting;
};
} // namespace

/// Waits until mpirun has ended. Kills it after a failure, because stopped or lost ranks do not end
/// by themselves.
static int awaitMpirun(pid_t mpirun, const std::string &exitFile, ErrorLines &errors,
                       const std::atomic<int> &interrupt, RankWatch &watch) {
  using Clock = RankWatch::Clock;
  constexpr std::chrono::seconds patience(4);
  Clock::time_point failedAt, now;
  bool haveMet = false;
  bool isTold = false;
  int status = 0, ending = 0;
  while (waitpid(mpirun, &status, WNOHANG) == 0) {
    errors.pass();
    now = Clock::now();
    if (interrupt && !isTold) {
      isTold = true;
      kill(mpirun, SIGUSR1); // mpirun forwards it to the ranks
    }
    haveMet = haveMet || access(meetingFile(exitFile).c_str(), F_OK) == 0;
    bool isLost = !haveMet && !ending && !watch.lookFor(now).empty();
    if (ending == 0 && (isLost || reportedEnd(exitFile).value_or(RankEnd{0}).code)) {
      ending = SIGTERM;
      failedAt = isLost ? now - patience : now; // ranks that wait for a lost one cannot be told
    } else if (ending && now - failedAt > patience) {
      kill(mpirun, ending);
      ending = SIGKILL;
      failedAt = now;
    }
  }
  while (errors.pass())
    ;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

namespace {
/// A folder for the files by which ranks and this process communicate, and for those of mpirun.
class SharedFolder {
public:
  ~SharedFolder() {
    for (const char *name : jobsVariables)
      if (const char *value = std::getenv(name); value && value == path)
        unsetenv(name); // the next ranks have another folder
    auto removeFile = [](const char *file, const struct stat *, int, FTW *) {
      return remove(file);
    };
    (void)nftw(path.c_str(), removeFile, /*nopenfd=*/8, FTW_DEPTH | FTW_PHYS);
  }
  Status make() {
    const char *temporary = std::getenv("TMPDIR");
    path = text(temporary && *temporary ? temporary : "/tmp", "/gradc-ranks-XXXXXX");
    return mkdtemp(path.data()) ? Status()
                                : Status::error(text("cannot make temporary folder '", path,
                                                     "': ", std::strerror(errno), "; see TMPDIR"));
  }
  const std::string &name() const { return path; }
  std::string exitFile() const { return path + "/exit"; }
  std::string artifactFile() const { return path + "/artifact"; }

private:
  std::string path;
};
} // namespace

static Result<RankEnd> launchOnce(const RankProgram &program, const std::string &mpirun,
                                  const std::string &file, const std::atomic<int> &interrupt) {
  SharedFolder folder;
  if (Status made = folder.make(); !made.ok())
    return made;
  prepareEnvironment(folder.name(), folder.exitFile());
  if (!program.artifact.empty()) {
    AtomicFile artifact(folder.artifactFile());
    artifact.write(program.artifact);
    if (Status written = artifact.commit(); !written.ok())
      return written;
    setenv(artifactVariable, folder.artifactFile().c_str(), 1);
  }
  std::string number = text(program.count);
  std::vector<const char *> line = {mpirun.c_str(), "-n", number.c_str(), file.c_str()};
  for (const std::string &argument : program.arguments)
    line.push_back(argument.c_str());
  line.push_back(nullptr);
  int errors[2];
  if (pipe2(errors, O_CLOEXEC))
    return Status::error("cannot make a pipe");
  pid_t child = startMpirun(mpirun, line, errors);
  close(errors[1]);
  int code = 1;
  RankWatch watch(child, program.count);
  if (child > 0) {
    ErrorLines lines(errors[0]);
    code = awaitMpirun(child, folder.exitFile(), lines, interrupt, watch);
  }
  close(errors[0]);
  if (child < 0 || code == 127)
    return Status::error(text("cannot run '", mpirun, '\''));
  if (program.count == 1 && !interrupt)
    return RankEnd{code}; // a single rank trains like an ordinary process
  auto reported = reportedEnd(folder.exitFile());
  if (!reported && !watch.lost().empty() && !interrupt)
    return Status::error(
        text(watch.lost(), " has ended before all ranks had met: all of them stop"));
  bool hasFailed = reported && reported->code > 0 && reported->code < int(Code::signal);
  if (interrupt && !hasFailed)
    return RankEnd{int(codeOfSignal(interrupt))};
  // Crashed ranks have reported nothing, whatever mpirun's exit code is.
  RankEnd end = reported.value_or(RankEnd());
  end.areAllLost = access(folder.exitFile().c_str(), F_OK) != 0 &&
                   access(meetingFile(folder.exitFile()).c_str(), F_OK) == 0;
  end.checkpoint = reportedCheckpoint(folder.exitFile());
  return end;
}

Result<RankEnd> launchRanks(const RankProgram &program, const std::atomic<int> &interrupt) {
  auto mpirun = findMpirun();
  if (!mpirun)
    return mpirun.status();
  auto file = findOwnFile();
  if (!file)
    return file.status();
  // Where it is ignored, as by some supervisors, nobody learns how mpirun has ended.
  std::signal(SIGCHLD, SIG_DFL);
  std::string checkpoint;
  for (RankProgram left = program;;) {
    auto end = launchOnce(left, *mpirun, *file, interrupt);
    if (!end && checkpoint.empty())
      return end;
    if (!end) // ranks that follow others leave the checkpoint of those
      return RankEnd{
          .code = int(end.status().code()), .checkpoint = checkpoint, .failure = end.status()};
    if (end->checkpoint.empty())
      end->checkpoint = checkpoint; // of the ranks before
    checkpoint = end->checkpoint;
    left.count -= end->lost;
    if (!program.isElastic || end->lost == 0 || left.count < 1 || interrupt)
      return end;
    std::fprintf(stderr, "%s with %d rank%s\n",
                 checkpoint.empty() ? "no checkpoint was written: beginning again"
                                    : "going on from the last checkpoint",
                 left.count, left.count > 1 ? "s" : "");
    // The last occurrence of an option counts.
    left.arguments = program.arguments;
    left.arguments.push_back(text("--ranks=", left.count));
    if (!checkpoint.empty())
      left.arguments.push_back(text("--resume=", checkpoint));
  }
}

} // namespace gradc::runtime
