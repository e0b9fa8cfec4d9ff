// The roles of initializers in the layers of a graph.
#ifndef COMPILER_IMPORT_TRANSFER_LAYERS_H
#define COMPILER_IMPORT_TRANSFER_LAYERS_H

#include "compiler/import/transfer/GraphUses.h"

namespace gradc {

enum class ParameterRole {
  weight,
  bias,
  scale,
  shift,
  mean,
  variance,
  embedding,
  recurrent,
  other
};

struct LayerParameter {
  ParameterRole role = ParameterRole::other;
  const onnx::NodeProto *node = nullptr; ///< the layer
  int64_t fanIn = 0, fanOut = 0;         ///< of a weight, and of the weight that a bias is beside
  int64_t hidden = 0;                    ///< of a recurrent layer
};

/// The role of an initializer in the first layer that uses it, and its fans as PyTorch defines
/// them.
LayerParameter layerParameter(const GraphUses &uses, llvm::StringRef initializer);

/// Whether the node is a Conv or ConvTranspose.
bool isConvolution(const onnx::NodeProto &node);

/// A product of MatMul, Gemm or a convolution, and its weight.
struct LastProduct {
  const onnx::NodeProto *node = nullptr; ///< null: there is none
  std::string weight;                    ///< an initializer; empty if the product is of others
};
/// The last product before a value, whose channels are those of the value.
LastProduct lastProduct(const GraphUses &uses, llvm::StringRef value);

/// A matrix by which MatMul or Gemm multiplies rows.
struct LinearUse {
  const onnx::NodeProto *node;
  bool inputsFirst; ///< the initializer is [inputs, outputs]
};
/// All uses of an initializer if each of them is linear; otherwise empty.
llvm::SmallVector<LinearUse> linearUses(const GraphUses &uses, llvm::StringRef initializer);

/// A matrix of codes by which products multiply rows.
struct CodedMatrix {
  llvm::SmallVector<LinearUse> products;
  int64_t inputs = 0, outputs = 0;
  int32_t dataType = 0; ///< of the products
};
/// The matrix whose codes an initializer holds: that of MatMulNBits and MatMulBnb4, or of MatMul
/// and Gemm behind DequantizeLinear. Other nodes may read it as well, such as tied embeddings, but
/// no branch or loop.
std::optional<CodedMatrix> codedMatrix(const GraphUses &uses, llvm::StringRef initializer);

/// The dims of a weight along which its layer sums its inputs, and along which its output channels
/// are.
struct WeightDims {
  int64_t input, output;
  /// Of a ConvTranspose, along its inputs: each has output channels of its own.
  int64_t groups = 1;
};
/// The dims of a weight of MatMul, Gemm or a convolution; none of another initializer, or of one
/// that layers use in several ways.
std::optional<WeightDims> weightDims(const GraphUses &uses, llvm::StringRef initializer);

} // namespace gradc

#endif
