// Looks up the driver's functions and checks the driver's version.
#include "runtime/device/cuda/Driver.h"
#include "runtime/base/Text.h"
#include "runtime/device/cuda/Library.h"

#include <cstdlib>
#include <dlfcn.h>

namespace gradc::runtime::cuda {

static std::string versionOf(int number) { return text(number / 1000, '.', number % 1000 / 10); }

Result<std::shared_ptr<const Driver>> Driver::open() {
  std::shared_ptr<Driver> driver(new Driver);
  if (Status loaded = driver->load(); !loaded.ok())
    return loaded;
  return std::shared_ptr<const Driver>(std::move(driver));
}

Driver::~Driver() {
  if (library)
    dlclose(library);
}

Status Driver::load() {
  const char *named = getenv("GRADC_LIBCUDA");
  const char *file = named && *named ? named : "libcuda.so.1";
  library = dlopen(file, keptOpen);
  if (!library)
    return Status::error(text("no CUDA driver: ", dlerror()));
#define GRADC_CUDA_SYMBOL(member, symbol, parameters) {symbol, reinterpret_cast<void **>(&member)},
  const Symbol symbols[] = {GRADC_CUDA_CALLS(GRADC_CUDA_SYMBOL)};
  const Symbol conditional[] = {GRADC_CUDA_CONDITIONAL_CALLS(GRADC_CUDA_SYMBOL)};
#undef GRADC_CUDA_SYMBOL
  if (const char *missing = findSymbols(library, symbols))
    return Status::error(text("the CUDA driver is too old: ", file, " lacks ", missing,
                              ", expected a driver for CUDA ", versionOf(oldestDriver),
                              " or newer"));
  if (driverGetVersion(&version) != 0 || version < oldestDriver)
    return Status::error(text("the CUDA driver is too old: ", file, " is for CUDA ",
                              versionOf(version), ", expected ", versionOf(oldestDriver),
                              " or newer"));
  conditionalNodes = version >= oldestConditionalDriver && !findSymbols(library, conditional);
  return check(init(0), "cannot start the CUDA driver");
}

Status Driver::check(int code, const char *what) const {
  if (code == 0)
    return {};
  const char *reason = nullptr;
  if (getErrorString(code, &reason) != 0 || !reason)
    reason = "unknown error";
  return Status::error(text(what, ": ", reason, " (CUDA error ", code, ')'));
}

std::string Driver::versionText() const { return versionOf(version); }

} // namespace gradc::runtime::cuda
