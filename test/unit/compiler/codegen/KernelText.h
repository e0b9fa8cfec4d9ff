// Parts of kernels given as text.
#ifndef TEST_UNIT_COMPILER_CODEGEN_KERNELTEXT_H
#define TEST_UNIT_COMPILER_CODEGEN_KERNELTEXT_H

#include <cstdint>
#include <string>
#include <vector>

namespace gradc::test {

std::string tensor(const std::vector<int64_t> &shape, const std::string &element = "f32");

/// A schedule attribute: lanes, tile and order as in IR.
std::string schedule(int lanes, const std::string &tile, const std::string &order);

} // namespace gradc::test

#endif
