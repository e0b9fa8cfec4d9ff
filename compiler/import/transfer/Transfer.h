// Applies the parts of a spec that take weights from other models and runs, or change the model:
// classifiers, adapters.
#ifndef COMPILER_IMPORT_TRANSFER_H
#define COMPILER_IMPORT_TRANSFER_H

#include "compiler/import/transfer/Adapters.h"

namespace gradc {

/// Changes the model, whose initializers are tied already, by the blocks `head`, `lora`,
/// `initial_weights` and `reinitialize`. Adapters and, with them, what `trainable` names are all
/// that trains.
mlir::FailureOr<std::vector<Adapter>> applyTransfer(const SpecFile &spec, OnnxModel &model);

} // namespace gradc

#endif
