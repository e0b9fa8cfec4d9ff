// Identifies inputs that were copied to a device ahead of the run that reads them.
#ifndef RUNTIME_CORE_ENTRY_PREFETCHEDINPUTS_H
#define RUNTIME_CORE_ENTRY_PREFETCHEDINPUTS_H

#include <cstdint>

namespace gradc::runtime {

/// The inputs that one call of `Session::prefetch` copied to the device.
struct PrefetchedInputs {
  uint64_t number = 0; ///< 0: nothing
  bool operator==(const PrefetchedInputs &) const = default;
};

} // namespace gradc::runtime

#endif
