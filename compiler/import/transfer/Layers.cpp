// Finds the node that computes with an initializer, looking through transposes.
#include "dialects/Pch.h"

#include "compiler/import/transfer/Layers.h"

using namespace mlir;
using namespace gradc;

/// The use of a matrix as right operand of Gemm or MatMul. `transposed`: the matrix is transposed
/// before the node.
static std::optional<LinearUse> linearUse(const ValueUse &use, bool transposed) {
  bool isGemm = use.node->op_type() == "Gemm";
  if (use.operand != 1 || (!isGemm && use.node->op_type() != "MatMul"))
    return std::nullopt;
  bool outputsFirst = transposed != (isGemm && integerAttribute(*use.node, "transB", 0) != 0);
  return LinearUse{use.node, !outputsFirst};
}

/// All uses of a matrix if each of them is linear; otherwise empty.
static SmallVector<LinearUse> linearUsesOf(const GraphUses &uses, StringRef matrix) {
  SmallVector<LinearUse> all;
  SmallVector<std::pair<std::string, bool>> names = {{matrix.str(), false}};
  while (!names.empty()) {
    auto [name, transposed] = names.pop_back_val();
    for (const ValueUse &use : uses.of(name)) {
      bool turns = use.operand == 0 && isMatrixTranspose(*use.node),
           passes = use.operand == 0 && use.node->op_type() == "Identity";
      if (turns || passes)
        names.push_back({use.node->output(0), transposed != turns});
      else if (auto linear = linearUse(use, transposed))
        all.push_back(*linear);
      else
        return {};
    }
  }
  return all;
}

SmallVector<LinearUse> gradc::linearUses(const GraphUses &uses, StringRef initializer) {
  const onnx::TensorProto *tensor = uses.initializer(initializer);
  if (!tensor || tensor->dims_size() != 2 || uses.isOutput(initializer))
    return {};
  return linearUsesOf(uses, initializer);
}

/// Whether the node multiplies rows by codes, its operand 1, which are [N, K] for attributes N and
/// K.
static bool multipliesByCodes(const onnx::NodeProto &node, const onnx::TensorProto &codes) {
  if (node.domain() != "com.microsoft" ||
      (node.op_type() != "MatMulNBits" && node.op_type() != "MatMulBnb4"))
    return false;
  int64_t inputs = integerAttribute(node, "K", 0), outputs = integerAttribute(node, "N", 0);
  // The importer checks sizes later, so those that the codes cannot have are left to it.
  int64_t bits = 8;
  for (int64_t size : codes.dims())
    bits *= size;
  return node.input_size() > 2 && inputs > 0 && outputs > 0 && inputs <= bits / outputs;
}

/// The element type of what a node computes with scales, its input `scales`; 0: not known.
static int32_t typeOfScaled(const GraphUses &uses, const onnx::NodeProto &node, int scales) {
  const onnx::TensorProto *tensor = uses.constant(node.input(scales));
  if (int64_t given = integerAttribute(node, "output_dtype", 0); given && tensor)
    return int32_t(given);
  return tensor ? tensor->data_type() : 0;
}

std::optional<CodedMatrix> gradc::codedMatrix(const GraphUses &uses, StringRef initializer) {
  const onnx::TensorProto *codes = uses.initializer(initializer);
  if (!codes)
    return std::nullopt;
  CodedMatrix matrix;
  for (const ValueUse &use : uses.of(initializer)) {
    if (use.operand < 0) // products in branches and loops would do without the adapter
      return std::nullopt;
    const onnx::NodeProto &node = *use.node;
    if (use.operand == 1 && multipliesByCodes(node, *codes)) {
      matrix.products.push_back({&node, /*inputsFirst=*/false});
      matrix.inputs = integerAttribute(node, "K", 0);
      matrix.outputs = integerAttribute(node, "N", 0);
      matrix.dataType = typeOfScaled(uses, node, 2);
    } else if (use.operand == 0 && node.op_type() == "DequantizeLinear" && node.input_size() > 1 &&
               codes->dims_size() == 2 && !uses.isOutput(node.output(0))) {
      for (LinearUse product : linearUsesOf(uses, node.output(0))) {
        matrix.products.push_back(product);
        matrix.inputs = codes->dims(product.inputsFirst ? 0 : 1);
        matrix.outputs = codes->dims(product.inputsFirst ? 1 : 0);
        matrix.dataType = typeOfScaled(uses, node, 1);
      }
    }
  }
  constexpr int32_t floats[] = {1, 10, 11, 16}; // f32, f16, f64, bf16
  if (!llvm::is_contained(floats, matrix.dataType))
    return std::nullopt;
  return matrix;
}

/// The fans of torch.nn.init: dim 1 and dim 0, each multiplied by the size of the window.
static void setWindowFans(LayerParameter &parameter, const onnx::TensorProto &weight) {
  int64_t window = 1;
  for (int d = 2; d < weight.dims_size(); ++d)
    window *= weight.dims(d);
  parameter.fanIn = weight.dims(1) * window;
  parameter.fanOut = weight.dims(0) * window;
}

bool gradc::isConvolution(const onnx::NodeProto &node) {
  return node.op_type() == "Conv" || node.op_type() == "ConvTranspose";
}

/// The initializer found through transposes and identities, and whether it is transposed.
static std::pair<const onnx::TensorProto *, bool> initializerBehind(const GraphUses &uses,
                                                                    std::string value) {
  bool transposed = false;
  llvm::SmallPtrSet<const onnx::NodeProto *, 4> visited; // the nodes may form a cycle
  while (!uses.initializer(value)) {
    const onnx::NodeProto *node = uses.producer(value);
    if (!node || (node->op_type() != "Identity" && !isMatrixTranspose(*node)) ||
        !node->input_size() || !visited.insert(node).second)
      return {nullptr, false};
    transposed ^= node->op_type() == "Transpose";
    value = node->input(0);
  }
  return {uses.initializer(value), transposed};
}

LastProduct gradc::lastProduct(const GraphUses &uses, StringRef output) {
  std::string value = output.str();
  llvm::SmallPtrSet<const onnx::NodeProto *, 16> visited; // the nodes may form a cycle
  for (const onnx::NodeProto *node = uses.producer(value); node && visited.insert(node).second;
       node = uses.producer(value)) {
    StringRef op = node->op_type();
    bool isProduct = op == "Gemm" || op == "MatMul" || isConvolution(*node);
    // The first operand of a sum or product may be an initializer.
    unsigned operand =
        isProduct || (node->input_size() > 1 && uses.initializer(node->input(0))) ? 1 : 0;
    if (node->input_size() <= int(operand))
      break;
    value = node->input(int(operand));
    if (isProduct) {
      const onnx::TensorProto *weight = initializerBehind(uses, value).first;
      return {node, weight ? weight->name() : std::string()};
    }
  }
  return {};
}

/// Whether `use` is that of a weight in the product of a dense layer or convolution.
static bool isWeight(const ValueUse &use, bool transposed, const onnx::TensorProto &tensor,
                     LayerParameter &parameter) {
  int rank = tensor.dims_size();
  if (isConvolution(*use.node) && use.operand == 1 && rank >= 2) {
    setWindowFans(parameter, tensor);
    return true;
  }
  bool isLeft = use.node->op_type() == "MatMul" && use.operand == 0;
  auto linear = linearUse(use, transposed);
  if (rank < 2 || (!linear && !isLeft))
    return false;
  parameter.fanIn = tensor.dims(rank - 2);
  parameter.fanOut = tensor.dims(rank - 1);
  if (isLeft ? !transposed : !linear->inputsFirst)
    std::swap(parameter.fanIn, parameter.fanOut);
  return true;
}

/// Whether the use reads a bias: the layer's own operand, or an Add after the layer's product.
static bool isBias(const GraphUses &uses, const ValueUse &use, LayerParameter &parameter) {
  const onnx::NodeProto *layer = use.node;
  if (layer->op_type() == "Add" && use.operand >= 0)
    layer = uses.producer(layer->input(1 - use.operand));
  else if (use.operand != 2 || (layer->op_type() != "Gemm" && !isConvolution(*layer)))
    return false;
  if (!layer || layer->input_size() < 2)
    return false;
  for (int operand : {1, 0}) {
    auto [weight, transposed] = initializerBehind(uses, layer->input(operand));
    if (weight && isWeight({layer, operand}, transposed, *weight, parameter))
      return true;
  }
  return false;
}

static ParameterRole operandRole(const ValueUse &use) {
  constexpr ParameterRole moments[] = {ParameterRole::scale, ParameterRole::shift,
                                       ParameterRole::mean, ParameterRole::variance};
  StringRef op = use.node->op_type();
  if (op.ends_with("Normalization") && use.operand >= 1 && use.operand <= 4)
    return moments[use.operand - 1];
  if (op == "Gather" && use.operand == 0)
    return ParameterRole::embedding;
  if ((op == "LSTM" || op == "GRU" || op == "RNN") && use.operand >= 1 && use.operand <= 3)
    return ParameterRole::recurrent;
  return ParameterRole::other;
}

LayerParameter gradc::layerParameter(const GraphUses &uses, StringRef initializer) {
  const onnx::TensorProto &tensor = *uses.initializer(initializer);
  SmallVector<std::pair<std::string, bool>> names = {{initializer.str(), false}};
  LayerParameter parameter;
  for (size_t next = 0; next < names.size(); ++next) {
    auto [name, transposed] = names[next];
    for (const ValueUse &use : uses.of(name)) {
      parameter.node = use.node;
      if (isMatrixTranspose(*use.node) || use.node->op_type() == "Identity") {
        names.push_back({use.node->output(0), transposed ^ (use.node->op_type() == "Transpose")});
        continue;
      }
      if (isWeight(use, transposed, tensor, parameter))
        parameter.role = ParameterRole::weight;
      else if (isBias(uses, use, parameter))
        parameter.role = ParameterRole::bias;
      else
        parameter.role = operandRole(use);
      parameter.hidden = integerAttribute(*use.node, "hidden_size", 0);
      if (parameter.role != ParameterRole::other)
        return parameter;
    }
  }
  return parameter;
}

std::optional<WeightDims> gradc::weightDims(const GraphUses &uses, StringRef initializer) {
  SmallVector<LinearUse> linear = linearUses(uses, initializer);
  if (!linear.empty()) {
    bool inputsFirst = linear.front().inputsFirst;
    bool isOneForm =
        llvm::all_of(linear, [&](const LinearUse &use) { return use.inputsFirst == inputsFirst; });
    if (!isOneForm)
      return std::nullopt;
    return inputsFirst ? WeightDims{0, 1} : WeightDims{1, 0};
  }
  LayerParameter layer = layerParameter(uses, initializer);
  if (layer.role != ParameterRole::weight || !isConvolution(*layer.node))
    return std::nullopt;
  if (layer.node->op_type() == "Conv")
    return WeightDims{1, 0};
  return WeightDims{0, 1, std::max<int64_t>(integerAttribute(*layer.node, "group", 1), 1)};
}
