// Finds and maps data files.
#include "runtime/data/source/MappedFile.h"

#include "runtime/base/Text.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <glob.h>
#include <mutex>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gradc::runtime {

/// The mappings that a signal handler may ask about: a list that only grows and reuses free
/// elements.
struct MappedFile::Mapping {
  std::atomic<const std::byte *> base{nullptr}; ///< null: free
  std::atomic<size_t> size{0};
  std::atomic<bool> cut{false};
  std::string path;
  Mapping *next = nullptr;

  static std::atomic<Mapping *> all;
  static std::atomic<bool> anyCut;
  static std::mutex mutex; ///< of those who change the list

  static Mapping *add(const std::string &path, const std::byte *base, size_t size) {
    std::lock_guard lock(mutex);
    Mapping *free = all.load();
    while (free && (free->base.load() || free->cut.load()))
      free = free->next;
    if (!free) {
      free = new Mapping;
      free->next = all.load();
      all.store(free);
    }
    free->path = path;
    free->size.store(size);
    free->base.store(base);
    return free;
  }
};
std::atomic<MappedFile::Mapping *> MappedFile::Mapping::all{nullptr};
std::atomic<bool> MappedFile::Mapping::anyCut{false};
std::mutex MappedFile::Mapping::mutex;

bool MappedFile::outliveFault(const void *address) {
  auto at = reinterpret_cast<uintptr_t>(address);
  for (Mapping *mapping = Mapping::all.load(); mapping; mapping = mapping->next) {
    auto begin = reinterpret_cast<uintptr_t>(mapping->base.load());
    uintptr_t end = begin + mapping->size.load();
    if (!begin || at < begin || at >= end)
      continue;
    // If one page is past the file's end, so are all pages after it.
    uintptr_t page = at & ~uintptr_t(getpagesize() - 1);
    void *zeros = mmap(reinterpret_cast<void *>(page), end - page, PROT_READ,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    mapping->cut.store(true);
    Mapping::anyCut.store(true);
    return zeros != MAP_FAILED;
  }
  return false;
}

Status MappedFile::expectWhole() {
  if (!Mapping::anyCut.load(std::memory_order_acquire))
    return {};
  std::lock_guard lock(Mapping::mutex);
  for (Mapping *mapping = Mapping::all.load(); mapping; mapping = mapping->next)
    if (mapping->cut.load())
      return Status::error(
          text("data file '", mapping->path, "' became shorter while it was read"));
  return {};
}

/// Descriptors of mapped files; data may be in more files than a process may have open.
static std::atomic<int> openFiles{0};
static constexpr int mostOpenFiles = 64;

MappedFile::MappedFile(const std::string &path, const std::byte *base, size_t size, int descriptor)
    : base(base), size(size), descriptor(descriptor),
      mapping(base ? Mapping::add(path, base, size) : nullptr) {}

Result<std::shared_ptr<const MappedFile>> MappedFile::open(const std::string &path) {
  auto failed = [&](int code) {
    return Status::error(text("cannot read '", path, "': ", std::strerror(code)));
  };
  // Does not wait for the writer of a pipe; pipes are refused.
  int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0)
    return failed(errno);
  struct stat status;
  if (fstat(descriptor, &status) || !S_ISREG(status.st_mode)) {
    close(descriptor);
    return Status::error(text("cannot read '", path, "': not a regular file"));
  }
  auto size = size_t(status.st_size);
  void *base = size ? mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0) : nullptr;
  int code = errno;
  bool stays = base != MAP_FAILED && size > lettingGoBytes && openFiles < mostOpenFiles;
  if (stays) {
    ++openFiles;
  } else {
    close(descriptor);
    descriptor = -1;
  }
  if (base == MAP_FAILED)
    return failed(code);
  return std::shared_ptr<const MappedFile>(
      new MappedFile(path, static_cast<const std::byte *>(base), size, descriptor));
}

MappedFile::~MappedFile() {
  if (descriptor >= 0) {
    close(descriptor);
    --openFiles;
  }
  if (!base)
    return;
  mapping->base.store(nullptr);
  munmap(const_cast<std::byte *>(base), size);
}

void MappedFile::copy(const std::byte *from, size_t count, std::byte *to) const {
  constexpr size_t least = 4096; // a page fault costs as much as reading some thousand bytes
  size_t at = reinterpret_cast<uintptr_t>(from) - reinterpret_cast<uintptr_t>(base);
  bool isRead = descriptor >= 0 && count >= least && at < size && count <= size - at &&
                pread(descriptor, to, count, off_t(at)) == ssize_t(count);
  if (!isRead)
    std::memcpy(to, from, count);
}

void MappedFile::letGo() const {
  if (size > lettingGoBytes)
    (void)madvise(const_cast<std::byte *>(base), size, MADV_DONTNEED);
}

std::string joinPath(std::string_view folder, std::string_view name) {
  return text(folder, folder.empty() || folder.ends_with('/') ? "" : "/", name);
}

Result<std::string> findFile(std::string_view path, std::span<const std::string> folders) {
  if (path.empty())
    return Status::invalid("the data source has no path");
  if (path.front() == '/')
    return std::string(path);
  std::vector<std::string> tried;
  for (const std::string &folder : folders) {
    std::string candidate = joinPath(folder, path);
    // A file that exists but cannot be read, such as a link to itself, is reported when it is
    // opened.
    if (access(candidate.c_str(), F_OK) == 0 || (errno != ENOENT && errno != ENOTDIR))
      return candidate;
    tried.push_back(std::move(candidate));
  }
  return Status::error(text("cannot find data file '", path, "', tried ", quotedList(tried)));
}

/// A pattern that only matches the path.
static std::string escaped(std::string_view path) {
  std::string pattern;
  for (char c : path) {
    if (std::strchr("\\*?[", c))
      pattern += '\\';
    pattern += c;
  }
  return pattern;
}

Status expandPath(std::string_view path, std::span<const std::string> folders,
                  std::vector<std::string> &files) {
  if (path.find('*') == path.npos) {
    auto found = findFile(path, folders);
    if (found)
      files.push_back(std::move(*found));
    return found.status();
  }
  std::vector<std::string> tried, patterns;
  if (path.front() == '/')
    tried = patterns = {std::string(path)};
  else
    for (const std::string &folder : folders) {
      tried.push_back(joinPath(folder, path));
      patterns.push_back(joinPath(escaped(folder), path));
    }
  for (const std::string &pattern : patterns) {
    glob_t found = {};
    size_t before = files.size();
    if (glob(pattern.c_str(), GLOB_NOSORT, nullptr, &found) == 0)
      files.insert(files.end(), found.gl_pathv, found.gl_pathv + found.gl_pathc);
    globfree(&found);
    std::sort(files.begin() + ptrdiff_t(before), files.end());
    if (files.size() > before)
      return {};
  }
  return Status::error(text("no data file matches '", path, "', tried ", quotedList(tried)));
}

} // namespace gradc::runtime
