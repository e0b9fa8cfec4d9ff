// Quantized tensors between the operators of a graph.
#ifndef PASSES_RAISE_CODES_H
#define PASSES_RAISE_CODES_H

#include "dialects/grad/Grad.h"

namespace gradc {

/// Adds patterns by which maxima of windows, concatenations and look-ups in tables take codes of 8
/// bits instead of the floats that they represent, and codes are not computed from themselves.
/// Every result keeps its bits.
void populateMoveCodes(mlir::RewritePatternSet &patterns);

} // namespace gradc

#endif
