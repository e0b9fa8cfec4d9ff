// Applies the parts of a spec that take weights from other models and runs, or that change the
// model: ties, classifiers, adapters.
#ifndef COMPILER_IMPORT_TRANSFER_TRANSFER_H
#define COMPILER_IMPORT_TRANSFER_TRANSFER_H

#include "compiler/import/transfer/Adapters.h"

namespace gradc {

/// Ties the initializers that the blocks `tie` name.
mlir::LogicalResult applyTies(const SpecFile &spec, OnnxModel &model);

/// Changes the model by the blocks `head`, `lora`, `initial_weights`, and `reinitialize`. Its
/// initializers must already be tied. If there are adapters, only they and the parameters that
/// `trainable` names train.
mlir::FailureOr<std::vector<Adapter>> applyTransfer(const SpecFile &spec, OnnxModel &model);

} // namespace gradc

#endif
