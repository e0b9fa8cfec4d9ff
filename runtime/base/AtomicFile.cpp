// Temporary file, lock, fsync, rename, fsync of the folder.
#include "runtime/base/AtomicFile.h"

#include "runtime/base/Text.h"
#include "runtime/include/gradc/files.h"

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace gradc::runtime {

static constexpr size_t bufferBytes = size_t(1) << 18;

std::string AtomicFile::behindLinks(std::string path) {
  char link[PATH_MAX];
  for (int left = 40; left > 0; --left) { // as many as the system follows
    ssize_t size = readlink(path.c_str(), link, sizeof link);
    if (size <= 0)
      break;
    // A relative link starts in its own folder.
    path.resize(link[0] == '/' ? 0 : path.rfind('/') + 1);
    path.append(link, size_t(size));
  }
  return path;
}

/// Waits for the lock on the temporary file. The system releases that of a process that is killed.
Status AtomicFile::lock(int64_t patience, const Waiting &waiting) {
  constexpr int64_t pause = 20; // ms
  for (int64_t waited = 0; flock(descriptor, LOCK_EX | LOCK_NB); waited += pause) {
    if (errno != EWOULDBLOCK && errno != EINTR)
      return waiting ? Status::error(text("cannot lock '", path, "': ", std::strerror(errno)))
                     : Status();
    if (Status stopped = waiting ? waiting(waited) : Status(); !stopped.ok())
      return stopped;
    isBusy = waited >= patience;
    if (isBusy)
      return Status::error(text("cannot write '", path,
                                "': another run is writing it; wait for its end, or name another "
                                "file"));
    usleep(pause * 1000);
  }
  return {};
}

/// Opens the temporary file for this writer alone.
void AtomicFile::openAlone(int64_t patience, const Waiting &waiting) {
  constexpr int attempts = 1000; // some file systems number a file anew each time they are asked
  for (int i = 0; descriptor < 0 && failure.ok(); ++i) {
    // Not to wait for the reader of a pipe of this name.
    descriptor = open(temporary.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);
    if (descriptor < 0)
      return fail(errno);
    failure = lock(patience, waiting);
    // The writer that had the lock may have renamed the file, or removed it.
    struct stat own, there;
    bool isOther = fstat(descriptor, &own) || stat(temporary.c_str(), &there) ||
                   own.st_dev != there.st_dev || own.st_ino != there.st_ino;
    if (!failure.ok() || (isOther && i < attempts))
      close(std::exchange(descriptor, -1));
  }
  if (descriptor >= 0 && ftruncate(descriptor, 0)) // what a killed process has left
    fail(errno);
}

AtomicFile::AtomicFile(std::string path, int64_t patience, const Waiting &waiting)
    : path(std::move(path)), target(behindLinks(this->path)), temporary(text(target, suffix)) {
  // Renaming over a device or a pipe would replace it. Renaming over a folder fails in the end.
  struct stat there;
  bool exists = stat(this->path.c_str(), &there) == 0;
  if (exists && !S_ISREG(there.st_mode)) {
    failure = Status::error(text("cannot write '", this->path, "': ",
                                 S_ISDIR(there.st_mode) ? "it is a folder" : "not a regular file"));
    return;
  }
  openAlone(patience, waiting);
  // A private file stays private; a file that is left may be written again.
  if (descriptor >= 0 && exists)
    (void)fchmod(descriptor, (there.st_mode & 0777) | S_IRUSR | S_IWUSR);
  buffer.reserve(bufferBytes);
}

AtomicFile::~AtomicFile() {
  if (descriptor < 0)
    return;
  unlink(temporary.c_str()); // while no other can have it
  close(descriptor);
}

void AtomicFile::fail(int code) {
  if (failure.ok())
    failure = Status::error(text("cannot write '", path, "': ", std::strerror(code)));
}

/// Returns 0 or the error's number.
static int syncExisting(const std::string &path, int kind) {
  int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | kind);
  int code = descriptor < 0 || fsync(descriptor) ? errno : 0;
  if (descriptor >= 0)
    close(descriptor);
  return code;
}

/// A new name is on disk only after the folder has been synced.
static int syncFolderOf(const std::string &path) {
  size_t slash = path.rfind('/');
  return syncExisting(slash == path.npos ? "." : path.substr(0, slash + 1), O_DIRECTORY);
}

Status AtomicFile::sync(const std::string &path) {
  int code = syncExisting(path, 0);
  if (!code)
    code = syncFolderOf(path);
  return code ? Status::error(text("cannot write '", path, "': ", std::strerror(code))) : Status();
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty() && failure.ok()) {
    size_t count = std::min(bytes.size(), bufferBytes - buffer.size());
    buffer.insert(buffer.end(), bytes.begin(), bytes.begin() + ptrdiff_t(count));
    bytes = bytes.subspan(count);
    if (buffer.size() == bufferBytes)
      flush();
  }
}

void AtomicFile::flush() {
  for (size_t done = 0; done < buffer.size() && failure.ok();) {
    ssize_t written = ::write(descriptor, buffer.data() + done, buffer.size() - done);
    if (written >= 0)
      done += size_t(written);
    else if (errno != EINTR)
      fail(errno);
  }
  buffer.clear();
}

Status AtomicFile::settle() {
  if (failure.ok())
    flush();
  if (failure.ok() && fsync(descriptor))
    fail(errno);
  return failure;
}

Status AtomicFile::commit(bool isDurable) {
  if (failure.ok())
    flush();
  if (failure.ok() && isDurable && fsync(descriptor))
    fail(errno);
  if (failure.ok() && std::rename(temporary.c_str(), target.c_str()))
    fail(errno);
  if (!failure.ok())
    return failure;
  close(descriptor);
  descriptor = -1;

  if (int code = isDurable ? syncFolderOf(target) : 0)
    fail(code);
  return failure;
}

} // namespace gradc::runtime

char *gradc_behind_links(const char *path) {
  return strdup(gradc::runtime::AtomicFile::behindLinks(path).c_str());
}
