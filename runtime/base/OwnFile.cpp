// Asks the kernel which file is mapped at this code. Unlike dladdr's answer, that path is absolute,
// so it stays valid when the current folder changes.
#include "runtime/base/OwnFile.h"

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <unistd.h>

using namespace gradc::runtime;

/// The kernel writes a newline in a path as \012, which the name of another file may be.
static std::string withNewlines(std::string path) {
  constexpr std::string_view escape = "\\012";
  if (access(path.c_str(), F_OK) == 0)
    return path;
  for (size_t at = 0; (at = path.find(escape, at)) != path.npos;)
    path.replace(at, escape.size(), "\n");
  return path;
}

Result<std::string> gradc::runtime::findOwnFile() {
  auto address = reinterpret_cast<uintptr_t>(&findOwnFile);
  FILE *maps = std::fopen("/proc/self/maps", "re");
  if (!maps)
    return Status::error("cannot open /proc/self/maps, which says where the artifact is");
  std::string path;
  char *line = nullptr;
  size_t capacity = 0;
  for (ssize_t length; path.empty() && (length = getline(&line, &capacity, maps)) > 0;) {
    uintptr_t begin = 0, end = 0;
    int pathAt = 0;
    if (std::sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %*s %*s %*s %*s %n", &begin, &end, &pathAt) <
        2)
      continue;
    if (address >= begin && address < end && pathAt > 0 && line[pathAt] == '/')
      path.assign(line + pathAt, size_t(length - pathAt - (line[length - 1] == '\n')));
  }
  std::free(line);
  std::fclose(maps);
  if (path.empty())
    return Status::error("cannot find the file that this code was loaded from");
  return withNewlines(std::move(path));
}
