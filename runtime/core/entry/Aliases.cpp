// Looks for copies from inputs to outputs, outside of branches and loops.
#include "runtime/core/entry/Aliases.h"

#include <algorithm>

using namespace gradc::runtime;

namespace {

using Nodes = std::span<const gradc_artifact_node>;
using Ports = std::span<const gradc_artifact_port>;

bool isIn(const gradc_artifact_slice &slice, gradc_space space, uint32_t index) {
  return slice.space == uint32_t(space) && slice.index == index;
}

bool isAllOf(const gradc_artifact_slice &slice, const gradc_artifact_port &port) {
  return slice.offset == 0 && slice.bytes == port.tensor.bytes && slice.strides.count == 0;
}

bool touch(const Artifact &artifact, Nodes nodes, gradc_space space, uint32_t index) {
  return std::any_of(nodes.begin(), nodes.end(), [&](const gradc_artifact_node &node) {
    auto slices = artifact.elements<gradc_artifact_slice>(node.slices);
    return std::any_of(slices.begin(), slices.end(),
                       [&](const auto &slice) { return isIn(slice, space, index); });
  });
}

} // namespace

std::vector<uint32_t> gradc::runtime::findAliases(const Artifact &artifact,
                                                  const gradc_artifact_entry &entry) {
  auto nodes = artifact.elements<gradc_artifact_node>(entry.nodes);
  auto inputs = artifact.elements<gradc_artifact_port>(entry.inputs);
  auto outputs = artifact.elements<gradc_artifact_port>(entry.outputs);
  std::vector<uint32_t> aliases(outputs.size(), noInput);
  auto isReturned = [&](uint32_t input) {
    return std::any_of(outputs.begin(), outputs.end(), [input](const gradc_artifact_port &port) {
      return isIn(port.slice, GRADC_SPACE_INPUT, input);
    });
  };
  for (size_t n = 0; n < nodes.size();) {
    const gradc_artifact_node &node = nodes[n];
    bool hasBodies = node.kind == GRADC_NODE_IF || node.kind == GRADC_NODE_LOOP;
    Nodes before = nodes.first(n), behind = nodes.subspan(n + 1);
    n = hasBodies ? node.end : n + 1;
    if (node.kind != GRADC_NODE_COPY)
      continue;
    auto slices = artifact.elements<gradc_artifact_slice>(node.slices);
    const gradc_artifact_slice &from = slices[0], &to = slices[1];
    if (from.space != GRADC_SPACE_INPUT || to.space != GRADC_SPACE_OUTPUT)
      continue;
    const gradc_artifact_port &source = inputs[from.index], &result = outputs[to.index];
    if (isAllOf(from, source) && isAllOf(to, result) && source.batched == result.batched &&
        isIn(result.slice, GRADC_SPACE_OUTPUT, to.index) && !isReturned(from.index) &&
        !touch(artifact, before, GRADC_SPACE_OUTPUT, to.index) &&
        !touch(artifact, behind, GRADC_SPACE_INPUT, from.index))
      aliases[to.index] = from.index;
  }
  return aliases;
}
