// The ports that a graph input becomes which is a sequence.
#ifndef COMPILER_IMPORT_SEQUENCEPORTS_H
#define COMPILER_IMPORT_SEQUENCEPORTS_H

#include "compiler/import/onnx/OnnxModel.h"

namespace gradc {

/// "s.0", of tensor 0 of the sequence s.
std::string elementName(llvm::StringRef sequence, int64_t i);
/// How many tensors the sequence of that name has, by the options; none: they do not say it.
std::optional<int64_t> sequenceLength(const ImportOptions &options, const std::string &name);
/// The names of the tensors of all sequences among the model's inputs, as far as the options say
/// how many there are.
std::vector<std::string> elementNames(const OnnxModel &model, const ImportOptions &options);

} // namespace gradc

#endif
