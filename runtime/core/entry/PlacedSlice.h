// A slice of an entry with the strides by which loops move it.
#ifndef RUNTIME_CORE_ENTRY_PLACEDSLICE_H
#define RUNTIME_CORE_ENTRY_PLACEDSLICE_H

#include "runtime/core/artifact/Artifact.h"

#include <algorithm>
#include <span>

namespace gradc::runtime {

struct PlacedSlice {
  gradc_artifact_slice slice;
  std::span<const int64_t> strides;

  PlacedSlice(const Artifact &artifact, const gradc_artifact_slice &slice)
      : slice(slice), strides(artifact.elements<int64_t>(slice.strides)) {}

  /// Whether both share bytes, in one iteration of the loops around them. Slices with equal strides
  /// keep their distance; slices with different strides are assumed to overlap.
  bool overlaps(const PlacedSlice &other) const {
    const gradc_artifact_slice &a = slice, &b = other.slice;
    if (a.space != b.space || (a.space != GRADC_SPACE_ARENA && a.index != b.index))
      return false;
    if (!std::equal(strides.begin(), strides.end(), other.strides.begin(), other.strides.end()))
      return true;
    return a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
  }
};

} // namespace gradc::runtime

#endif
