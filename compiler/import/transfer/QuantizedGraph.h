// The walk over the nodes of a graph that rounds values in front of its layers.
#ifndef COMPILER_IMPORT_TRANSFER_QUANTIZEDGRAPH_H
#define COMPILER_IMPORT_TRANSFER_QUANTIZEDGRAPH_H

#include "compiler/import/onnx/model/GraphBuilder.h"
#include "compiler/import/transfer/QuantizedLayers.h"
#include "runtime/include/gradc/artifact.h"

namespace gradc {

/// The names of the values that belong to a weight.
struct WeightNames {
  explicit WeightNames(const QuantizedWeight &weight)
      : codes(weight.name + "_quantized"), scale(weight.name + "_scale"),
        zero(weight.name + "_zero_point"), rounded(weight.name + "_DequantizeLinear_Output"),
        bias(weight.name + "_layer_bias"), biasCodes(bias + "_quantized"),
        biasScale(bias + "_scale") {}

  std::string codes, scale, zero, rounded, bias, biasCodes, biasScale;
};

/// The names of the values that belong to an activation.
struct ActivationNames {
  explicit ActivationNames(const std::string &value)
      : scale(value + "_scale"), zero(value + "_zero_point"), range(value + GRADC_RANGE_SUFFIX),
        codes(value + "_QuantizeLinear_Output"), rounded(value + "_DequantizeLinear_Output") {}

  std::string scale, zero, range, codes, rounded;
};

/// Whether the exported layer has a bias that its weight and norm determine.
inline bool hasOwnBias(const QuantizedWeight &weight, const spec::Quantize &how) {
  return weight.norm || (how.activations() && !weight.bias.empty());
}

/// Rewrites the nodes of a graph in their order.
class QuantizedGraph {
public:
  QuantizedGraph(onnx::GraphProto &graph, const QuantizedLayers &layers, const spec::Quantize &how);
  virtual ~QuantizedGraph() = default;

  void run();
  /// A name that is added, and that the graph had already; or empty.
  const std::string &getCollision() const { return collision; }

protected:
  NodeBuilder add(llvm::StringRef op, llvm::ArrayRef<std::string> inputs,
                  llvm::ArrayRef<std::string> outputs);
  /// Adds a node of one of the compiler's own ops.
  NodeBuilder addOwn(llvm::StringRef op, llvm::ArrayRef<std::string> inputs,
                     llvm::ArrayRef<std::string> outputs) {
    return add(op, inputs, outputs).in("gradc");
  }
  void addConstant(const std::string &name, onnx::TensorProto value);
  void addZeros(const std::string &name, int32_t type, llvm::ArrayRef<int64_t> shape);
  void addRounding(const std::string &value, const WeightNames &names, int axis,
                   const std::string &codes, const std::string &result);

  void define(const std::string &name) {
    if (taken.contains(name))
      collision = name;
  }
  /// Gives a node's result another name, so that a new node may have the old one.
  void rename(std::string &result, const std::string &name) {
    define(name);
    taken.erase(result);
    result = name;
  }

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
  llvm::StringSet<> taken;
  GraphBuilder builder;
  std::string collision;
};

} // namespace gradc

#endif
