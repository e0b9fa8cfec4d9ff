// Opens an artifact: maps its file, finds the blob in it, and checks every byte that the runtime
// trusts later.
#include "runtime/core/artifact/Artifact.h"
#include "runtime/base/Text.h"
#include "runtime/core/artifact/ArtifactCheck.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

using namespace gradc::runtime;

namespace {

struct FileDescriptor {
  int number;
  ~FileDescriptor() {
    if (number >= 0)
      close(number);
  }
};

bool hasMagic(const char *at) { return std::memcmp(at, GRADC_ARTIFACT_MAGIC, 8) == 0; }

/// The blob inside a file's bytes: either all of them, or the part before a trailer at the end.
Result<std::span<const std::byte>> findBlob(std::span<const std::byte> file) {
  auto chars = reinterpret_cast<const char *>(file.data());
  if (file.size() >= 8 && hasMagic(chars))
    return file;
  gradc_artifact_trailer trailer = {};
  if (file.size() >= sizeof trailer)
    std::memcpy(&trailer, chars + file.size() - sizeof trailer, sizeof trailer);
  if (!hasMagic(trailer.magic))
    return Status::invalid("not a gradc artifact, nor a program that carries one");
  uint64_t room = file.size() - sizeof trailer;
  if (trailer.blob_bytes > room)
    return Status::invalid(text("truncated artifact: expected ", trailer.blob_bytes,
                                " bytes before the trailer, found ", room));
  return file.subspan(room - trailer.blob_bytes, trailer.blob_bytes);
}

} // namespace

Result<std::shared_ptr<Artifact>> Artifact::open(const std::string &path) {
  auto failure = [&](Code code, std::string_view why, std::string_view reason = "") {
    return Status(code, text(path, ": ", why, reason));
  };
  // Does not wait for the writer of a pipe; pipes are refused.
  FileDescriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  struct stat info;
  if (file.number < 0 || fstat(file.number, &info) != 0)
    return failure(Code::error, "cannot open: ", std::strerror(errno));
  if (!S_ISREG(info.st_mode))
    return failure(Code::invalid, "not a regular file");
  if (info.st_size == 0)
    return failure(Code::invalid, "not a gradc artifact: the file is empty");

  size_t bytes = size_t(info.st_size);
  void *mapping = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file.number, 0);
  if (mapping == MAP_FAILED)
    return failure(Code::error, "cannot map: ", std::strerror(errno));
  auto blob = findBlob({static_cast<const std::byte *>(mapping), bytes});
  Status checked = blob ? checkArtifact(*blob) : blob.status();
  if (!checked.ok()) {
    munmap(mapping, bytes);
    return failure(checked.code(), checked.message());
  }
  std::shared_ptr<Artifact> artifact(new Artifact(*blob));
  artifact->mapping = mapping;
  artifact->mappingBytes = bytes;
  artifact->releasePages(); // hashing touched all pages, a run needs few
  return artifact;
}

Result<std::shared_ptr<Artifact>> Artifact::fromMemory(std::span<const std::byte> bytes) {
  if (Status checked = checkArtifact(bytes); !checked.ok())
    return checked;
  return std::shared_ptr<Artifact>(new Artifact(bytes));
}

Artifact::Artifact(std::span<const std::byte> checked)
    : base(checked.data()), size(checked.size()) {
  auto isDerived = [](const gradc_artifact_state &state) {
    return state.kind == GRADC_STATE_DERIVED;
  };
  numStates = size_t(std::ranges::find_if(storedStates(), isDerived) - storedStates().begin());
}

Artifact::~Artifact() {
  if (mapping)
    munmap(mapping, mappingBytes);
}

void Artifact::releasePages() const {
  if (mapping)
    (void)madvise(mapping, mappingBytes, MADV_DONTNEED);
}

const gradc_artifact_header &Artifact::header() const {
  return *reinterpret_cast<const gradc_artifact_header *>(base);
}

std::string_view Artifact::string(gradc_string offset) const {
  return reinterpret_cast<const char *>(base + header().strings.offset + offset);
}

std::span<const gradc_artifact_state> Artifact::storedStates() const {
  return elements<gradc_artifact_state>(header().states);
}

std::optional<uint32_t> Artifact::findState(std::string_view name) const {
  for (uint32_t i = 0; i < states().size(); ++i)
    if (string(states()[i].tensor.name) == name)
      return i;
  return std::nullopt;
}

std::span<const gradc_artifact_level> Artifact::levels() const {
  return elements<gradc_artifact_level>(header().levels);
}

std::string_view gradc::runtime::nodeTitle(const Artifact &artifact,
                                           const gradc_artifact_node &node,
                                           std::span<const gradc_artifact_kernel> kernels) {
  switch (gradc_node_kind(node.kind)) {
  case GRADC_NODE_LAUNCH:
    return artifact.string(kernels[node.as.launch.kernel].title);
  case GRADC_NODE_COPY:
    return "copy";
  case GRADC_NODE_IF:
    return "if";
  case GRADC_NODE_LOOP:
    return "loop";
  case GRADC_NODE_COLLECTIVE:
    return gradc_collective_title(gradc_collective_kind(node.as.collective.kind));
  }
  return "";
}

std::string gradc::runtime::entryNames(const Artifact &artifact,
                                       std::span<const gradc_artifact_entry> entries) {
  std::vector<std::string> names;
  for (const gradc_artifact_entry &entry : entries)
    if (std::string_view name = artifact.string(entry.name); name.find(':') == name.npos)
      names.emplace_back(name);
  return quotedList(names);
}
