// What the simulated libraries are like, as the environment says.
#ifndef TEST_SIMULATED_LIBRARYSETTINGS_H
#define TEST_SIMULATED_LIBRARYSETTINGS_H

#include <cstdint>
#include <string>

namespace gradc::simulated {

/// GRADC_SIMULATED_LIBRARIES="version=110000 workspace=5000 hungry refuse": the version that a
/// library tells, the workspace it likes to have, whether it does nothing without, and whether it
/// takes no call.
struct LibrarySettings {
  uint64_t version, workspace = 4096;
  bool hungry = false, refuses = false;
};
LibrarySettings librarySettings(uint64_t version);

} // namespace gradc::simulated

#endif
