// Schedules with control flow written by hand, in an artifact with one entry, "walk".
#include "test/unit/runtime/core/ScheduleTesting.h"

#include <algorithm>
#include <gtest/gtest.h>

using namespace gradc::runtime;
using namespace gradc::runtime::test;

gradc_artifact_slice gradc::runtime::test::sliceAt(gradc_space space, uint32_t index,
                                                   uint64_t bytes, gradc_dtype dtype) {
  return {uint32_t(space), index, 0, bytes, uint32_t(dtype), 0, {}};
}

gradc_artifact_node &ScheduleNodes::add(gradc_node_kind kind, uint32_t end, Slices ofNode,
                                        uint32_t operands, Strides stridesOfNode) {
  gradc_artifact_node node = {};
  node.kind = kind;
  node.end = end;
  node.operands = operands;
  slices.push_back(std::move(ofNode));
  strides.push_back(std::move(stridesOfNode));
  return nodes.emplace_back(node);
}

gradc_artifact_port ScheduleWriter::input(const char *name, gradc_dtype dtype,
                                          std::vector<int64_t> shape) {
  gradc_artifact_port port = {};
  port.tensor = tensor(name, dtype, std::move(shape));
  port.role = GRADC_ROLE_DATA;
  port.field = text(name);
  return port;
}

gradc_artifact_port ScheduleWriter::output(const char *name, std::vector<int64_t> shape,
                                           uint32_t index) {
  gradc_artifact_port port = input(name, GRADC_F32, std::move(shape));
  port.role = GRADC_ROLE_OUTPUT;
  port.slice = sliceAt(GRADC_SPACE_OUTPUT, index, port.tensor.bytes);
  return port;
}

gradc_artifact_kernel ScheduleWriter::kernel(const char *symbol, int64_t units) {
  gradc_artifact_kernel kernel = {};
  kernel.symbol = text(symbol);
  kernel.title = text(symbol);
  kernel.units = units;
  kernel.grain = 1;
  return kernel;
}

Bytes ScheduleWriter::write(ScheduleNodes all, const std::vector<gradc_artifact_port> &inputs,
                            const std::vector<gradc_artifact_port> &outputs) {
  for (size_t n = 0; n < all.nodes.size(); ++n) {
    for (size_t s = 0; s < std::min(all.slices[n].size(), all.strides[n].size()); ++s)
      all.slices[n][s].strides = put(all.strides[n][s]);
    all.nodes[n].slices = put(all.slices[n]);
    all.nodes[n].node = text("n" + std::to_string(n));
  }
  gradc_artifact_entry entry = {};
  entry.name = text("walk");
  entry.inputs = put(inputs);
  entry.outputs = put(outputs);
  entry.nodes = put(all.nodes);
  entry.arena = 128;
  gradc_artifact_level level = {};
  level.name = text("x86-64-v3");
  level.image = put(readFile(GRADC_TEST_KERNELS));
  std::vector<gradc_artifact_kernel> kernels(2);
  kernels[addNumbers] = kernel("add_numbers", columns);
  kernels[isPositive] = kernel("is_positive", 1);
  level.kernels = put(kernels);
  level.entries = put(std::vector<gradc_artifact_entry>{entry});
  header.levels = put(std::vector<gradc_artifact_level>{level});
  return finish();
}

std::string gradc::runtime::test::errorOfSchedule(const Bytes &blob) {
  std::string message = Artifact::fromMemory(blob).status().message();
  const std::string prefix = "corrupt artifact: level x86-64-v3: entry walk: ";
  return message.starts_with(prefix) ? message.substr(prefix.size()) : message;
}

LoadedSchedule::LoadedSchedule(Bytes artifact, int threads) : blob(std::move(artifact)) {
  auto opened = Artifact::fromMemory(blob);
  EXPECT_TRUE(opened) << opened.status().message();
  auto created = Session::create(*opened, {threads, ""});
  EXPECT_TRUE(created) << created.status().message();
  session = std::move(*created);
}

std::string gradc::runtime::test::pathText(const LaunchPath &path) {
  std::string text = std::to_string(path.node);
  for (uint32_t loop = 0; loop < path.loops; ++loop)
    text += (loop ? ',' : '[') + std::to_string(path.iterations[loop]);
  return text + (path.loops ? "] " : " ");
}
