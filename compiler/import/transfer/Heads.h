// Gives classifiers another number of classes.
#ifndef COMPILER_IMPORT_TRANSFER_HEADS_H
#define COMPILER_IMPORT_TRANSFER_HEADS_H

#include "compiler/import/transfer/InitialValues.h"

namespace gradc {

/// Changes the number of classes of the classifiers that `head` names, in the model and in its
/// export. `resized` receives their parameters, which are set to zero.
mlir::LogicalResult resizeHeads(const SpecFile &spec, OnnxModel &model, ResizedParameters &resized);

} // namespace gradc

#endif
