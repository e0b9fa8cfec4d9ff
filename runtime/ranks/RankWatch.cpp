// A rank's environment variables hold its number and the number of ranks on its host.
#include "runtime/ranks/RankWatch.h"

#include "runtime/base/Text.h"

#include <cstdlib>
#include <dirent.h>
#include <fcntl.h>
#include <string_view>
#include <unistd.h>

namespace gradc::runtime {

static std::string readAll(const std::string &file) {
  std::string all;
  char bytes[4096];
  int descriptor = open(file.c_str(), O_RDONLY | O_CLOEXEC);
  for (ssize_t count; descriptor >= 0 && (count = read(descriptor, bytes, sizeof bytes)) > 0;)
    all.append(bytes, size_t(count));
  if (descriptor >= 0)
    close(descriptor);
  return all;
}

/// Reads an integer variable from a process' environment; -1 if it is not set.
static int variable(const std::string &environment, std::string_view name) {
  for (size_t begin = 0, end; (end = environment.find('\0', begin)) != environment.npos;
       begin = end + 1)
    if (std::string_view(environment).substr(begin).starts_with(text(name, '=')))
      return std::atoi(environment.c_str() + begin + name.size() + 1);
  return -1;
}

/// The child processes started by any thread of the process.
static std::string childrenOf(pid_t process) {
  std::string all, folder = text("/proc/", process, "/task");
  DIR *threads = opendir(folder.c_str());
  if (!threads)
    return all;
  while (const dirent *thread = readdir(threads))
    if (thread->d_name[0] != '.')
      all += readAll(text(folder, '/', thread->d_name, "/children"));
  closedir(threads);
  return all;
}

const std::string &RankWatch::lookFor(Clock::time_point now) {
  constexpr std::chrono::milliseconds pause(200);
  constexpr std::chrono::seconds patience(3);
  if (now - lookedAt < pause)
    return missing;
  lookedAt = now;
  std::map<int, pid_t> found;
  int here = 0;
  std::string children = childrenOf(mpirun);
  char *next = children.data();
  while (pid_t child = pid_t(std::strtol(next, &next, 10))) {
    // A zombie, which mpirun has yet to wait for, has no environment.
    std::string environment = readAll(text("/proc/", child, "/environ"));
    if (int rank = variable(environment, "OMPI_COMM_WORLD_RANK"); rank >= 0) {
      seen[rank] = found[rank] = child;
      here = variable(environment, "OMPI_COMM_WORLD_LOCAL_SIZE");
    }
  }
  if (found != running || found.empty() || int(found.size()) >= here)
    changedAt = now;
  running = std::move(found);
  if (now - changedAt < patience)
    return missing;
  // Ranks on other hosts are not visible.
  for (int rank = 0; rank < ranks; ++rank)
    if (!running.contains(rank) && (seen.contains(rank) || here == ranks))
      missing += text(missing.empty() ? "" : ", ", "rank ", rank,
                      seen.contains(rank) ? text(" (process ", seen[rank], ")") : std::string());
  return missing;
}

} // namespace gradc::runtime
