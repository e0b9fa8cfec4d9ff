// Properties of the simulated libraries, set by an environment variable.
#ifndef TEST_SIMULATED_LIBRARYSETTINGS_H
#define TEST_SIMULATED_LIBRARYSETTINGS_H

#include <cstdint>
#include <string>

namespace gradc::simulated {

/// GRADC_SIMULATED_LIBRARIES="version=110000 workspace=5000 hungry refuse": the reported
/// version, the preferred workspace, whether calls fail without it, and whether all calls are
/// refused.
struct LibrarySettings {
  uint64_t version, workspace = 4096;
  bool hungry = false, refuses = false;
};
LibrarySettings librarySettings(uint64_t version);

} // namespace gradc::simulated

#endif
