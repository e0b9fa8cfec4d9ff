// Classifiers for another number of classes.
#ifndef COMPILER_IMPORT_HEADS_H
#define COMPILER_IMPORT_HEADS_H

#include "compiler/import/transfer/InitialValues.h"

namespace gradc {

/// Gives the classifiers that `head` names their number of classes, in the model and in what is
/// exported. `resized` gets their parameters, which are zeros now.
mlir::LogicalResult resizeHeads(const SpecFile &spec, OnnxModel &model, ResizedParameters &resized);

} // namespace gradc

#endif
