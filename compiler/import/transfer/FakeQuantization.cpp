// Both graphs are rewritten in one walk over their nodes: in front of a layer, the one that trains
// rounds values, and the exported one reads codes. The names of the exported initializers are also
// those of the values in the first graph that determine them.
#include "dialects/Pch.h"

#include "compiler/import/transfer/FakeQuantization.h"

#include "compiler/import/transfer/QuantizedLayers.h"
#include "runtime/include/gradc/entries.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

namespace {
enum DataType : int32_t { f32 = 1, u8 = 2, i8 = 3, i32 = 6, i64 = 7 }; // TensorProto.DataType

/// The names of the values that belong to a weight.
struct WeightNames {
  explicit WeightNames(const QuantizedWeight &weight)
      : codes(weight.name + "_quantized"), scale(weight.name + "_scale"),
        zero(weight.name + "_zero_point"), rounded(weight.name + "_DequantizeLinear_Output"),
        bias(weight.name + "_bias"), biasCodes(bias + "_quantized"), biasScale(bias + "_scale") {}

  std::string codes, scale, zero, rounded, bias, biasCodes, biasScale;
};

/// The names of the values that belong to an activation.
struct ActivationNames {
  explicit ActivationNames(const std::string &value)
      : scale(value + "_scale"), zero(value + "_zero_point"), range(value + "_range"),
        codes(value + "_QuantizeLinear_Output"), rounded(value + "_DequantizeLinear_Output") {}

  std::string scale, zero, range, codes, rounded;
};

/// Whether the exported layer has a bias that its weight and norm determine.
bool hasOwnBias(const QuantizedWeight &weight, const spec::Quantize &how) {
  return weight.norm || (how.activations() && !weight.bias.empty());
}

/// Rewrites the nodes of a graph in their order.
class QuantizedGraph {
public:
  QuantizedGraph(onnx::GraphProto &graph, const QuantizedLayers &layers, const spec::Quantize &how)
      : graph(graph), layers(layers), how(how) {}
  virtual ~QuantizedGraph() = default;

  void run();

protected:
  using Names = std::vector<std::string>;
  onnx::NodeProto &add(StringRef op, const Names &inputs, const Names &outputs);
  onnx::NodeProto &addOwn(StringRef op, const Names &inputs, const Names &outputs);
  static void set(onnx::NodeProto &node, StringRef name, int64_t value);
  static void set(onnx::NodeProto &node, StringRef name, double value);
  void addInitializer(const std::string &name, DataType type, ArrayRef<int64_t> shape,
                      std::string bytes);
  void addZeros(const std::string &name, DataType type, ArrayRef<int64_t> shape);
  void addRounding(const std::string &value, const WeightNames &names, int axis,
                   const std::string &codes, const std::string &result);

  /// Add what quantizes a value, and return the name of the rounded one.
  virtual std::string round(const std::string &activation) = 0;
  virtual std::string round(const QuantizedWeight &weight) = 0;
  /// Adds a layer, whose operands are rounded.
  virtual void addLayer(onnx::NodeProto &layer, const QuantizedWeight &weight) = 0;
  virtual bool isDropped(const onnx::NodeProto &) const { return false; }

  onnx::GraphProto &graph;
  const QuantizedLayers &layers;
  const spec::Quantize &how;

private:
  template <typename Key> std::string once(const std::string &name, const Key &key) {
    std::string &rounded = done[name];
    if (rounded.empty())
      rounded = round(key);
    return rounded;
  }
  llvm::StringMap<std::string> done;
};
} // namespace

onnx::NodeProto &QuantizedGraph::add(StringRef op, const Names &inputs, const Names &outputs) {
  onnx::NodeProto &node = *graph.add_node();
  node.set_op_type(op.str());
  node.set_name("quantize:" + outputs.front());
  for (const std::string &input : inputs)
    node.add_input(input);
  for (const std::string &output : outputs)
    node.add_output(output);
  return node;
}

onnx::NodeProto &QuantizedGraph::addOwn(StringRef op, const Names &inputs, const Names &outputs) {
  onnx::NodeProto &node = add(op, inputs, outputs);
  node.set_domain("gradc");
  return node;
}

void QuantizedGraph::set(onnx::NodeProto &node, StringRef name, int64_t value) {
  onnx::AttributeProto &attribute = *node.add_attribute();
  attribute.set_name(name.str());
  attribute.set_type(int32_t(Node::AttributeType::integer));
  attribute.set_i(value);
}

void QuantizedGraph::set(onnx::NodeProto &node, StringRef name, double value) {
  onnx::AttributeProto &attribute = *node.add_attribute();
  attribute.set_name(name.str());
  attribute.set_type(int32_t(Node::AttributeType::real));
  attribute.set_f(float(value));
}

void QuantizedGraph::addInitializer(const std::string &name, DataType type, ArrayRef<int64_t> shape,
                                    std::string bytes) {
  onnx::TensorProto &tensor = *graph.add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(type);
  for (int64_t dim : shape)
    tensor.add_dims(dim);
  tensor.set_raw_data(std::move(bytes));
}

void QuantizedGraph::addZeros(const std::string &name, DataType type, ArrayRef<int64_t> shape) {
  size_t width = type == i8 || type == u8 ? 1 : sizeof(float);
  addInitializer(name, type, shape, std::string(size_t(llvm::product_of(shape)) * width, '\0'));
}

/// Rounds `value`, along `axis`, to a weight's codes and back.
void QuantizedGraph::addRounding(const std::string &value, const WeightNames &names, int axis,
                                 const std::string &codes, const std::string &result) {
  set(add("QuantizeLinear", {value, names.scale, names.zero}, {codes}), "axis", int64_t(axis));
  set(add("DequantizeLinear", {codes, names.scale, names.zero}, {result}), "axis", int64_t(axis));
}

void QuantizedGraph::run() {
  google::protobuf::RepeatedPtrField<onnx::NodeProto> nodes;
  nodes.Swap(graph.mutable_node());
  llvm::StringMap<const QuantizedWeight *> byName;
  for (const QuantizedWeight &weight : layers.weights)
    byName[weight.name] = &weight;
  for (onnx::NodeProto &node : nodes) {
    if (isDropped(node))
      continue;
    StringRef output = node.output_size() ? StringRef(node.output(0)) : StringRef();
    for (int i : layers.operands.lookup(output))
      node.set_input(i, once(node.input(i), node.input(i)));
    for (std::string &input : *node.mutable_input())
      if (const QuantizedWeight *weight = byName.lookup(input))
        input = once(weight->name, *weight);
    if (const QuantizedWeight *weight = layers.weightOf(output))
      addLayer(node, *weight);
    else
      graph.add_node()->Swap(&node);
  }
}

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

/// A scalar, which cannot train.
std::string TrainedGraph::number(const std::string &name, double value) {
  float single = float(value);
  addInitializer(name, f32, {},
                 std::string(reinterpret_cast<const char *>(&single), sizeof single));
  return name;
}

std::string TrainedGraph::reshaped(const std::string &channels, ArrayRef<int64_t> shape) {
  std::string result =
      channels + "_of_rank_" + std::to_string(shape.size()) + (shape.front() == 1 ? "_behind" : "");
  std::string bytes(reinterpret_cast<const char *>(shape.data()), shape.size() * sizeof(int64_t));
  addInitializer(result + "_shape", i64, {int64_t(shape.size())}, bytes);
  add("Reshape", {channels, result + "_shape"}, {result});
  return result;
}

std::string TrainedGraph::round(const std::string &activation) {
  ActivationNames names(activation);
  addZeros(names.range, f32, {2});
  std::string now = names.range + "_now", scale = now + "_scale", zero = now + "_zero_point",
              active = now + "_active", always = names.rounded + "_always";
  onnx::NodeProto &observe = addOwn("ObserveRange", {activation, names.range}, {now});
  set(observe, "momentum", how.momentum());
  if (how.has_ranges_end_step())
    set(observe, "fixed_step", how.ranges_end_step() + 1);
  set(addOwn("RangeScale", {now}, {scale, zero, active}), "begin_step", how.begin_step());
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
  addZeros(names.zero, i8, {weight.channels()});
  std::string value = weight.name;
  if (weight.norm) {
    addFactor(weight);
    SmallVector<int64_t> shape(weight.shape.size(), 1);
    shape[size_t(weight.axis)] = weight.channels();
    value = weight.name + "_folded";
    add("Mul", {weight.name, reshaped(safeFactorOf(weight), shape)}, {value});
    add("Mul", {weight.name, reshaped(factorOf(weight), shape)}, {weight.name + "_exported"});
  }
  Names scaled = {value};
  bool hasBias = hasOwnBias(weight, how);
  std::string bias = hasBias ? addBias(weight) : "",
              inputScale = ActivationNames(weight.input).scale;
  if (hasBias && how.activations())
    scaled.insert(scaled.end(), {bias, inputScale});
  set(addOwn("WeightScale", scaled, {names.scale}), "axis", int64_t(weight.axis));
  std::string always = names.rounded + "_always",
              codes = weight.norm ? weight.name + "_folded_quantized" : names.codes;
  addRounding(value, names, weight.axis, codes, always);
  set(addOwn("IsQuantizing", {}, {names.rounded + "_active"}), "begin_step", how.begin_step());
  add("Where", {names.rounded + "_active", always, value}, {names.rounded});
  if (weight.norm)
    set(add("QuantizeLinear", {weight.name + "_exported", names.scale, names.zero}, {names.codes}),
        "axis", int64_t(weight.axis));
  if (hasBias && how.activations()) {
    add("Mul", {inputScale, names.scale}, {names.biasScale});
    add("Div", {bias, names.biasScale}, {names.bias + "_steps"});
    add("Round", {names.bias + "_steps"}, {names.bias + "_rounded"});
    set(add("Cast", {names.bias + "_rounded"}, {names.biasCodes}), "to", int64_t(i32));
  }
  return names.rounded;
}

/// A convolution with a folded factor divides by it again, in front of its normalization.
void TrainedGraph::addLayer(onnx::NodeProto &layer, const QuantizedWeight &weight) {
  std::string output = layer.output(0);
  if (weight.norm) {
    layer.set_output(0, output + "_times_factor");
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
  void determine(const std::string &name, DataType type, ArrayRef<int64_t> shape) {
    addZeros(name, type, shape);
    determined.push_back(name);
  }
};
} // namespace

/// A normalization that is part of the weights in front of it.
bool ExportedGraph::isDropped(const onnx::NodeProto &node) const {
  return node.op_type() == "BatchNormalization" &&
         llvm::any_of(layers.weights, [&](const QuantizedWeight &weight) {
           return weight.norm && weight.norm->output == node.output(0);
         });
}

std::string ExportedGraph::round(const std::string &activation) {
  ActivationNames names(activation);
  determine(names.scale, f32, {});
  determine(names.zero, u8, {});
  add("QuantizeLinear", {activation, names.scale, names.zero}, {names.codes});
  add("DequantizeLinear", {names.codes, names.scale, names.zero}, {names.rounded});
  return names.rounded;
}

std::string ExportedGraph::round(const QuantizedWeight &weight) {
  WeightNames names(weight);
  determine(names.codes, i8, weight.shape);
  determine(names.scale, f32, {weight.channels()});
  addZeros(names.zero, i8, {weight.channels()});
  set(add("DequantizeLinear", {names.codes, names.scale, names.zero}, {names.rounded}), "axis",
      int64_t(weight.axis));
  return names.rounded;
}

void ExportedGraph::addLayer(onnx::NodeProto &layer, const QuantizedWeight &weight) {
  WeightNames names(weight);
  if (hasOwnBias(weight, how)) {
    if (how.activations()) {
      determine(names.biasCodes, i32, {weight.channels()});
      determine(names.biasScale, f32, {weight.channels()});
      set(add("DequantizeLinear", {names.biasCodes, names.biasScale}, {names.bias}), "axis",
          int64_t(0));
    } else {
      determine(names.bias, f32, {weight.channels()});
    }
    while (layer.input_size() < 3)
      layer.add_input("");
    layer.set_input(2, names.bias);
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
  auto removeFrom = [&](auto &list) {
    for (int i = list.size() - 1; i >= 0; --i)
      if (floats.contains(list.Get(i).name()))
        list.DeleteSubrange(i, 1);
  };
  removeFrom(*graph.mutable_initializer());
  removeFrom(*graph.mutable_input()); // up to IR version 3, initializers are also inputs
}

/// Whether the model has none of the names that its quantized graphs add.
static LogicalResult expectNewNames(const OnnxModel &model, ArrayRef<std::string> determined,
                                    Location where) {
  llvm::StringSet<> computed = model.computedNames();
  for (const std::string &name : determined)
    if (computed.contains(name) || model.initializer(name))
      return emitError(where) << "quantize: the model has a value \"" << name << "\" already";
  return success();
}

FailureOr<std::vector<std::string>> gradc::quantize(const SpecFile &spec, OnnxModel &model) {
  if (!spec.get().has_quantize())
    return std::vector<std::string>();
  constexpr int64_t leastOpset = 13; // scales per channel
  Location where = spec.at("quantize");
  if (model.opset() < leastOpset)
    return emitError(where) << "quantize: expected a model of opset " << leastOpset
                            << " or later, found " << model.opset();
  FailureOr<QuantizedLayers> layers = findQuantized(spec, model);
  if (failed(layers))
    return failure();
  const spec::Quantize &how = spec.get().quantize();
  std::vector<std::string> determined;
  model.editExported([&](onnx::GraphProto &graph) {
    ExportedGraph exported(graph, *layers, how);
    exported.run();
    removeFloats(graph, *layers);
    determined = std::move(exported.determined);
  });
  if (failed(expectNewNames(model, determined, where)))
    return failure();
  model.extend([&](onnx::GraphProto &graph) { TrainedGraph(graph, *layers, how).run(); });
  return determined;
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
