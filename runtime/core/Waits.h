// Which launches of a straight piece have to wait for earlier ones.
#ifndef RUNTIME_CORE_WAITS_H
#define RUNTIME_CORE_WAITS_H

#include "runtime/core/Artifact.h"
#include "runtime/device/Schedule.h"

namespace gradc::runtime {

/// A launch waits when it touches what a launch since the last wait has written, or writes what one
/// has touched. Launches that are not split run on one thread, in order: they never wait for each
/// other. What touches values that are being summed over ranks awaits their sum. `nodes`: of the
/// entry.
void planWaits(const Artifact &artifact, std::span<const gradc_artifact_node> nodes,
               std::span<Launch> piece);

} // namespace gradc::runtime

#endif
