// Finds the files of a job in its spec, field by field.
#include "tools/gradc/Files.h"

#include "compiler/import/spec/SpecFields.h"
#include "runtime/data/source/MappedFile.h"
#include "runtime/train/spec/JobFiles.h"
#include "tools/gradc/Compilation.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

namespace gradc {
using namespace runtime;

int expectFile(llvm::StringRef path) {
  llvm::sys::fs::file_status status;
  if (auto failed = llvm::sys::fs::status(path, status))
    return fail(Code::error, "cannot read " + path + ": " + failed.message());
  if (status.type() == llvm::sys::fs::file_type::directory_file)
    return fail(Code::error, "cannot read " + path + ": Is a directory");
  if (status.type() != llvm::sys::fs::file_type::regular_file)
    return fail(Code::error, "cannot read " + path + ": not a regular file");
  return 0;
}

int expectNoneOf(llvm::StringRef output, llvm::ArrayRef<std::string> inputs) {
  for (llvm::StringRef input : inputs)
    if (bool same = false; !llvm::sys::fs::equivalent(output, input, same) && same)
      return fail(Code::usage, "cannot write " + output + ": it is " +
                                   (output == input ? "an input" : "the input " + input) +
                                   "; name another file");
  if (isCheckpoint(output.str()))
    return fail(Code::usage, "cannot write " + output + ": it is a checkpoint; name another file");
  return 0;
}

/// Adds the existing files that a message of the spec names.
static void addFiles(const google::protobuf::Message &message, llvm::ArrayRef<std::string> folder,
                     std::vector<std::string> &files) {
  forEachField(message, [&](const SpecField &field) {
    if (field.isBlock())
      addFiles(field.inner(), folder, files);
    else if (field.isText() &&
             llvm::is_contained({"path", "list", "file", "model"}, llvm::StringRef(field.name)))
      (void)expandPath(field.text(), {folder.data(), folder.size()}, files);
  });
}

int expectExport(llvm::StringRef file, const Imported &imported) {
  if (!imported.spec || !imported.spec->export_().has_onnx())
    return 0;
  const std::string &name = imported.spec->export_().onnx();
  auto wrong = [&](const llvm::Twine &why) {
    return fail(Code::invalid, file + ": export { onnx: \"" + name + "\" } " + why);
  };
  llvm::SmallString<128> path(folderOf(file));
  if (llvm::sys::path::is_absolute(name))
    path.clear();
  llvm::sys::path::append(path, name);
  for (const std::string &input : inputFiles(file, imported))
    if (bool same = false; !llvm::sys::fs::equivalent(path, input, same) && same)
      return wrong("would overwrite a file that the run reads; name another file");
  if (llvm::sys::fs::is_directory(path))
    return wrong("cannot be written: it is a folder");
  llvm::StringRef folder = llvm::sys::path::parent_path(path);
  return llvm::sys::fs::is_directory(folder)
             ? 0
             : wrong("cannot be written: there is no folder " + folder);
}

std::vector<std::string> inputFiles(llvm::StringRef file, const Imported &imported) {
  std::vector<std::string> files = {file.str()};
  const std::string folder[] = {folderOf(file)};
  if (imported.spec)
    addFiles(*imported.spec, folder, files);
  llvm::append_range(files, imported.externalFiles);
  return files;
}

} // namespace gradc
