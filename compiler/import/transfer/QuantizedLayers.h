// Which values of a graph a spec quantizes.
#ifndef COMPILER_IMPORT_TRANSFER_QUANTIZEDLAYERS_H
#define COMPILER_IMPORT_TRANSFER_QUANTIZEDLAYERS_H

#include "compiler/import/spec/TrainingSpec.h"
#include "compiler/import/transfer/GraphUses.h"

namespace gradc {

/// A BatchNormalization that alone reads the result of a convolution. Names of initializers.
struct FoldedNorm {
  std::string output, scale, shift, mean, variance;
  double epsilon;
};

/// A weight, and the nodes that multiply or convolve by it, named by their outputs.
struct QuantizedWeight {
  std::string name;
  std::vector<int64_t> shape;
  int axis; ///< of its output channels
  std::vector<std::string> layers;
  // If there is one layer:
  std::string input;      ///< its activation
  std::string bias = {};  ///< an initializer, or empty; of Gemm only if it is added as it is
  bool lacksBias = false; ///< also if it is written as zeros
  std::optional<FoldedNorm> norm = {}; ///< behind it

  int64_t channels() const { return shape[size_t(axis)]; }
};

struct QuantizedLayers {
  std::vector<QuantizedWeight> weights;
  /// The operands that are quantized activations, by a node's first output.
  llvm::StringMap<llvm::SmallVector<int, 2>> operands;
  /// By a result of Dropout, what Dropout reads.
  llvm::StringMap<std::string> undropped = {};

  const QuantizedWeight *weightOf(llvm::StringRef layer) const;
};

/// Reports patterns and types without a match.
mlir::FailureOr<QuantizedLayers> findQuantized(const SpecFile &spec, const OnnxModel &model);

} // namespace gradc

#endif
