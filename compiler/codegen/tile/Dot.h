// Products of bf16 pairs that add up in f32: vdpbf16ps.
#ifndef COMPILER_CODEGEN_TILE_DOT_H
#define COMPILER_CODEGEN_TILE_DOT_H

#include "mlir/IR/PatternMatch.h"

namespace gradc::tile {

/// Expands the instruction into arithmetic, for machines without it.
void populateExpandDotPatterns(mlir::RewritePatternSet &patterns);

} // namespace gradc::tile

#endif
