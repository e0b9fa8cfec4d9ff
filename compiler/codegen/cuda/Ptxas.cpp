// Runs ptxas, and fatbinary if it is installed, on files in a temporary folder.
#include "compiler/codegen/cuda/Ptxas.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

using namespace gradc;

#ifndef GRADC_CUDA_HOME
#define GRADC_CUDA_HOME ""
#endif

std::string cuda::findTool(llvm::StringRef name) {
  std::vector<std::string> homes;
  for (const char *variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char *home = getenv(variable); home && *home)
      homes.emplace_back(home);
  // An explicitly named folder excludes all others.
  if (homes.empty())
    homes = {GRADC_CUDA_HOME, "/usr/local/cuda"};
  for (const std::string &home : homes) {
    std::string path = home + "/bin/" + name.str();
    if (!home.empty() && llvm::sys::fs::can_execute(path))
      return path;
  }
  auto onPath = llvm::sys::findProgramByName(name);
  return onPath ? *onPath : "";
}

static llvm::Error write(const std::string &path, llvm::StringRef bytes) {
  std::error_code error;
  llvm::raw_fd_ostream file(path, error);
  if (!error) {
    file << bytes;
    file.close();
    error = file.error();
    file.clear_error();
  }
  return error ? llvm::createFileError(path, error) : llvm::Error::success();
}

static llvm::Expected<std::string> read(const std::string &path) {
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!file)
    return llvm::createFileError(path, file.getError());
  return (*file)->getBuffer().str();
}

/// Runs a program and returns its output, which becomes part of the error if the program fails.
static llvm::Expected<std::string> run(const std::string &program,
                                       llvm::ArrayRef<llvm::StringRef> arguments,
                                       const std::string &folder) {
  std::string said = folder + "/messages", problem;
  std::vector<llvm::StringRef> all{program};
  all.insert(all.end(), arguments.begin(), arguments.end());
  std::optional<llvm::StringRef> redirects[] = {llvm::StringRef(), llvm::StringRef(said),
                                                llvm::StringRef(said)};
  int code = llvm::sys::ExecuteAndWait(program, all, std::nullopt, redirects, 0, 0, &problem);
  auto messages = read(said);
  if (code == 0)
    return messages;
  if (messages)
    problem += *messages;
  else
    llvm::consumeError(messages.takeError());
  return llvm::createStringError(program + " failed: " + problem);
}

llvm::Expected<std::string> cuda::assemble(llvm::StringRef ptx, const mlir::exec::Level &level,
                                           bool withText) {
  std::string ptxas = findTool("ptxas"), fatbinary = findTool("fatbinary");
  if (ptxas.empty())
    return llvm::createStringError(
        "target " + level.name +
        " needs ptxas, which turns PTX into machine code: it is neither below CUDA_HOME or "
        "/usr/local/cuda nor on the PATH; it comes with the CUDA toolkit (12 or newer)");
  llvm::SmallString<64> unique;
  if (std::error_code error = llvm::sys::fs::createUniqueDirectory("gradc-ptxas", unique))
    return llvm::createFileError(unique, error);
  std::string folder = unique.str().str();
  llvm::scope_exit cleanUp([&] { llvm::sys::fs::remove_directories(folder); });

  std::string text = folder + "/kernels.ptx", cubin = folder + "/kernels.cubin";
  std::string both = folder + "/kernels.fatbin";
  if (llvm::Error error = write(text, ptx))
    return error;
  std::vector<llvm::StringRef> arguments = {"-arch", level.cpu, "-O3", "-o", cubin, text};
  // Compiles several kernels at a time if ptxas supports it. The number is fixed, so the code does
  // not depend on the machine.
  auto help = run(ptxas, {"--help"}, folder);
  if (!help)
    return help.takeError();
  if (llvm::StringRef(*help).contains("--split-compile"))
    arguments.insert(arguments.end(), {"--split-compile", "8"});
  if (auto said = run(ptxas, arguments, folder); !said)
    return said.takeError();
  if (!withText || fatbinary.empty())
    return read(cubin);
  std::string sm = std::to_string(level.gpu->sm);
  std::string create = "--create=" + both, code = "--image3=kind=elf,sm=" + sm + ",file=" + cubin,
              portable = "--image3=kind=ptx,sm=" + sm + ",file=" + text;
  // Not compressed: the compression format changes with the toolkit, and older drivers must be able
  // to read the file.
  if (auto said = run(fatbinary, {"-64", "--compress=false", create, code, portable}, folder);
      !said)
    return said.takeError();
  return read(both);
}
