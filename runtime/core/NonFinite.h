// Finds infinities and NaNs in raw tensor bytes and in the values that an entry computes.
#ifndef RUNTIME_CORE_NONFINITE_H
#define RUNTIME_CORE_NONFINITE_H

#include "runtime/base/Status.h"
#include "runtime/device/Schedule.h"
#include "runtime/include/gradc/artifact.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace gradc::runtime {

class Session;

struct BadElement {
  int64_t index;
  double value;
};

/// The first non-finite element; none if the element type is not floating point.
std::optional<BadElement> firstNonFinite(std::span<const std::byte> bytes, uint32_t dtype);

struct NonFinite {
  std::string node;   ///< the source node whose launch computed it
  std::string kernel; ///< the kernel's title
  int64_t index = 0;  ///< first non-finite element, in the slice's physical order
  double value = 0;
  LaunchPath path = {}; ///< path of the launch; meaningless for an input
};

/// Replays an entry and finds the first launch with a non-finite float among its results, or the
/// first non-finite input. The replay writes states, so updates must be predicated off or the
/// states saved before.
Result<NonFinite> findNonFinite(Session &session, const gradc_artifact_entry &entry,
                                std::span<const void *const> inputs, int64_t rows);
inline Result<NonFinite> findNonFinite(Session &session, const gradc_artifact_entry &entry,
                                       std::span<const void *const> inputs) {
  return findNonFinite(session, entry, inputs, entry.batch);
}

} // namespace gradc::runtime

#endif
