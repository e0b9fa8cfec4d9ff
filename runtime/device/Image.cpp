// Hands an ELF image in memory to the dynamic loader through a memory file. If a hardened kernel
// forbids executable memory files, an unlinked temporary file takes its place.
#include "runtime/device/Image.h"
#include "runtime/base/Text.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace gradc::runtime;

namespace {

class ElfImage final : public Image {
public:
  ElfImage(int file, void *handle) : file(file), handle(handle) {}
  ~ElfImage() override {
    dlclose(handle);
    close(file);
  }
  void *findKernel(const char *symbol) const override { return dlsym(handle, symbol); }

private:
  // Stays open as long as the handle. The loader identifies images by path: if the number in
  // /proc/self/fd/N were reused, it would return the old image.
  int file;
  void *handle;
};

bool writeAll(int file, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    ssize_t written = write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0)
      return false;
    bytes = bytes.subspan(size_t(written));
  }
  return true;
}

int openMemoryFile() { return memfd_create("gradc-image", MFD_CLOEXEC); }

int openTemporaryFile() {
  const char *folder = getenv("TMPDIR");
  std::string path = text(folder && *folder ? folder : "/tmp", "/gradc-image-XXXXXX");
  int file = mkostemp(path.data(), O_CLOEXEC);
  if (file >= 0)
    unlink(path.c_str());
  return file;
}

} // namespace

Result<std::unique_ptr<Image>> gradc::runtime::openElfImage(std::span<const std::byte> code) {
  if (code.size() < sizeof(Elf64_Ehdr) || std::memcmp(code.data(), ELFMAG, SELFMAG) != 0)
    return Status::invalid("the kernel image is not an ELF object");
  std::string reason;
  for (auto openFile : {openMemoryFile, openTemporaryFile}) {
    int file = openFile();
    if (file < 0 || !writeAll(file, code)) {
      reason = std::strerror(errno);
      if (file >= 0)
        close(file);
      continue;
    }
    std::string path = text("/proc/self/fd/", file);
    if (void *handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL))
      return std::unique_ptr<Image>(new ElfImage(file, handle));
    reason = dlerror();
    close(file);
  }
  return Status::error(text("cannot load the kernel image: ", reason));
}
