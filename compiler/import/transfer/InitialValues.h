// Values that initializers begin with, in place of those in the model's file.
#ifndef COMPILER_IMPORT_INITIALVALUES_H
#define COMPILER_IMPORT_INITIALVALUES_H

#include "compiler/import/onnx/OnnxModel.h"
#include "compiler/import/spec/TrainingSpec.h"

namespace gradc {

/// By initializer, of its type.
using InitialValues = std::map<std::string, mlir::grad::HostTensor>;

/// The shapes that initializers had before their graph was changed, by name.
using ResizedParameters = std::map<std::string, std::vector<int64_t>>;

/// The values of `initial_weights`. Resized parameters may be absent from the file or have their
/// old shape there; `optional` are other initializers that may be absent.
mlir::LogicalResult readInitialWeights(const SpecFile &spec, const OnnxModel &model,
                                       const ResizedParameters &resized,
                                       llvm::function_ref<bool(llvm::StringRef)> isOptional,
                                       InitialValues &values);

/// The values of `reinitialize`.
mlir::LogicalResult drawReinitialized(const SpecFile &spec, const OnnxModel &model,
                                      InitialValues &values);

/// The values of a new layer of PyTorch; zeros for a parameter of none.
mlir::FailureOr<mlir::grad::HostTensor> drawFresh(const SpecFile &spec, const OnnxModel &model,
                                                  llvm::StringRef initializer);

/// Uniform in [-bound, bound): `tensor` is the initializer of that name.
mlir::grad::HostTensor drawUniform(const SpecFile &spec, llvm::StringRef initializer,
                                   mlir::RankedTensorType type, double bound);

} // namespace gradc

#endif
