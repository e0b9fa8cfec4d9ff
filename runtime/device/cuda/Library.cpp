// Opens shared objects, by name if an environment variable gives one.
#include "runtime/device/cuda/Library.h"
#include "runtime/base/Text.h"

#include <cstdlib>
#include <utility>

namespace gradc::runtime::cuda {

const char *findSymbols(void *library, std::span<const Symbol> symbols) {
  for (const Symbol &symbol : symbols) {
    *symbol.target = dlsym(library, symbol.name);
    if (!*symbol.target)
      return symbol.name;
  }
  return nullptr;
}

Status LibraryCall::clearPadding(const Driver &driver, int64_t rows, void *const *slices,
                                 void *stream) const {
  for (const Padding &padding : paddings) {
    int64_t used = rows * padding.row;
    if (used >= padding.pitch)
      continue;
    auto begin = reinterpret_cast<Address>(slices[padding.slice]) + Address(used);
    size_t words = size_t(padding.pitch - used) / sizeof(float);
    int cleared = driver.memset2D(begin, size_t(padding.pitch), 0, words, padding.pieces, stream);
    if (Status s = driver.check(cleared, "cannot write zeros on the GPU"); !s.ok())
      return s;
  }
  return {};
}

/// "13.1.0" for 130100, the numbering of both libraries.
static std::string versionText(uint64_t number) {
  return text(number / 10000, '.', number / 100 % 100, '.', number % 100);
}

std::string Library::version() const { return versionText(number); }
std::string Library::oldestVersion() const { return versionText(wanted.oldest); }

Library::~Library() {
  if (handle)
    destroy(handle);
  if (object)
    dlclose(object);
}

Status Library::open() { return open(/*starts=*/false); }
Status Library::openAndStart() { return open(/*starts=*/true); }

Status Library::open(bool starts) {
  const char *named = getenv(wanted.variable);
  // Of several failures, reports the most informative: that of the newest file, or of a file that
  // exists.
  Status failure;
  bool wasThere = false;
  for (const char *file :
       named && *named ? std::span<const char *const>(&named, 1) : wanted.files) {
    Status opened = openFile(file);
    if (opened.ok() && starts)
      opened = start();
    if (opened.ok())
      return opened;
    if (failure.ok() || (object && !wasThere))
      failure = opened;
    if (object) {
      wasThere = true;
      dlclose(std::exchange(object, nullptr));
    }
  }
  return failure;
}

Status Library::openFile(const char *file) {
  path = file;
  object = dlopen(file, keptOpen);
  if (!object)
    return Status::error(dlerror());
  std::string needed = text(", expected version ", oldestVersion(), " or newer");
  std::string lacking;
  auto find = [&](const char *function) {
    std::string symbol = text(wanted.prefix, function);
    void *found = dlsym(object, symbol.c_str());
    if (!found && lacking.empty())
      lacking = symbol;
    return found;
  };
  auto getVersion = reinterpret_cast<size_t (*)()>(find("GetVersion"));
  create = reinterpret_cast<int (*)(void **)>(find("Create"));
  destroy = reinterpret_cast<int (*)(void *)>(find("Destroy"));
  if (!lacking.empty())
    return Status::error(text(path, " has no ", lacking, needed));
  number = getVersion();
  if (number < wanted.oldest)
    return Status::error(text(path, " is too old: version ", version(), needed));
  if (const char *missingSymbol = findSymbols(object, symbols()))
    return Status::error(text(path, " lacks ", missingSymbol, needed));
  return {};
}

Status Library::start() {
  int failed = create(&handle);
  if (failed == 0)
    return {};
  handle = nullptr;
  return Status::error(text(path, " does not start (error ", failed, ')'));
}

} // namespace gradc::runtime::cuda
