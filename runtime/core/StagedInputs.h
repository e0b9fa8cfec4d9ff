// Which inputs a device has been brought ahead of the run that reads them.
#ifndef RUNTIME_CORE_STAGEDINPUTS_H
#define RUNTIME_CORE_STAGEDINPUTS_H

#include <cstdint>

namespace gradc::runtime {

/// What one call of `Session::stage` brought to the device.
struct StagedInputs {
  uint64_t number = 0; ///< 0: nothing
  bool operator==(const StagedInputs &) const = default;
};

} // namespace gradc::runtime

#endif
