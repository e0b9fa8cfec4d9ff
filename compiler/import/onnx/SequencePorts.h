// The ports of a graph input that is a sequence.
#ifndef COMPILER_IMPORT_ONNX_SEQUENCEPORTS_H
#define COMPILER_IMPORT_ONNX_SEQUENCEPORTS_H

#include "compiler/import/onnx/model/OnnxModel.h"

namespace gradc {

/// The max number of tensors in a sequence that is an input, where each is a port, or that is split
/// off a tensor.
inline constexpr int64_t maxTensors = 1024;

/// For example "s.0", the name of tensor 0 of sequence s.
std::string elementName(llvm::StringRef sequence, int64_t i);
/// The names of the tensors in all sequences among the model's inputs, as far as the options tell
/// their number.
std::vector<std::string> elementNames(const OnnxModel &model, const ImportOptions &options);

} // namespace gradc

#endif
