// Quantization-aware training: the graph that trains rounds values to 8 bits, and the exported one
// holds the codes.
#ifndef COMPILER_IMPORT_TRANSFER_FAKEQUANTIZATION_H
#define COMPILER_IMPORT_TRANSFER_FAKEQUANTIZATION_H

#include "compiler/import/onnx/ImportGraph.h"
#include "compiler/import/spec/TrainingSpec.h"

namespace gradc {

/// Quantizes the layers that `quantize` names. Returns the initializers of the exported model that
/// its weights and ranges determine; they are values of the training graph.
mlir::FailureOr<std::vector<std::string>> quantize(const SpecFile &spec, OnnxModel &model);

/// The entry @merged, whose results are these values.
mlir::LogicalResult importCodes(const OnnxModel &model, States &states,
                                const ImportOptions &options, llvm::ArrayRef<std::string> codes);

} // namespace gradc

#endif
