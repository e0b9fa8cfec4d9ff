// The counters of loops that a condition ends.
#ifndef COMPILER_IMPORT_ONNX_OPS_CONTROL_LOOPCOUNTER_H
#define COMPILER_IMPORT_ONNX_OPS_CONTROL_LOOPCOUNTER_H

#include "dialects/grad/Grad.h"

namespace gradc {

/// The region of a loop. Its block takes what it carries, then what it captures, and yields what
/// the next iteration is given, which runs if `proceed` holds.
struct LoopRegion {
  mlir::Block &block;
  mlir::ValueRange initial, captured, yielded;
  mlir::Value proceed;
};

/// The most iterations of a loop that goes on only while a counter is below (or above) a constant:
/// a carried integer that starts at a constant, and to which each iteration adds another one.
/// Nothing if the condition has no such part.
std::optional<int64_t> mostIterations(const LoopRegion &loop);

} // namespace gradc

#endif
