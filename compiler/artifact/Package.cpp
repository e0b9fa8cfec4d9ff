// Appends an artifact to a prelinked runner, without a linker or compiler.
#include "compiler/artifact/Artifact.h"
#include "runtime/include/gradc/artifact.h"
#include "runtime/include/gradc/files.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdlib>
#include <cstring>
#include <string>

using namespace mlir;

namespace gradc {

llvm::Error writeFile(StringRef path, ArrayRef<StringRef> parts, bool executable) {
  // Renaming over a device or a pipe would replace it.
  llvm::sys::fs::file_status there;
  if (!llvm::sys::fs::status(path, there) &&
      there.type() != llvm::sys::fs::file_type::regular_file &&
      there.type() != llvm::sys::fs::file_type::directory_file)
    return llvm::createStringError(std::errc::invalid_argument, "not a regular file");
  unsigned mode = llvm::sys::fs::all_read | llvm::sys::fs::owner_write;
  if (executable)
    mode |= llvm::sys::fs::all_exe;
  // Renaming over a link would replace it instead of the file that it leads to.
  char *behind = gradc_behind_links(path.str().c_str());
  std::string target = behind;
  std::free(behind);
  auto temporary = llvm::sys::fs::TempFile::create(target + ".%%%%%%", mode);
  if (!temporary)
    return temporary.takeError();
  llvm::raw_fd_ostream out(temporary->FD, /*shouldClose=*/false);
  for (StringRef part : parts)
    out << part;
  out.flush();
  if (out.has_error()) {
    auto error = llvm::errorCodeToError(out.error());
    out.clear_error();
    return llvm::joinErrors(std::move(error), temporary->discard());
  }
  return temporary->keep(target);
}

llvm::Error writeWithRunner(StringRef runner, StringRef artifact, StringRef output,
                            bool executable) {
  auto program = llvm::MemoryBuffer::getFile(runner, /*IsText=*/false,
                                             /*RequiresNullTerminator=*/false);
  if (!program)
    return llvm::createStringError(program.getError(), "cannot read the runner %s",
                                   runner.str().c_str());
  gradc_artifact_trailer trailer{};
  trailer.blob_bytes = artifact.size();
  std::memcpy(trailer.magic, GRADC_ARTIFACT_MAGIC, sizeof trailer.magic);
  // Sections are aligned within the blob, so the blob must be aligned within the file.
  StringRef code = (*program)->getBuffer();
  std::string padding(llvm::alignTo(code.size(), 64) - code.size(), '\0');
  StringRef end(reinterpret_cast<const char *>(&trailer), sizeof trailer);
  return writeFile(output, {code, padding, artifact, end}, executable);
}

} // namespace gradc
