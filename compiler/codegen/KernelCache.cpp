// Cache files named by a hash of everything that determines their content. A hash of the content is
// appended to each file.
#include "compiler/codegen/KernelCache.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/CachePruning.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <link.h>
#include <unistd.h>

using namespace mlir;
using namespace gradc;

namespace {
constexpr uint64_t maxBytes = 512 << 20;
constexpr size_t hashBytes = 32;

std::string hashOf(llvm::StringRef bytes) {
  llvm::BLAKE3 hash;
  hash.update(bytes);
  auto result = hash.final<hashBytes>();
  return std::string(result.begin(), result.end());
}

/// Calls a function for each note in one note segment of a loaded object.
void forNotes(llvm::StringRef notes, llvm::function_ref<void(uint32_t, llvm::StringRef)> body) {
  while (notes.size() >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) header;
    std::memcpy(&header, notes.data(), sizeof header);
    size_t name = llvm::alignTo(header.n_namesz, 4), content = llvm::alignTo(header.n_descsz, 4);
    if (sizeof header + name + content > notes.size())
      return;
    body(header.n_type, notes.substr(sizeof header + name, header.n_descsz));
    notes = notes.substr(sizeof header + name + content);
  }
}

/// The build ids of this program and of its loaded libraries, LLVM among them. Empty if the program
/// was linked without a build id.
std::string buildIds() {
  struct Ids {
    std::string text;
    bool isFirst = true, known = true;
  } ids;
  auto visit = [](dl_phdr_info *object, size_t, void *data) {
    Ids &ids = *static_cast<Ids *>(data);
    size_t before = ids.text.size();
    for (const ElfW(Phdr) &segment : llvm::ArrayRef(object->dlpi_phdr, object->dlpi_phnum))
      if (segment.p_type == PT_NOTE)
        forNotes(
            {reinterpret_cast<const char *>(object->dlpi_addr + segment.p_vaddr), segment.p_memsz},
            [&](uint32_t type, llvm::StringRef note) {
              if (type == NT_GNU_BUILD_ID)
                ids.text += note;
            });
    if (ids.isFirst) // the program itself
      ids.known = ids.text.size() != before;
    ids.isFirst = false;
    return 0;
  };
  dl_iterate_phdr(visit, &ids);
  return ids.known ? ids.text : "";
}

/// Creates the folder if it is missing; returns whether it belongs to this user and no other user
/// can write to it.
bool isOurs(llvm::StringRef directory) {
  using namespace llvm::sys;
  fs::file_status status;
  return !fs::create_directories(directory, /*IgnoreExisting=*/true, fs::owner_all) &&
         !fs::status(directory, status) && status.getUser() == getuid() &&
         !(status.permissions() & (fs::group_write | fs::others_write));
}

/// Writes the rest of a stream. An error that stays in the stream would end the process.
llvm::Error finish(llvm::raw_fd_ostream &stream) {
  stream.flush();
  std::error_code error = stream.error();
  stream.clear_error();
  return llvm::errorCodeToError(error);
}
} // namespace

KernelCache::KernelCache(llvm::StringRef directory) : build(buildIds()) {
  if (!directory.empty() && !build.empty() && isOurs(directory))
    this->directory = directory.str();
}

KernelCache::~KernelCache() {
  if (directory.empty())
    return;
  llvm::CachePruningPolicy policy;
  policy.Expiration = std::chrono::seconds(0);
  policy.MaxSizePercentageOfAvailableSpace = 0;
  policy.MaxSizeBytes = maxBytes;
  llvm::pruneCache(directory, policy);
}

std::string KernelCache::keyOf(exec::KernelOp kernel, const exec::Level &level,
                               const CodegenOptions &options) const {
  if (directory.empty())
    return "";
  std::string text;
  llvm::raw_string_ostream stream(text);
  for (llvm::StringRef part : {llvm::StringRef(build), level.name, llvm::StringRef(options.cpu),
                               llvm::StringRef(options.features)})
    stream << part.size() << ' ' << part;
  kernel->print(stream, mlir::OpPrintingFlags().useLocalScope().printGenericOpForm());
  if (llvm::StringRef(text).contains("dense_resource<")) // the text lacks their elements
    return "";
  return llvm::toHex(hashOf(text), /*LowerCase=*/true);
}

std::string KernelCache::pathOf(llvm::StringRef key) const {
  llvm::SmallString<128> path(directory);
  llvm::sys::path::append(path, "llvmcache-" + key); // the prefix that pruneCache looks for
  return path.str().str();
}

std::optional<std::string> KernelCache::find(llvm::StringRef key) const {
  if (key.empty() || directory.empty())
    return std::nullopt;
  auto file = llvm::MemoryBuffer::getFile(pathOf(key), /*IsText=*/false,
                                          /*RequiresNullTerminator=*/false);
  if (!file || (*file)->getBufferSize() < hashBytes)
    return std::nullopt;
  llvm::StringRef bytes = (*file)->getBuffer(), object = bytes.drop_back(hashBytes);
  if (hashOf(object) != bytes.take_back(hashBytes))
    return std::nullopt;
  return object.str();
}

void KernelCache::store(llvm::StringRef key, llvm::StringRef object) const {
  if (key.empty() || directory.empty())
    return;
  llvm::Error error = llvm::writeToOutput(pathOf(key), [&](llvm::raw_ostream &stream) {
    stream << object << hashOf(object);
    return finish(static_cast<llvm::raw_fd_ostream &>(stream)); // as writeToOutput documents
  });
  llvm::consumeError(std::move(error)); // the next compilation generates the object again
}
