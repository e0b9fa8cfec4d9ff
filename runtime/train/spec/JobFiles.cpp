// Compares files by device and inode, since a path may name a link.
#include "runtime/train/spec/JobFiles.h"

#include "runtime/base/Text.h"
#include "runtime/data/source/MappedFile.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/stat.h>
#include <unistd.h>

namespace gradc::runtime {

Result<std::string> pathOfSpec(Config spec, std::string_view path, std::string_view option) {
  std::string folder(spec.string("directory"));
  if (path.empty() || path.front() == '/' || folder.empty())
    return std::string(path);
  if (access(folder.c_str(), F_OK))
    return Status::error(
        text("cannot write '", path, "': the spec's folder '", folder, "' ",
             errno == EACCES ? "cannot be entered: permission denied" : "is not on this machine",
             "; name a place with ", option));
  return joinPath(folder, path);
}

/// The existing files that a block of the spec names.
static void addFiles(Config block, std::span<const std::string> folders,
                     std::vector<std::string> &files) {
  for (Config child : block.children()) {
    bool isPath = child.name() == "path" || child.name() == "list" || child.name() == "file" ||
                  child.name() == "model";
    if (isPath && !child.string().empty())
      (void)expandPath(child.string(), folders, files);
    addFiles(child, folders, files);
  }
}

static bool isSameFile(const std::string &a, const std::string &b) {
  struct stat x, y;
  return stat(a.c_str(), &x) == 0 && stat(b.c_str(), &y) == 0 && x.st_dev == y.st_dev &&
         x.st_ino == y.st_ino;
}

std::vector<std::string> filesOfJob(Config spec, std::span<const std::string> dataFolders) {
  std::vector<std::string> files;
  addFiles(spec.child("data"), dataFolders, files);
  Config evaluation = spec.child("evaluation");
  addFiles(evaluation.child("data"), dataFolders, files);
  for (Config set : evaluation.children("set"))
    addFiles(set.child("data"), dataFolders, files);
  std::string folders[] = {std::string(spec.string("directory"))};
  if (std::string_view model = spec.string("model"); !model.empty())
    (void)expandPath(model, folders, files);
  for (Config file : spec.children("external_data"))
    files.emplace_back(file.string());
  return files;
}

std::vector<std::string> filesToKeep(Config spec, std::span<const std::string> dataFolders,
                                     const std::string &program) {
  std::vector<std::string> files = filesOfJob(spec, dataFolders);
  files.push_back(program);
  std::string folders[] = {std::string(spec.string("directory"))};
  for (Config block : spec.children())
    if (block.name() != "data" && block.name() != "evaluation")
      addFiles(block, folders, files);
  if (std::string_view name = spec.string("spec"); !name.empty())
    files.push_back(joinPath(folders[0], name));
  return files;
}

bool isCheckpoint(const std::string &path) {
  auto file = MappedFile::open(path);
  return file && (*file)->bytes().size() >= checkpointMagic.size() &&
         std::memcmp((*file)->bytes().data(), checkpointMagic.data(), checkpointMagic.size()) == 0;
}

Status expectNoInput(const std::string &output, std::span<const std::string> inputs) {
  static const std::string program = "/proc/self/exe";
  auto isOutput = [&](const std::string &input) { return isSameFile(output, input); };
  auto found = std::ranges::find_if(inputs, isOutput);
  std::string why;
  if (isOutput(program))
    why = "it is this program";
  else if (found != inputs.end())
    why = *found == output ? "the run reads it" : text("it is '", *found, "', which the run reads");
  else if (isCheckpoint(output))
    why = "it is a checkpoint";
  return why.empty()
             ? Status()
             : Status::error(text("cannot write '", output, "': ", why, "; name another file"));
}

/// Whether something other than a file lies at the path, such as /dev/null.
static bool isDevice(const std::string &path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode);
}

Status
expectDifferent(std::initializer_list<std::pair<const char *, const std::string *>> outputs) {
  for (auto one = outputs.begin(); one != outputs.end(); ++one)
    for (auto other = one + 1; other != outputs.end(); ++other)
      if (!one->second->empty() && !isDevice(*one->second) &&
          (*one->second == *other->second || isSameFile(*one->second, *other->second)))
        return Status(Code::usage, text(one->first, " and ", other->first, " both write '",
                                        *one->second, "'; name two files"));
  return {};
}

std::string pathOfVariant(const std::string &path, const std::string &variant) {
  if (path.empty() || variant.empty())
    return path;
  size_t dot = path.rfind('.'), slash = path.rfind('/');
  if (dot == path.npos || (slash != path.npos && dot < slash))
    dot = path.size();
  return text(path.substr(0, dot), '-', variant, path.substr(dot));
}

} // namespace gradc::runtime
