#include "compiler/codegen/cpu/VectorMath.h"
void gradc::cpu::populateVectorMathPatterns(mlir::RewritePatternSet &) {}
