// Outputs that may have the memory of an input.
#ifndef RUNTIME_CORE_ENTRY_ALIASES_H
#define RUNTIME_CORE_ENTRY_ALIASES_H

#include "runtime/core/artifact/Artifact.h"

#include <vector>

namespace gradc::runtime {

/// In place of an input's number: none.
inline constexpr uint32_t noInput = UINT32_MAX;

/// For each output of the entry, the input whose memory it may have, or noInput. The schedule first
/// copies all of the input to the output, and reads the input no more, so a run with one buffer for
/// both computes the same and copies nothing: a cache of keys and values, say, gains some rows.
std::vector<uint32_t> findAliases(const Artifact &artifact, const gradc_artifact_entry &entry);

} // namespace gradc::runtime

#endif
