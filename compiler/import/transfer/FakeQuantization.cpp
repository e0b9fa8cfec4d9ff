// Both graphs are rewritten in one walk over their nodes: in front of a layer, the one that trains
// rounds values, and the exported one reads codes. The names of the exported initializers are also
// those of the values in the first graph that determine them.
#include "dialects/Pch.h"

#include "compiler/import/transfer/FakeQuantization.h"

#include "compiler/import/onnx/model/DataType.h"
#include "compiler/import/transfer/QuantizedGraph.h"
#include "runtime/include/gradc/entries.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;
using namespace gradc::data_type;

namespace {
/// The graph that trains.
class TrainedGraph : public QuantizedGraph {
public:
  using QuantizedGraph::QuantizedGraph;

private:
  std::string round(const std::string &activation) override;
  std::string round(const QuantizedWeight &weight) override;
  void addLayer(onnx::NodeProto &layer, const QuantizedWeight &weight) override;
  void addFactor(const QuantizedWeight &weight);
  std::string addBias(const QuantizedWeight &weight);
  std::string reshaped(const std::string &channels, ArrayRef<int64_t> shape);
  std::string number(const std::string &name, double value);
  static std::string factorOf(const QuantizedWeight &weight) { return weight.name + "_factor"; }
  static std::string safeFactorOf(const QuantizedWeight &weight) {
    return weight.name + "_divisor";
  }
};
} // namespace

std::string TrainedGraph::number(const std::string &name, double value) {
  addConstant(name, scalarOf(float(value)));
  return name;
}

/// A number per channel in `shape`: [C, 1..] beside weights, [1, C, 1..] beside results.
std::string TrainedGraph::reshaped(const std::string &channels, ArrayRef<int64_t> shape) {
  std::string result =
      channels + "_of_rank_" + std::to_string(shape.size()) + (shape.front() == 1 ? "_behind" : "");
  addConstant(result + "_shape", integersOf(shape));
  add("Reshape", {channels, result + "_shape"}, {result});
  return result;
}

std::string TrainedGraph::round(const std::string &activation) {
  ActivationNames names(activation);
  addZeros(names.range, FLOAT, {2});
  std::string now = names.range + "_now", scale = now + "_scale", zero = now + "_zero_point",
              active = now + "_active", always = names.rounded + "_always";
  // What dropout scales in training is smaller elsewhere.
  auto undropped = layers.undropped.find(activation);
  const std::string &observed =
      undropped == layers.undropped.end() ? activation : undropped->second;
  NodeBuilder observe =
      addOwn("ObserveRange", {observed, names.range}, {now}).set("momentum", how.momentum());
  if (how.has_ranges_end_step())
    observe.set("fixed_step", how.ranges_end_step() + 1);
  addOwn("RangeScale", {now}, {scale, zero, active}).set("begin_step", how.begin_step());
  addOwn("RangeScale", {names.range}, {names.scale, names.zero}); // for the exported graph
  add("QuantizeLinear", {activation, scale, zero}, {names.codes});
  add("DequantizeLinear", {names.codes, scale, zero}, {always});
  add("Where", {active, always, activation}, {names.rounded});
  return names.rounded;
}

/// The factor by which the normalization behind a convolution multiplies each channel, and the same
/// with 1 in place of 0.
void TrainedGraph::addFactor(const QuantizedWeight &weight) {
  const FoldedNorm &norm = *weight.norm;
  std::string factor = factorOf(weight);
  add("Add", {norm.variance, number(factor + "_epsilon", norm.epsilon)}, {factor + "_variance"});
  add("Sqrt", {factor + "_variance"}, {factor + "_deviation"});
  add("Div", {norm.scale, factor + "_deviation"}, {factor});
  add("Equal", {factor, number(factor + "_zero", 0)}, {factor + "_vanishes"});
  add("Where", {factor + "_vanishes", number(factor + "_one", 1), factor}, {safeFactorOf(weight)});
}

/// The bias of the exported layer in floats.
std::string TrainedGraph::addBias(const QuantizedWeight &weight) {
  if (!weight.norm)
    return weight.bias;
  std::string result = WeightNames(weight).bias, shift = weight.norm->mean;
  if (!weight.bias.empty()) {
    shift = result + "_without_mean";
    add("Sub", {weight.norm->mean, weight.bias}, {shift});
  }
  add("Mul", {shift, factorOf(weight)}, {result + "_removed"});
  add("Sub", {weight.norm->shift, result + "_removed"}, {result});
  return result;
}

std::string TrainedGraph::round(const QuantizedWeight &weight) {
  WeightNames names(weight);
  addConstant(names.zero,
              tensorOf(INT8, {weight.channels()}, std::string(size_t(weight.channels()), '\0')));
  std::string value = weight.name;
  if (weight.norm) {
    addFactor(weight);
    SmallVector<int64_t> shape(weight.shape.size(), 1);
    shape[size_t(weight.axis)] = weight.channels();
    value = weight.name + "_folded";
    add("Mul", {weight.name, reshaped(safeFactorOf(weight), shape)}, {value});
    add("Mul", {weight.name, reshaped(factorOf(weight), shape)}, {weight.name + "_exported"});
  }
  std::vector<std::string> scaled = {value};
  bool hasBias = hasOwnBias(weight, how);
  std::string bias = hasBias ? addBias(weight) : "",
              inputScale = ActivationNames(weight.input).scale;
  if (hasBias && how.activations())
    scaled.insert(scaled.end(), {bias, inputScale});
  addOwn("WeightScale", scaled, {names.scale}).set("axis", weight.axis);
  std::string always = names.rounded + "_always",
              codes = weight.norm ? weight.name + "_folded_quantized" : names.codes;
  addRounding(value, names, weight.axis, codes, always);
  addOwn("IsQuantizing", {}, {names.rounded + "_active"}).set("begin_step", how.begin_step());
  add("Where", {names.rounded + "_active", always, value}, {names.rounded});
  if (weight.norm)
    add("QuantizeLinear", {weight.name + "_exported", names.scale, names.zero}, {names.codes})
        .set("axis", weight.axis);
  if (hasBias && how.activations()) {
    add("Mul", {inputScale, names.scale}, {names.biasScale});
    add("Div", {bias, names.biasScale}, {names.bias + "_steps"});
    add("Round", {names.bias + "_steps"}, {names.bias + "_rounded"});
    add("Cast", {names.bias + "_rounded"}, {names.biasCodes}).set("to", INT32);
  }
  return names.rounded;
}

/// A convolution with a folded factor divides by it again, in front of its normalization.
void TrainedGraph::addLayer(onnx::NodeProto &layer, const QuantizedWeight &weight) {
  std::string output = layer.output(0);
  if (weight.norm) {
    rename(*layer.mutable_output(0), output + "_times_factor");
    while (layer.input_size() > 2)
      layer.mutable_input()->RemoveLast();
  }
  graph.add_node()->Swap(&layer);
  if (!weight.norm)
    return;
  SmallVector<int64_t> shape(weight.shape.size(), 1);
  shape[1] = weight.channels();
  std::string quotient = weight.bias.empty() ? output : output + "_without_bias";
  add("Div", {output + "_times_factor", reshaped(safeFactorOf(weight), shape)}, {quotient});
  if (!weight.bias.empty())
    add("Add", {quotient, reshaped(weight.bias, shape)}, {output});
}

namespace {
/// The graph with codes, which is exported.
class ExportedGraph : public QuantizedGraph {
public:
  using QuantizedGraph::QuantizedGraph;

  /// The initializers that the trained graph determines.
  std::vector<std::string> determined;

private:
  std::string round(const std::string &activation) override;
  std::string round(const QuantizedWeight &weight) override;
  void addLayer(onnx::NodeProto &layer, const QuantizedWeight &weight) override;
  bool isDropped(const onnx::NodeProto &node) const override;
  void determine(const std::string &name, int32_t type, ArrayRef<int64_t> shape) {
    addZeros(name, type, shape);
    determined.push_back(name);
  }
};
} // namespace

/// A normalization that is part of the weights in front of it.
bool ExportedGraph::isDropped(const onnx::NodeProto &node) const {
  return node.op_type() == "BatchNormalization" && node.output_size() > 0 &&
         llvm::any_of(layers.weights, [&](const QuantizedWeight &weight) {
           return weight.norm && weight.norm->output == node.output(0);
         });
}

std::string ExportedGraph::round(const std::string &activation) {
  ActivationNames names(activation);
  determine(names.scale, FLOAT, {});
  determine(names.zero, UINT8, {});
  add("QuantizeLinear", {activation, names.scale, names.zero}, {names.codes});
  add("DequantizeLinear", {names.codes, names.scale, names.zero}, {names.rounded});
  return names.rounded;
}

std::string ExportedGraph::round(const QuantizedWeight &weight) {
  WeightNames names(weight);
  determine(names.codes, INT8, weight.shape);
  determine(names.scale, FLOAT, {weight.channels()});
  addZeros(names.zero, INT8, {weight.channels()});
  add("DequantizeLinear", {names.codes, names.scale, names.zero}, {names.rounded})
      .set("axis", weight.axis);
  return names.rounded;
}

void ExportedGraph::addLayer(onnx::NodeProto &layer, const QuantizedWeight &weight) {
  WeightNames names(weight);
  if (hasOwnBias(weight, how)) {
    if (how.activations()) {
      determine(names.biasCodes, INT32, {weight.channels()});
      determine(names.biasScale, FLOAT, {weight.channels()});
      add("DequantizeLinear", {names.biasCodes, names.biasScale}, {names.bias}).set("axis", 0);
    } else {
      determine(names.bias, FLOAT, {weight.channels()});
    }
    while (layer.input_size() < 3)
      layer.add_input("");
    layer.set_input(2, names.bias);
  } else if (weight.lacksBias) {
    while (layer.input_size() > 2) // zeros
      layer.mutable_input()->RemoveLast();
  }
  if (weight.norm)
    layer.set_output(0, weight.norm->output);
  graph.add_node()->Swap(&layer);
}

/// Removes the initializers that only the graph of floats read.
static void removeFloats(onnx::GraphProto &graph, const QuantizedLayers &layers) {
  llvm::StringSet<> floats;
  for (const QuantizedWeight &weight : layers.weights) {
    floats.insert_range(ArrayRef{weight.name, weight.bias});
    if (const auto &norm = weight.norm)
      floats.insert_range(ArrayRef{norm->scale, norm->shift, norm->mean, norm->variance});
  }
  for (const onnx::NodeProto &node : graph.node())
    for (const std::string &input : node.input())
      floats.erase(input);
  for (const onnx::ValueInfoProto &output : graph.output())
    floats.erase(output.name());
  auto removeFrom = [&](auto &list) {
    for (int i = list.size() - 1; i >= 0; --i)
      if (floats.contains(list.Get(i).name()))
        list.DeleteSubrange(i, 1);
  };
  removeFrom(*graph.mutable_initializer());
  removeFrom(*graph.mutable_input()); // up to IR version 3, initializers are also inputs
}

/// How the layers of a weight are quantized, in words.
static std::string inWords(const QuantizedWeight &weight, const spec::Quantize &how) {
  std::string text = "8 bits";
  if (weight.norm)
    text += ", with the normalization behind it";
  if (how.activations())
    text += ", input 8 bits";
  if (how.begin_step() > 1)
    text += ", from step " + std::to_string(how.begin_step()) + " on";
  return text;
}

FailureOr<QuantizedModel> gradc::quantize(const SpecFile &spec, OnnxModel &model) {
  QuantizedModel result;
  if (!spec.get().has_quantize())
    return result;
  constexpr int64_t leastOpset = 13; // scales per channel
  Location where = spec.at({"quantize"});
  if (model.opset() < leastOpset)
    return emitError(where) << "quantize: expected a model of opset " << leastOpset
                            << " or later, found " << model.opset();
  FailureOr<QuantizedLayers> layers = findQuantized(spec, model);
  if (failed(layers))
    return failure();
  const spec::Quantize &how = spec.get().quantize();
  for (const QuantizedWeight &weight : layers->weights)
    result.weights[weight.name] = inWords(weight, how);
  std::string collision;
  auto changeExported = [&](onnx::ModelProto &proto) {
    ExportedGraph exported(*proto.mutable_graph(), *layers, how);
    exported.run();
    removeFloats(*proto.mutable_graph(), *layers);
    // Before that version, initializers are also inputs.
    proto.set_ir_version(std::max<int64_t>(proto.ir_version(), 4));
    collision = exported.getCollision();
    result.determined = std::move(exported.determined);
  };
  if (failed(model.editExported(changeExported, where)))
    return failure();
  model.extend([&](onnx::GraphProto &graph) {
    TrainedGraph trained(graph, *layers, how);
    trained.run();
    if (collision.empty())
      collision = trained.getCollision();
  });
  if (!collision.empty())
    return emitError(where) << "quantize adds a value \"" << collision
                            << "\", which the model has already; rename that";
  return result;
}

LogicalResult gradc::importCodes(const OnnxModel &model, States &states,
                                 const ImportOptions &options, ArrayRef<std::string> codes) {
  if (codes.empty())
    return success();
  EntryImport entry(model, states, options, GRADC_MERGED_ENTRY, 0, /*training=*/false);
  auto noInput = [](const onnx::ValueInfoProto &) { return Value(); };
  if (failed(entry.importNodes(codes, noInput)))
    return failure();
  for (const std::string &name : codes)
    entry.addResult(entry.value(name), name, GRADC_ROLE_OUTPUT);
  entry.finish();
  return success();
}
