// Finds and maps data files.
#include "runtime/data/source/MappedFile.h"

#include "runtime/base/Text.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <glob.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gradc::runtime {

Result<std::shared_ptr<const MappedFile>> MappedFile::open(const std::string &path) {
  auto failed = [&](int code) {
    return Status::error(text("cannot read '", path, "': ", std::strerror(code)));
  };
  int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
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
  close(descriptor);
  if (base == MAP_FAILED)
    return failed(code);
  return std::shared_ptr<const MappedFile>(
      new MappedFile(static_cast<const std::byte *>(base), size));
}

MappedFile::~MappedFile() {
  if (base)
    munmap(const_cast<std::byte *>(base), size);
}

void MappedFile::letGo() const {
  if (size > lettingGoBytes)
    (void)madvise(const_cast<std::byte *>(base), size, MADV_DONTNEED);
}

Result<std::string> findFile(std::string_view path, std::span<const std::string> folders) {
  if (path.empty())
    return Status::invalid("the data source has no path");
  if (path.front() == '/')
    return std::string(path);
  std::vector<std::string> tried;
  for (const std::string &folder : folders) {
    std::string candidate = folder.empty() ? std::string(path) : text(folder, '/', path);
    if (access(candidate.c_str(), F_OK) == 0)
      return candidate;
    tried.push_back(std::move(candidate));
  }
  return Status::error(text("cannot find data file '", path, "', tried ", quotedList(tried)));
}

Status expandPath(std::string_view path, std::span<const std::string> folders,
                  std::vector<std::string> &files) {
  if (path.find('*') == path.npos) {
    auto found = findFile(path, folders);
    if (found)
      files.push_back(std::move(*found));
    return found.status();
  }
  std::vector<std::string> tried;
  if (path.front() == '/')
    tried.emplace_back(path);
  else
    for (const std::string &folder : folders)
      tried.push_back(folder.empty() ? std::string(path) : text(folder, '/', path));
  for (const std::string &pattern : tried) {
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
