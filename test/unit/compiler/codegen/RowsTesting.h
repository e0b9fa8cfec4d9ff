// Kernels of a largest batch on fewer rows: texts of several sizes, and tensors within others.
#ifndef TEST_UNIT_COMPILER_CODEGEN_ROWSTESTING_H
#define TEST_UNIT_COMPILER_CODEGEN_ROWSTESTING_H

#include "dialects/grad/Grad.h"

#include <string>

namespace gradc::test {

using mlir::grad::HostTensor;

/// "@3@" becomes 3 * rows, "@rows@" the attributes of a kernel that takes its rows.
std::string sized(std::string text, int64_t rows, const std::string &attributes);

/// Calls with the position of every element of `few` there and in `many`, whose dims are as large
/// or larger.
void forEachShared(const HostTensor &few, const HostTensor &many,
                   llvm::function_ref<void(int64_t, int64_t)> body);

/// The rows of `few` in a tensor of type `type`, with `filler` in every byte behind them.
HostTensor spread(const HostTensor &few, mlir::RankedTensorType type, char filler);

} // namespace gradc::test

#endif
