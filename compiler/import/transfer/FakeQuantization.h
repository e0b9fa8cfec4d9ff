// Quantization-aware training: the graph that trains rounds values to 8 bits, and the exported one
// holds the codes.
#ifndef COMPILER_IMPORT_TRANSFER_FAKEQUANTIZATION_H
#define COMPILER_IMPORT_TRANSFER_FAKEQUANTIZATION_H

#include "compiler/import/onnx/ImportGraph.h"
#include "compiler/import/spec/TrainingSpec.h"

namespace gradc {

struct QuantizedModel {
  /// The initializers of the exported model that weights and ranges determine; they are values of
  /// the training graph.
  std::vector<std::string> determined;
  llvm::StringMap<std::string> weights; ///< how, in words: "8 bits, input 8 bits"
};

/// Quantizes the layers that `quantize` names; none without that block.
mlir::FailureOr<QuantizedModel> quantize(const SpecFile &spec, OnnxModel &model);

/// The entry @merged, whose results are these values.
mlir::LogicalResult importCodes(const OnnxModel &model, States &states,
                                const ImportOptions &options, llvm::ArrayRef<std::string> codes);

} // namespace gradc

#endif
