// Contractions over operands that are transposed.
#ifndef PASSES_TRANSPOSEDOPERANDS_H
#define PASSES_TRANSPOSEDOPERANDS_H

#include "dialects/grad/Grad.h"

namespace gradc {

/// A target of a gradient has to stay: the objective depends on it, and not on another value that
/// equals it.
bool isGradientTarget(mlir::Value value);

/// Lets contractions read what is behind the transposes of their operands, where they have words
/// for that order: it costs them nothing.
void populateReadTransposed(mlir::RewritePatternSet &patterns);

} // namespace gradc

#endif
