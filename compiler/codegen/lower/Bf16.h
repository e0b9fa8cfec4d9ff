// bf16 on machines without bf16 arithmetic: computes in f32, and keeps values as bits.
#ifndef COMPILER_CODEGEN_LOWER_BF16_H
#define COMPILER_CODEGEN_LOWER_BF16_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/PatternMatch.h"

namespace gradc::lower {

/// Arithmetic on bf16 becomes arithmetic on f32 between conversions.
void populateWidenBf16Patterns(mlir::RewritePatternSet &patterns);

/// Vectors of 16 floats are rounded to bf16 by one instruction, for machines that have it.
void populateRoundBf16Patterns(mlir::RewritePatternSet &patterns);

/// Retypes every bf16 value as i16, after conversions have become integer arithmetic and no op
/// computes in bf16. Otherwise LLVM would widen and round values that are only selected or moved,
/// through a library call.
void storeBf16AsBits(mlir::ModuleOp module);

} // namespace gradc::lower

#endif
