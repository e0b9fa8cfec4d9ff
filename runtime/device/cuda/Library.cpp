// Opens shared objects; by name where the environment says so.
#include "runtime/device/cuda/Library.h"
#include "runtime/core/Text.h"

#include <cstdlib>
#include <dlfcn.h>

namespace gradc::cuda {

const char *findSymbols(void *library, std::span<const Symbol> symbols) {
  for (const Symbol &symbol : symbols) {
    *symbol.target = dlsym(library, symbol.name);
    if (!*symbol.target)
      return symbol.name;
  }
  return nullptr;
}

SharedLibrary::~SharedLibrary() {
  if (handle)
    dlclose(handle);
}

Status SharedLibrary::open(const WantedLibrary &wanted) {
  // 1. The file. Where none is there, the newest is the one to get.
  const char *named = getenv(wanted.variable);
  std::string missing;
  for (const char *file :
       named && *named ? std::span<const char *const>(&named, 1) : wanted.files) {
    path = file;
    handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (handle)
      break;
    if (missing.empty())
      missing = dlerror();
  }
  if (!handle)
    return Status::error(missing);

  // 2. What is in it.
  std::string needed = text(", expected version ", versionText(wanted.oldest), " or newer");
  auto version = reinterpret_cast<size_t (*)()>(dlsym(handle, wanted.versionSymbol));
  if (!version)
    return Status::error(text(path, " has no ", wanted.versionSymbol, needed));
  number = version();
  if (number < wanted.oldest)
    return Status::error(text(path, " is too old: version ", versionText(number), needed));
  if (const char *missingSymbol = findSymbols(handle, wanted.symbols))
    return Status::error(text(path, " lacks ", missingSymbol, needed));
  return {};
}

std::string versionText(uint64_t number) {
  return text(number / 10000, '.', number / 100 % 100, '.', number % 100);
}

} // namespace gradc::cuda
