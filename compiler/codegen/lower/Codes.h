// Codes of 8 bits that are computed from floats, and floats from them.
#ifndef COMPILER_CODEGEN_LOWER_CODES_H
#define COMPILER_CODEGEN_LOWER_CODES_H

#include "mlir/IR/PatternMatch.h"

namespace gradc::lower {

/// Floats of unsigned integers to which integral floats were converted are these floats: there is
/// no way through integers.
void populateCodePatterns(mlir::RewritePatternSet &patterns);

} // namespace gradc::lower

#endif
