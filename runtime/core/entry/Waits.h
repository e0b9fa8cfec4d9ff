// Decides which launches of a straight-line piece must wait for earlier ones.
#ifndef RUNTIME_CORE_ENTRY_WAITS_H
#define RUNTIME_CORE_ENTRY_WAITS_H

#include "runtime/core/artifact/Artifact.h"
#include "runtime/device/Schedule.h"

namespace gradc::runtime {

/// A launch waits if it accesses memory that a launch since the last wait has written, or writes
/// memory that such a launch has accessed. Launches that are not split run in order on one thread,
/// so they never wait for each other. A launch that accesses values of a collective in flight
/// awaits that collective. `nodes`: the entry's nodes. `aliases`: for each output, the input whose
/// memory it may have, or noInput.
void planWaits(const Artifact &artifact, std::span<const gradc_artifact_node> nodes,
               std::span<const uint32_t> aliases, std::span<Launch> piece);

} // namespace gradc::runtime

#endif
