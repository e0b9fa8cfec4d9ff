// Contractions over transposed operands.
#ifndef PASSES_GRAPH_TRANSPOSEDOPERANDS_H
#define PASSES_GRAPH_TRANSPOSEDOPERANDS_H

#include "dialects/grad/Grad.h"

namespace gradc {

/// Adds patterns by which contractions read the operands of transposes directly if their letters
/// can express that order, at no cost.
void populateReadTransposed(mlir::RewritePatternSet &patterns);

} // namespace gradc

#endif
