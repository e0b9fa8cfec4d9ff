// LLD in process. It reads and writes files, so objects pass through a temporary folder.
#include "compiler/codegen/cpu/Object.h"

#include "lld/Common/Driver.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include <mutex>

LLD_HAS_DRIVER(elf)

static llvm::Error write(llvm::StringRef path, llvm::StringRef bytes) {
  std::error_code error;
  llvm::raw_fd_ostream file(path, error);
  if (error)
    return llvm::createFileError(path, error);
  file << bytes;
  file.close();
  if (std::error_code failed = file.error()) {
    file.clear_error(); // or the stream ends the process
    return llvm::createFileError(path, failed);
  }
  return llvm::Error::success();
}

static llvm::Expected<std::string> linkIn(llvm::StringRef folder,
                                          llvm::ArrayRef<std::string> objects, bool relocatable) {
  std::string output = (folder + "/image").str();
  std::vector<std::string> arguments{"ld.lld", "-o", output};
  if (relocatable)
    arguments.push_back("-r");
  else
    for (const char *option : {"-shared", "-nostdlib", "--no-undefined", "--gc-sections", "-s",
                               "--hash-style=gnu", "-z", "noexecstack", "-soname=kernels"})
      arguments.push_back(option);
  for (auto [i, object] : llvm::enumerate(objects)) {
    arguments.push_back((folder + "/" + llvm::Twine(i) + ".o").str());
    if (llvm::Error error = write(arguments.back(), object))
      return error;
  }
  auto pointers = llvm::map_to_vector(arguments, [](const std::string &s) { return s.c_str(); });
  std::string messages;
  llvm::raw_string_ostream stream(messages);
  static std::mutex mutex; // LLD keeps its state in globals
  std::lock_guard lock(mutex);
  lld::Result result = lld::lldMain(pointers, stream, stream, {{lld::Gnu, &lld::elf::link}});
  if (result.retCode != 0)
    return llvm::createStringError(messages);
  auto image =
      llvm::MemoryBuffer::getFile(output, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!image)
    return llvm::createFileError(output, image.getError());
  return (*image)->getBuffer().str();
}

llvm::Expected<std::string> gradc::cpu::link(llvm::ArrayRef<std::string> objects,
                                             bool relocatable) {
  llvm::SmallString<64> folder;
  if (std::error_code error = llvm::sys::fs::createUniqueDirectory("gradc-link", folder))
    return llvm::createFileError(folder, error);
  auto result = linkIn(folder, objects, relocatable);
  llvm::sys::fs::remove_directories(folder);
  return result;
}
