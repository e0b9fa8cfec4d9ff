// Initial values of initializers, which replace those in the model's file.
#ifndef COMPILER_IMPORT_TRANSFER_INITIALVALUES_H
#define COMPILER_IMPORT_TRANSFER_INITIALVALUES_H

#include "compiler/import/onnx/model/OnnxModel.h"
#include "compiler/import/spec/TrainingSpec.h"

namespace gradc {

/// Keyed by initializer; each value has the initializer's type.
using InitialValues = std::map<std::string, mlir::grad::HostTensor>;

/// The shapes that initializers had before their graph was changed, keyed by name.
using ResizedParameters = std::map<std::string, std::vector<int64_t>>;

/// Reads the values of `initial_weights`. Resized parameters may be missing from the file, or have
/// their old shape there; `optional` initializers may be missing as well.
mlir::LogicalResult readInitialWeights(const SpecFile &spec, const OnnxModel &model,
                                       const ResizedParameters &resized,
                                       llvm::function_ref<bool(llvm::StringRef)> isOptional,
                                       InitialValues &values);

/// Draws the values of `reinitialize`.
mlir::LogicalResult drawReinitialized(const SpecFile &spec, const OnnxModel &model,
                                      InitialValues &values);

/// Draws values as for a new PyTorch layer; zeros for a parameter of no layer.
mlir::FailureOr<mlir::grad::HostTensor> drawFresh(const SpecFile &spec, const OnnxModel &model,
                                                  llvm::StringRef initializer);

/// Draws values of `initializer` uniformly from [-bound, bound).
mlir::grad::HostTensor drawUniform(const SpecFile &spec, llvm::StringRef initializer,
                                   mlir::RankedTensorType type, double bound);

} // namespace gradc

#endif
