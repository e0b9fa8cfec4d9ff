// An index from -n to n - 1, plus n, is an unsigned number below 2 n. An index outside that range
// gives a larger number.
#include "runtime/core/artifact/IndexCheck.h"

#include "runtime/base/Text.h"

#include <algorithm>

namespace gradc::runtime {

size_t countGiven(std::span<const gradc_artifact_port> outputs) {
  return size_t(std::count_if(outputs.begin(), outputs.end(), isGiven));
}

const gradc_artifact_port *findGiven(std::span<const gradc_artifact_port> outputs, size_t index) {
  for (const gradc_artifact_port &port : outputs)
    if (isGiven(port) && index-- == 0)
      return &port;
  return nullptr;
}

Status checkIndices(std::string_view node, int64_t limit, uint64_t value) {
  if (limit == GRADC_LIMIT_TEXT)
    return value == 0
               ? Status()
               : Status::error(text("node \"", node,
                                    "\" cannot change the case of a string: it is not UTF-8, or "
                                    "the other case of a letter takes another number of bytes"));
  if (limit == GRADC_LIMIT_TRIPS)
    return value == 0 ? Status()
                      : Status::error(text("node \"", node,
                                           "\": the condition of the loop still holds after ",
                                           GRADC_MAX_ITERATIONS, " iterations"));
  if (value < 2 * uint64_t(limit))
    return {};
  std::string message = text("node \"", node, "\": index ", int64_t(value - uint64_t(limit)),
                             " is out of range, expected ");
  if (limit == 0)
    return Status::error(text(message, "none: the dim is empty"));
  return Status::error(text(message, -limit, " to ", limit - 1));
}

Status checkIndices(const Artifact &artifact, const gradc_artifact_entry &entry,
                    std::span<const uint64_t> values) {
  auto value = values.begin();
  for (const auto &port : artifact.elements<gradc_artifact_port>(entry.outputs))
    if (!isGiven(port))
      if (Status inside = checkIndices(artifact.string(port.field), port.classes, *value++);
          !inside.ok())
        return inside;
  return {};
}

} // namespace gradc::runtime
