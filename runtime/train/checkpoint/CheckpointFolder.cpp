// Names, lists, and prunes checkpoint files: step-120.ckpt.
#include "runtime/train/checkpoint/CheckpointFolder.h"

#include "runtime/base/AtomicFile.h"
#include "runtime/base/Text.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gradc::runtime {

static constexpr std::string_view prefix = "step-", extension = ".ckpt";

/// The step in the name of a checkpoint; -1 for other names.
static int64_t stepOf(std::string_view name) {
  if (!name.starts_with(prefix) || !name.ends_with(extension) ||
      name.size() <= prefix.size() + extension.size())
    return -1;
  name = name.substr(prefix.size(), name.size() - prefix.size() - extension.size());
  int64_t step = -1;
  auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), step);
  return error == std::errc() && end == name.data() + name.size() ? step : -1;
}

static std::vector<std::string> namesIn(const std::string &path) {
  std::vector<std::string> names;
  if (DIR *folder = opendir(path.c_str())) {
    while (dirent *entry = readdir(folder))
      names.emplace_back(entry->d_name);
    closedir(folder);
  }
  return names;
}

bool CheckpointFolder::exists() const {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

Status CheckpointFolder::create() const {
  for (size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    std::string part = path.substr(0, end);
    bool isNew = mkdir(part.c_str(), 0777) == 0;
    if (!isNew && errno != EEXIST)
      return Status::error(text("cannot make folder '", part, "': ", std::strerror(errno)));
    // A checkpoint survives a crash of the machine only if the folders above do.
    if (Status synced = isNew ? AtomicFile::sync(part) : Status(); !synced.ok())
      return synced;
    if (end == path.npos)
      break;
  }
  if (!exists())
    return Status::error(text("cannot write checkpoints to '", path, "': not a folder"));
  return {};
}

std::string CheckpointFolder::lockFile() const { return text(path, "/.lock"); }

/// Takes the lock of an open file: `how` is exclusive for the folder's training, and shared for
/// others.
Status CheckpointFolder::take(int descriptor, int how) const {
  if (flock(descriptor, how | LOCK_NB) == 0)
    return {};
  if (errno != EWOULDBLOCK)
    return Status::error(text("cannot lock '", lockFile(), "': ", std::strerror(errno)));
  char owner[24] = {};
  ssize_t size = pread(descriptor, owner, sizeof owner - 1, 0);
  return Status::error(text("folder '", path, "' belongs to a training under way",
                            size > 0 ? text(", process ", owner) : std::string(),
                            ": wait for its end, or name another folder with --checkpoint"));
}

Status CheckpointFolder::lock() {
  if (held)
    return {};
  int descriptor = open(lockFile().c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor < 0)
    return Status::error(text("cannot lock '", lockFile(), "': ", std::strerror(errno)));
  std::shared_ptr<const void> lock(this, [descriptor](const void *) { close(descriptor); });
  if (Status taken = take(descriptor, LOCK_EX); !taken.ok())
    return taken;
  // Used by the message to later trainings, which are kept out even without it.
  std::string id = text(int64_t(getpid()));
  if (ftruncate(descriptor, 0) == 0) [[maybe_unused]]
    ssize_t ignored = pwrite(descriptor, id.data(), id.size(), 0);
  held = std::move(lock);
  return {};
}

Status CheckpointFolder::expectIdle() const {
  int descriptor = open(lockFile().c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0)
    return {}; // no training was here, or one whose files are closed to this user
  Status taken = take(descriptor, LOCK_SH);
  close(descriptor);
  return taken;
}

bool CheckpointFolder::isWritable() const { return access(path.c_str(), W_OK | X_OK) == 0; }

std::string CheckpointFolder::file(int64_t step) const {
  return text(path, '/', prefix, step, extension);
}

std::vector<int64_t> CheckpointFolder::steps() const {
  std::vector<int64_t> steps;
  for (const std::string &name : namesIn(path))
    if (int64_t step = stepOf(name); step >= 0)
      steps.push_back(step);
  std::sort(steps.begin(), steps.end());
  return steps;
}

bool CheckpointFolder::holdsAny() const {
  return !steps().empty() || access(best().c_str(), F_OK) == 0;
}

Result<std::string> CheckpointFolder::latest() const {
  auto found = steps();
  if (found.empty())
    return Status::error(text("no checkpoint in '", path, '\''));
  return file(found.back());
}

std::string CheckpointFolder::latestOrBest() const {
  auto found = latest();
  return found ? *found : best();
}

bool CheckpointFolder::holds(const std::string &file) const {
  size_t slash = file.rfind('/');
  std::string parent = slash == file.npos ? "." : slash ? file.substr(0, slash) : "/";
  struct stat a, b;
  return stat(parent.c_str(), &a) == 0 && stat(path.c_str(), &b) == 0 && a.st_dev == b.st_dev &&
         a.st_ino == b.st_ino;
}

Status CheckpointFolder::expectNone() const {
  if (!holdsAny())
    return {};
  return Status::error(text(
      "folder '", path, "' holds checkpoints of an earlier training, the newest '", latestOrBest(),
      "', which a new one would replace: go on from it with --resume, or "
      "name another folder with --checkpoint or remove this one"));
}

void CheckpointFolder::prune(int64_t newest, int64_t keep) const {
  auto found = steps();
  auto end = std::upper_bound(found.begin(), found.end(), newest);
  auto begin = end - std::min<ptrdiff_t>(end - found.begin(), ptrdiff_t(keep));
  for (auto step = found.begin(); step != found.end(); ++step)
    if (step < begin || step >= end)
      unlink(file(*step).c_str());
  for (const std::string &name : namesIn(path)) {
    std::string_view finished = name;
    if (!finished.ends_with(AtomicFile::suffix))
      continue;
    finished.remove_suffix(AtomicFile::suffix.size());
    if (stepOf(finished) >= 0 || text(path, '/', finished) == best())
      unlink(text(path, '/', name).c_str());
  }
}

} // namespace gradc::runtime
