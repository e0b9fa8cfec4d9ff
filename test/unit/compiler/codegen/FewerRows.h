// Kernels compiled for a largest batch and run on fewer rows: memory past these rows is neither
// read nor written.
#ifndef TEST_UNIT_COMPILER_CODEGEN_FEWERROWS_H
#define TEST_UNIT_COMPILER_CODEGEN_FEWERROWS_H

#include "dialects/exec/Level.h"

#include <string>
#include <vector>

namespace gradc::test {

/// How the attribute of a kernel's schedule begins.
inline constexpr const char *schedule = "schedule = #exec.schedule<lanes = 8, ";

/// Runs a kernel compiled for `largest` rows on fewer, compares with the evaluated kernel of that
/// size, and checks that memory past the rows still has the value `behind`, or 0 in panels, or what
/// the operand had there that the result overwrites.
void expectRows(const std::string &text, const std::string &attributes, int64_t largest,
                std::vector<int64_t> counts, double tolerance = 2e-5, char behind = char(0xcd),
                const mlir::exec::Level *native = nullptr);

} // namespace gradc::test

#endif
