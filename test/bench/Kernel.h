// A kernel given as text, scheduled and compiled, measured against this machine's FMA peak.
#ifndef TEST_BENCH_KERNEL_H
#define TEST_BENCH_KERNEL_H

#include "compiler/codegen/Codegen.h"
#include "dialects/exec/Level.h"
#include "llvm/Support/FormatVariadic.h"

#include <cstdio>
#include <string>

namespace gradc::bench {

/// Runs the one kernel of `text` on one thread and prints a JSON object with its rate, the
/// machine's FMA peak measured alternately with it, and their ratio. False if it cannot be
/// compiled.
bool measure(const mlir::exec::Level &level, const std::string &name, const std::string &text);

} // namespace gradc::bench

#endif
