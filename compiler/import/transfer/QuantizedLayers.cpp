// A weight is quantized if layers alone read it, all along the same dim.
#include "dialects/Pch.h"

#include "compiler/import/transfer/QuantizedLayers.h"

#include "compiler/import/onnx/model/DataType.h"
#include "compiler/import/support/Names.h"
#include "compiler/import/transfer/GraphValues.h"
#include "compiler/import/transfer/Layers.h"

using namespace mlir;
using namespace gradc;

const QuantizedWeight *QuantizedLayers::weightOf(StringRef layer) const {
  auto found = llvm::find_if(weights, [&](const QuantizedWeight &weight) {
    return llvm::is_contained(weight.layers, layer);
  });
  return found == weights.end() ? nullptr : &*found;
}

/// The initializer that operand `i` is, or an empty name.
static std::string initializerAt(const GraphUses &uses, const onnx::NodeProto &node, int i) {
  bool isInitializer = i < node.input_size() && uses.initializer(node.input(i));
  return isInitializer ? node.input(i) : std::string();
}

/// The layers of a convolution's weight, if it has no other uses.
static SmallVector<const onnx::NodeProto *> convolutions(const GraphUses &uses, StringRef weight) {
  constexpr int leastRank = 3; // a smaller one is an error that the importer reports
  if (uses.initializer(weight)->dims_size() < leastRank)
    return {};
  SmallVector<const onnx::NodeProto *> layers;
  for (const ValueUse &use : uses.of(weight)) {
    StringRef op = use.node->op_type();
    if (op == "Shape") // which the rounded weight has, too
      continue;
    if (use.operand != 1 || (op != "Conv" && op != "ConvTranspose") ||
        (!layers.empty() && op != layers.front()->op_type()))
      return {};
    layers.push_back(use.node);
  }
  return layers;
}

static bool hasResult(const onnx::NodeProto &node) {
  return node.output_size() > 0 && !node.output(0).empty();
}

/// Whether nothing reads the node's results but the first.
static bool hasOneResult(const GraphUses &uses, const onnx::NodeProto &node) {
  return hasResult(node) && llvm::all_of(llvm::drop_begin(node.output()), [&](const auto &output) {
           return uses.of(output).empty() && !uses.isOutput(output);
         });
}

/// The normalization behind a convolution, if it reads only initializers besides, and they have no
/// other reader.
static std::optional<FoldedNorm> normBehind(const GraphUses &uses, const onnx::NodeProto &layer) {
  const std::string &output = layer.output(0);
  ArrayRef<ValueUse> readers = uses.of(output);
  if (layer.op_type() != "Conv" || readers.size() != 1 || readers.front().operand != 0 ||
      uses.isOutput(output) || readers.front().node->op_type() != "BatchNormalization")
    return std::nullopt;
  const onnx::NodeProto &norm = *readers.front().node;
  if (!hasOneResult(uses, norm))
    return std::nullopt;
  for (int i = 1; i <= 4; ++i)
    if (initializerAt(uses, norm, i).empty() || uses.of(norm.input(i)).size() != 1 ||
        uses.isOutput(norm.input(i)))
      return std::nullopt;
  const onnx::AttributeProto *epsilon = findAttribute(norm, "epsilon");
  return FoldedNorm{norm.output(0), norm.input(1), norm.input(2),
                    norm.input(3),  norm.input(4), epsilon ? epsilon->f() : 1e-5};
}

/// A Gemm that scales its product has no weight or bias that stands for itself.
static bool isScaled(const onnx::NodeProto &layer) {
  for (StringRef name : {"alpha", "beta"})
    if (const onnx::AttributeProto *factor = findAttribute(layer, name); factor && factor->f() != 1)
      return true;
  return false;
}

/// The weight with that name if `quantize` may name it.
static std::optional<QuantizedWeight> candidate(const GraphUses &uses, StringRef name) {
  const onnx::TensorProto &tensor = *uses.initializer(name);
  QuantizedWeight weight{name.str(), {tensor.dims().begin(), tensor.dims().end()}, 0, {}, {}};
  SmallVector<const onnx::NodeProto *> layers;
  bool isAlike = true;
  if (SmallVector<LinearUse> linear = linearUses(uses, name); !linear.empty()) {
    weight.axis = linear.front().inputsFirst ? 1 : 0;
    for (const LinearUse &use : linear) {
      layers.push_back(use.node);
      isAlike &= use.inputsFirst == linear.front().inputsFirst;
    }
  } else if (layers = convolutions(uses, name); !layers.empty()) {
    weight.axis = layers.front()->op_type() == "Conv" ? 0 : 1;
  }
  auto isTie = [](const ValueUse &use) { return StringRef(use.node->name()).starts_with("tie:"); };
  auto isOther = [&](const onnx::NodeProto *layer) {
    return !hasResult(*layer) || uses.initializer(layer->input(0));
  };
  if (tensor.data_type() != data_type::FLOAT || layers.empty() || !isAlike || uses.isOutput(name) ||
      llvm::any_of(uses.of(name), isTie) || llvm::any_of(layers, isOther))
    return std::nullopt;
  for (const onnx::NodeProto *layer : layers)
    weight.layers.push_back(layer->output(0));
  if (layers.size() > 1)
    return weight;
  const onnx::NodeProto &layer = *layers.front();
  weight.input = layer.input(0);
  if (std::string bias = initializerAt(uses, layer, 2);
      !bias.empty() && !isScaled(layer) && uses.of(bias).size() == 1 && !uses.isOutput(bias) &&
      uses.initializer(bias)->dims_size() == 1 &&
      uses.initializer(bias)->dims(0) == weight.channels())
    weight.bias = bias;
  weight.lacksBias = layer.input_size() < 3 || layer.input(2).empty() ||
                     (isConvolution(layer) && isZero(uses, layer.input(2)));
  if (weight.lacksBias)
    weight.bias.clear();
  if (weight.lacksBias || !weight.bias.empty())
    weight.norm = normBehind(uses, layer);
  return weight;
}

/// Adds the operands of the nodes of type `op` that are computed floats. Returns whether there is
/// such a node.
static bool addOperands(const GraphUses &uses, const onnx::GraphProto &graph, StringRef op,
                        QuantizedLayers &found) {
  auto isFolded = [&](const std::string &output) {
    return llvm::any_of(found.weights, [&](const QuantizedWeight &weight) {
      return weight.norm && weight.norm->output == output;
    });
  };
  bool any = false;
  for (const onnx::NodeProto &node : graph.node()) {
    any |= node.op_type() == op;
    if (node.op_type() != op || !hasResult(node) || found.weightOf(node.output(0)) ||
        isFolded(node.output(0)))
      continue;
    for (int i = 0; i < node.input_size(); ++i) {
      const std::string &input = node.input(i);
      const onnx::NodeProto *producer = uses.producer(input);
      bool isKnown = uses.initializer(input) || (producer && producer->op_type() == "Constant");
      SmallVectorImpl<int> &operands = found.operands[node.output(0)];
      if (!input.empty() && !isKnown && isFloat(uses, graph, input) &&
          !llvm::is_contained(operands, i))
        operands.push_back(i);
    }
  }
  return any;
}

/// Says which weights of layers stay in floats, although no pattern excludes them.
static void remarkOnFloats(const SpecFile &spec, const GraphUses &uses, const OnnxModel &model,
                           const QuantizedLayers &found) {
  auto isLayer = [](const ValueUse &use) {
    StringRef op = use.node->op_type();
    return use.operand == 1 &&
           (op == "Conv" || op == "ConvTranspose" || op == "Gemm" || op == "MatMul");
  };
  std::vector<std::string> left;
  for (const std::string &name : model.initializerNames())
    if (llvm::any_of(uses.of(name), isLayer) &&
        llvm::none_of(found.weights, [&](const auto &weight) { return weight.name == name; }))
      left.push_back('"' + name + '"');
  if (left.empty())
    return;
  emitRemark(spec.at({"quantize"}))
      << "quantize leaves " << llvm::join(left, ", ")
      << " in floats: tied, not of f32, also read by another node, or multiplied by a constant";
}

FailureOr<QuantizedLayers> gradc::findQuantized(const SpecFile &spec, const OnnxModel &model) {
  const spec::Quantize &block = spec.get().quantize();
  GraphUses uses(model.graph());
  PatternScope scope{"quantize", "weight of a layer", {}};
  std::map<std::string, QuantizedWeight> candidates;
  for (const std::string &name : model.initializerNames())
    if (std::optional<QuantizedWeight> weight = candidate(uses, name)) {
      scope.names.push_back(name);
      candidates.emplace(name, std::move(*weight));
    }
  std::vector<std::string> patterns(block.pattern().begin(), block.pattern().end());
  llvm::StringSet<> chosen;
  if (patterns.empty())
    chosen.insert_range(scope.names);
  LogicalResult matched = collectMatching(
      patterns, scope, [&](int i) { return spec.at({"quantize", {"pattern", i}}); }, chosen);
  if (chosen.empty() && succeeded(matched))
    return emitError(spec.at({"quantize"}))
           << "found no weight to quantize: an f32 initializer that only Conv, ConvTranspose, Gemm "
              "or MatMul read as operand 1";
  QuantizedLayers found;
  for (const std::string &name : scope.names)
    if (chosen.contains(name))
      found.weights.push_back(candidates.at(name));
  if (patterns.empty())
    remarkOnFloats(spec, uses, model, found);
  if (block.activations())
    for (const QuantizedWeight &weight : found.weights)
      for (const std::string &layer : weight.layers)
        found.operands[layer] = {0};
  bool ok = succeeded(matched);
  for (auto [i, op] : llvm::enumerate(block.inputs_of()))
    if (!addOperands(uses, model.graph(), op, found)) {
      emitError(spec.at({"quantize", {"inputs_of", int(i)}}))
          << "quantize: the model has no node of type \"" << op << "\"";
      ok = false;
    }
  if (!ok)
    return failure();
  for (const onnx::NodeProto &node : model.graph().node())
    if (node.op_type() == "Dropout" && hasResult(node) && node.input_size() > 0)
      found.undropped[node.output(0)] = node.input(0);
  return found;
}
