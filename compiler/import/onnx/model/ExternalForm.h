// A model followed by its weights, from which an export with a file of weights is cut.
#ifndef COMPILER_IMPORT_ONNX_MODEL_EXTERNALFORM_H
#define COMPILER_IMPORT_ONNX_MODEL_EXTERNALFORM_H

#include "compiler/import/onnx/model/ImportTypes.h"
#include "dialects/Pch.h"

namespace gradc {

struct ExternalForm {
  std::string bytes;                    ///< a serialized model, then the bytes of its large tensors
  uint64_t graphBytes = 0;              ///< of the serialized model
  std::vector<uint64_t> locations = {}; ///< in it: where the file's name is written
  std::vector<InitializerRange> ranges = {};

  /// A placeholder for the file's name.
  static std::string placeholder();
};

/// Splits a serialized model whose tensors may be stored in files next to `path`.
mlir::FailureOr<ExternalForm> externalForm(mlir::MLIRContext &context, const std::string &model,
                                           llvm::StringRef path, mlir::Location where);

} // namespace gradc

#endif
