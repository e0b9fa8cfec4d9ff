// A small artifact with every feature of a session, on kernels written in C.
#include "test/unit/runtime/TestModel.h"

using namespace gradc::runtime;
using namespace gradc::runtime::test;

namespace {

constexpr uint64_t rowBytes = 16 * sizeof(float), tableBytes = 64 * rowBytes;

enum Kernel {
  doubleRows,
  accumulateRows,
  sumAll,
  packWeight,
  unpackWeight,
  weighAll,
  reciprocal,
  denormal,
  doubleSome,
  meanRows
};
enum Buffer { total, weightPacked, weightMirror };

class Writer : public ArtifactBuilder {
public:
  explicit Writer(const TestModelOptions &options) : options(options) {}

  Bytes write() {
    writeStates();
    writeJob();
    std::vector<gradc_artifact_level> levels;
    Bytes image = readFile(options.image);
    for (const std::string &name : options.levels) {
      gradc_artifact_level level = {};
      level.name = text(name);
      level.image = put(image);
      level.buffers = put(buffers());
      level.kernels = put(kernels());
      level.entries = put(entries());
      levels.push_back(level);
    }
    header.levels = put(levels);
    header.model_hash = 42;
    return finish();
  }

private:
  void writeStates() {
    std::vector<float> weight(24);
    for (size_t i = 0; i < weight.size(); ++i)
      weight[i] = options.weightStart + float(i);
    std::vector<float> zero = {0}, unused = {7, 8, 9};
    gradc_artifact_state states[3] = {};
    states[0].tensor = tensor("total", GRADC_F32, {64, 16});
    states[0].kind = GRADC_STATE_SLOT;
    states[0].splat = 1;
    states[0].initial = rawRange(zero);
    states[1].tensor = tensor("weight", GRADC_F32, {6, 4});
    states[1].kind = GRADC_STATE_PARAMETER;
    states[1].initial = rawRange(weight);
    states[2].tensor = tensor("unused", GRADC_F32, {3});
    states[2].kind = GRADC_STATE_PARAMETER;
    states[2].initial = rawRange(unused);
    // The model contains the weight twice, the second time transposed.
    weight.resize(2 * weight.size());
    header.model = rawRange(weight);
    states[1].places = put(std::vector<gradc_artifact_place>{{0, 0, 0}, {96, 1, 0}});
    header.states = put(std::vector<gradc_artifact_state>(states, states + 3));
  }

  void writeJob() {
    gradc_artifact_value root = {}, epochs = {}, model = {};
    root.kind = GRADC_VALUE_GROUP;
    root.first_child = 1;
    root.next_sibling = GRADC_NONE;
    epochs.name = text("epochs");
    epochs.kind = GRADC_VALUE_INT;
    epochs.first_child = GRADC_NONE;
    epochs.next_sibling = 2;
    epochs.as.integer = 2;
    model.name = text("model");
    model.kind = GRADC_VALUE_STRING;
    model.first_child = model.next_sibling = GRADC_NONE;
    model.as.string = text("test.onnx");
    header.job = put(std::vector<gradc_artifact_value>{root, epochs, model});
  }

  std::vector<gradc_artifact_buffer> buffers() {
    return {{0, GRADC_BUFFER_PLAIN, tableBytes, 0, 0},
            {1, GRADC_BUFFER_PACKED, 24 * 4, 0, 0},
            {1, GRADC_BUFFER_MIRROR, 24 * 4, 0, 0}};
  }

  std::vector<gradc_artifact_kernel> kernels() {
    auto kernel = [&](const char *symbol, const char *title, int64_t units) {
      gradc_artifact_kernel k = {};
      k.symbol = text(symbol == options.lacking ? "no_such_kernel" : symbol);
      k.title = text(title);
      k.nodes = put(std::vector<gradc_string>{text("node of " + std::string(title))});
      k.units = units;
      k.grain = options.grain;
      if (options.call && symbol == std::string("accumulate_rows"))
        k.call = put(std::vector<gradc_artifact_call>{*options.call});
      return k;
    };
    gradc_artifact_kernel doubleSome = kernel("double_some", "double", 64);
    doubleSome.rows = doubleSome.tile = doubleSome.times = doubleSome.per = 1;
    return {kernel("double_rows", "double", 64),
            kernel("accumulate_rows", "add", 64),
            kernel("sum_all", "sum", 1),
            kernel("pack_weight", "pack", 1),
            kernel("unpack_weight", "unpack", 1),
            kernel("weigh", "weigh", 1),
            kernel("reciprocal", "reciprocal", 64),
            kernel("denormal", "denormal", 64),
            doubleSome,
            kernel("mean_rows", "mean", 1)};
  }

  gradc_artifact_port port(const char *name, std::vector<int64_t> shape, gradc_role role,
                           gradc_artifact_slice slice = {}) {
    gradc_artifact_port p = {};
    p.tensor = tensor(name, GRADC_F32, std::move(shape));
    p.role = role;
    p.field = text(role == GRADC_ROLE_DATA ? name : "");
    p.slice = slice;
    return p;
  }

  static gradc_artifact_slice slice(gradc_space space, uint32_t index, uint64_t offset,
                                    uint64_t bytes) {
    return {uint32_t(space), index, offset, bytes, GRADC_F32, 0, {}};
  }

  gradc_artifact_node launch(Kernel kernel, std::vector<gradc_artifact_slice> reads,
                             const std::vector<gradc_artifact_slice> &writes, const char *node) {
    gradc_artifact_node l = {};
    l.as.launch.kernel = kernel;
    l.operands = uint32_t(reads.size());
    reads.insert(reads.end(), writes.begin(), writes.end());
    l.slices = put(reads);
    l.node = text(node);
    return l;
  }

  std::vector<gradc_artifact_entry> entries() {
    auto x = slice(GRADC_SPACE_INPUT, 0, 0, tableBytes);
    auto doubled = slice(GRADC_SPACE_ARENA, 0, 0, tableBytes);
    auto loss = slice(GRADC_SPACE_ARENA, 0, tableBytes, 4);
    auto sums = slice(GRADC_SPACE_BUFFER, total, 0, tableBytes);
    auto out = slice(GRADC_SPACE_OUTPUT, 0, 0, tableBytes);
    auto packed = slice(GRADC_SPACE_BUFFER, weightPacked, 0, 96);
    auto mirror = slice(GRADC_SPACE_BUFFER, weightMirror, 0, 96);
    auto value = slice(GRADC_SPACE_INPUT, 0, 0, 96);
    auto unpacked = slice(GRADC_SPACE_OUTPUT, 0, 0, 96);
    auto number = slice(GRADC_SPACE_OUTPUT, 0, 0, 4);
    auto input = [&] { return port("x", {64, 16}, GRADC_ROLE_DATA); };
    auto result = [&](gradc_artifact_slice at) {
      return port("out", {64, 16}, GRADC_ROLE_OUTPUT, at);
    };

    std::vector<gradc_artifact_entry> all;
    auto entry = [&](const char *name, const std::vector<gradc_artifact_port> &inputs,
                     const std::vector<gradc_artifact_port> &outputs,
                     std::vector<gradc_artifact_node> launches) {
      if (name == options.lacking)
        return;
      gradc_artifact_entry e = {};
      e.name = text(name);
      e.batch = std::string_view(name).find(':') == std::string_view::npos ? 64 : 0;
      e.inputs = put(inputs);
      e.outputs = put(outputs);
      for (size_t i = 0; i < launches.size(); ++i)
        launches[i].end = uint32_t(i + 1);
      e.nodes = put(launches);
      e.arena = tableBytes + 64;
      all.push_back(e);
    };
    entry("train", {input()},
          {port("loss", {}, GRADC_ROLE_LOSS, loss),
           port("doubled", {64, 16}, GRADC_ROLE_OUTPUT, doubled)},
          {launch(doubleRows, {x}, {doubled}, "n1"),
           launch(accumulateRows, {doubled, sums}, {sums}, "n2"),
           launch(sumAll, {doubled}, {loss}, "n3")});
    entry("invert", {input()}, {result(out)},
          {launch(doubleRows, {x}, {doubled}, "n1"), launch(reciprocal, {doubled}, {out}, "n4")});
    entry("weigh", {}, {port("out", {}, GRADC_ROLE_OUTPUT, number)},
          {launch(weighAll, {packed, mirror}, {number}, "n5")});
    entry("tiny", {input()}, {result(out)}, {launch(denormal, {x}, {out}, "n6")});
    entry("identity", {input()}, {result(x)}, {});
    entry("pack:weight", {port("value", {6, 4}, GRADC_ROLE_DATA)}, {},
          {launch(packWeight, {value}, {packed, mirror}, "pack")});
    entry("unpack:weight", {}, {port("value", {6, 4}, GRADC_ROLE_OUTPUT, unpacked)},
          {launch(unpackWeight, {packed}, {unpacked}, "unpack")});
    if (options.anyRows) {
      gradc_artifact_port some = input(), doubledRows = result(out);
      some.batched = doubledRows.batched = 1;
      auto count = slice(GRADC_SPACE_INPUT, 1, 0, 4), mean = slice(GRADC_SPACE_OUTPUT, 1, 0, 4);
      std::vector outputs{doubledRows, port("loss", {}, GRADC_ROLE_LOSS, mean)};
      if (options.checks) {
        auto index = slice(GRADC_SPACE_ARENA, 0, 0, 8);
        index.dtype = GRADC_U64;
        outputs.push_back(port("n9", {}, GRADC_ROLE_INDICES, index));
        outputs.back().tensor.dtype = GRADC_U64;
        outputs.back().tensor.bytes = 8;
      }
      entry("some", {some, port("rows", {}, GRADC_ROLE_ROWS)}, outputs,
            {launch(doubleSome, {x}, {out}, "n7"), launch(meanRows, {out, count}, {mean}, "n8")});
      all.back().any_rows = 1;
      all.back().least_rows = options.leastRows;
      all.back().least_rows_node = text("bn");
      all.back().coupling_node = text("n8");
    }
    if (options.bucket) {
      gradc_artifact_entry few = all.back();
      few.name = text("some.rows.4");
      few.batch = 4;
      auto least = [&](gradc_space space) { return slice(space, 0, 0, tableBytes / 16); };
      auto ports = [&](const char *name, gradc_role role, gradc_artifact_slice at) {
        gradc_artifact_port p = port(name, {4, 16}, role, at);
        p.batched = 1;
        return p;
      };
      auto count = slice(GRADC_SPACE_INPUT, 1, 0, 4), mean = slice(GRADC_SPACE_OUTPUT, 1, 0, 4);
      few.inputs =
          put(std::vector{ports("x", GRADC_ROLE_DATA, {}), port("rows", {}, GRADC_ROLE_ROWS)});
      few.outputs = put(std::vector{ports("out", GRADC_ROLE_OUTPUT, least(GRADC_SPACE_OUTPUT)),
                                    port("loss", {}, GRADC_ROLE_LOSS, mean)});
      std::vector launches{
          launch(doubleSome, {least(GRADC_SPACE_INPUT)}, {least(GRADC_SPACE_ARENA)}, "n7"),
          launch(doubleSome, {least(GRADC_SPACE_ARENA)}, {least(GRADC_SPACE_OUTPUT)}, "n7"),
          launch(meanRows, {least(GRADC_SPACE_OUTPUT), count}, {mean}, "n8")};
      for (size_t i = 0; i < launches.size(); ++i)
        launches[i].end = uint32_t(i + 1);
      few.nodes = put(launches);
      all.back().buckets = put(std::vector<uint32_t>{uint32_t(all.size())});
      all.push_back(few);
    }
    if (options.labels) {
      gradc_artifact_port labels = {};
      labels.tensor = tensor("labels", GRADC_I32, {64});
      labels.role = GRADC_ROLE_DATA;
      labels.classes = 10;
      entry("classify", {labels}, {}, {});
    }
    return all;
  }

  gradc_range rawRange(const std::vector<float> &values) {
    auto raw = reinterpret_cast<const std::byte *>(values.data());
    return put(Bytes(raw, raw + values.size() * sizeof(float)));
  }

  const TestModelOptions &options;
};

} // namespace

Bytes gradc::runtime::test::makeTestModel(const TestModelOptions &options) {
  return Writer(options).write();
}
