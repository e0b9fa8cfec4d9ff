// A model with its weights behind it, as exports with a file of weights are cut out of it.
#ifndef COMPILER_IMPORT_EXTERNALFORM_H
#define COMPILER_IMPORT_EXTERNALFORM_H

#include "compiler/import/onnx/ImportTypes.h"
#include "dialects/Pch.h"

namespace gradc {

struct ExternalForm {
  std::string bytes;                    ///< a serialized model, then the bytes of its large tensors
  uint64_t graphBytes = 0;              ///< of the serialized model
  std::vector<uint64_t> locations = {}; ///< in it: where the file's name is written
  std::vector<InitializerRange> ranges = {};

  /// Stands for the file's name.
  static std::string placeholder();
};

/// Of a serialized model whose tensors may be in files beside `path`.
mlir::FailureOr<ExternalForm> externalForm(mlir::MLIRContext &context, const std::string &model,
                                           llvm::StringRef path, mlir::Location where);

} // namespace gradc

#endif
