// Prints artifacts and checkpoints as the runtime reads them.
#include "tools/gradc/inspect/Inspect.h"

#include "runtime/base/DataType.h"
#include "runtime/base/Text.h"
#include "runtime/core/artifact/Artifact.h"
#include "runtime/core/artifact/EntryRows.h"
#include "runtime/core/artifact/IndexCheck.h"
#include "runtime/train/checkpoint/Checkpoint.h"
#include "tools/gradc/Console.h"

#include "llvm/Support/FileSystem.h"
#include <fmt/core.h>

namespace gradc {
using namespace runtime;
namespace {

constexpr const char *kindNames[] = {"parameters", "optimizer slots", "statistics", "constants",
                                     "averages"};

InspectedTensor describe(const Artifact &artifact, const gradc_artifact_tensor &tensor) {
  auto shape = artifact.elements<int64_t>(tensor.shape);
  return {std::string(artifact.string(tensor.name)),
          findDataType(tensor.dtype)->name,
          {shape.begin(), shape.end()},
          int64_t(tensor.bytes)};
}

void printPorts(const Artifact &artifact, const char *what, gradc_range range) {
  for (const auto &port : artifact.elements<gradc_artifact_port>(range)) {
    InspectedTensor tensor = describe(artifact, port.tensor);
    std::string shape;
    for (int64_t size : tensor.shape)
      shape += (shape.empty() ? "" : ", ") + std::to_string(size);
    std::string_view field = artifact.string(port.field);
    std::string_view role = gradc_role_name(gradc_role(port.role));
    fmt::print("    {:6}  {}  {} [{}]{}{}\n", what, tensor.name, tensor.dtype, shape,
               tensor.name == role ? "" : fmt::format(", {}", role),
               field.empty()
                   ? ""
                   : fmt::format(" {} {}", isGiven(port) ? "from field" : "of node", field));
  }
}

/// Prints the nodes from `begin` to `end`, and those of their bodies.
void printNodes(const Artifact &artifact, const gradc_artifact_level &level,
                std::span<const gradc_artifact_node> nodes, size_t begin, size_t end, int indent) {
  auto kernels = artifact.elements<gradc_artifact_kernel>(level.kernels);
  for (size_t i = begin; i < end; i = nodes[i].end) {
    const gradc_artifact_node &node = nodes[i];
    std::string what(nodeTitle(artifact, node, kernels));
    if (node.kind == GRADC_NODE_LOOP)
      what += fmt::format(" of {}{}", node.operands ? "at most " : "", node.as.loop.trips);
    std::string_view name = artifact.string(node.node);
    fmt::print("{:{}}{}{}{}\n", "", indent, what, name.empty() ? "" : ": ", name);
    size_t otherwise = node.kind == GRADC_NODE_IF ? node.as.branch.otherwise : node.end;
    printNodes(artifact, level, nodes, i + 1, otherwise, indent + 2);
    if (otherwise < node.end) {
      fmt::print("{:{}}else\n", "", indent);
      printNodes(artifact, level, nodes, otherwise, node.end, indent + 2);
    }
  }
}

bool isLaunch(const gradc_artifact_node &node) {
  return node.kind != GRADC_NODE_IF && node.kind != GRADC_NODE_LOOP;
}

void printLevel(const Artifact &artifact, const gradc_artifact_level &level) {
  std::string tuning =
      level.tuning_hash ? fmt::format(", tuned by {:016x}", level.tuning_hash) : "";
  fmt::print("level {}: {} kernels, {} of code{}\n", artifact.string(level.name),
             level.kernels.count, bytesText(int64_t(level.image.count)), tuning);
  for (const auto &entry : artifact.elements<gradc_artifact_entry>(level.entries)) {
    std::string_view name = artifact.string(entry.name);
    if (name.find(':') != name.npos) // pack and unpack are internal to the runtime
      continue;
    auto nodes = artifact.elements<gradc_artifact_node>(entry.nodes);
    auto launches = std::count_if(nodes.begin(), nodes.end(), isLaunch);
    std::string batch = entry.batch ? fmt::format("batch {}, ", entry.batch) : "";
    if (entry.each_row) {
      auto all = artifact.elements<gradc_artifact_entry>(level.entries);
      fmt::print("  entry {}: {}each row by {}\n", name, batch,
                 artifact.string(scheduleOf(artifact, all, entry).name));
    } else {
      fmt::print("  entry {}: {}{} launches, arena {}\n", name, batch, launches,
                 bytesText(int64_t(entry.arena)));
    }
    printPorts(artifact, "input", entry.inputs);
    printPorts(artifact, "output", entry.outputs);
    if (size_t(launches) < nodes.size()) // gradc plan shows straight lists
      printNodes(artifact, level, nodes, 0, nodes.size(), 4);
  }
}

/// Prints the job as text of a spec.
void printJob(const Artifact &artifact, uint32_t group, int depth) {
  auto values = artifact.elements<gradc_artifact_value>(artifact.header().job);
  for (uint32_t i = values[group].first_child; i != GRADC_NONE; i = values[i].next_sibling) {
    const gradc_artifact_value &value = values[i];
    std::string_view name = artifact.string(value.name);
    fmt::print("{:{}}{}", "", 2 * depth, name);
    switch (value.kind) {
    case GRADC_VALUE_GROUP:
      fmt::print(" {{\n");
      printJob(artifact, i, depth + 1);
      fmt::print("{:{}}}}\n", "", 2 * depth);
      break;
    case GRADC_VALUE_INT:
      fmt::print(": {}\n", value.as.integer);
      break;
    case GRADC_VALUE_FLOAT:
      fmt::print(": {}\n", value.as.real);
      break;
    case GRADC_VALUE_STRING:
      fmt::print(": \"{}\"\n", artifact.string(gradc_string(value.as.string)));
      break;
    default:
      fmt::print(": {}\n", value.as.integer != 0);
    }
  }
}

} // namespace

int inspectArtifact(const std::string &path) {
  auto opened = Artifact::open(path);
  if (!opened)
    return fail(opened.status());
  const Artifact &artifact = **opened;
  const gradc_artifact_header &header = artifact.header();
  uint64_t bytes = 0;
  llvm::sys::fs::file_size(path, bytes);
  fmt::print("artifact of {} in a file of {}, version {}\n", bytesText(int64_t(header.total_bytes)),
             bytesText(int64_t(bytes)), header.version);
  fmt::print("hash {:016x}, of the model {:016x}\n", header.hash, header.model_hash);
  fmt::print("ONNX model: {}\n", bytesText(int64_t(header.model.count)));
  for (const gradc_artifact_level &level : artifact.levels())
    printLevel(artifact, level);
  for (uint32_t kind = 0; kind < std::size(kindNames); ++kind) {
    std::vector<InspectedTensor> tensors;
    for (const gradc_artifact_state &state : artifact.states())
      if (state.kind == kind)
        tensors.push_back(describe(artifact, state.tensor));
    if (!tensors.empty())
      printTensors(kindNames[kind], tensors);
  }
  if (header.job.count) {
    fmt::print("job\n");
    printJob(artifact, 0, 1);
  }
  return exitCode(Code::ok);
}

int inspectCheckpoint(const std::string &path) {
  auto checkpoint = Checkpoint::open(path);
  if (!checkpoint)
    return fail(checkpoint.status());
  const TrainPosition &position = checkpoint->position();
  std::string optimizers = quotedList(checkpoint->optimizers());
  fmt::print("checkpoint after step {}, at row {} of {} in epoch {}, seed {}, trained on {}{}{}\n",
             position.step, position.data.row, position.rows, position.data.epoch + 1,
             position.seed, checkpoint->level(), optimizers.empty() ? "" : " with ", optimizers);
  fmt::print("hash of the model {:016x}\n", checkpoint->modelHash());
  for (uint32_t kind = 0; kind < std::size(kindNames); ++kind) {
    std::vector<InspectedTensor> tensors;
    for (const Checkpoint::State &state : checkpoint->states())
      if (uint32_t(state.kind) == kind)
        tensors.push_back({std::string(state.name),
                           findDataType(state.dtype)->name,
                           {state.shape.begin(), state.shape.end()},
                           int64_t(state.bytes.size())});
    if (!tensors.empty())
      printTensors(kindNames[kind], tensors);
  }
  return exitCode(Code::ok);
}

} // namespace gradc
