// Kernels of a largest batch on fewer rows: texts for several sizes, and tensors inside larger
// ones.
#ifndef TEST_UNIT_COMPILER_CODEGEN_ROWSTESTING_H
#define TEST_UNIT_COMPILER_CODEGEN_ROWSTESTING_H

#include "dialects/grad/Grad.h"

#include <string>

namespace gradc::test {

using mlir::grad::HostTensor;

/// Replaces "@3@" by 3 * rows, and "@rows@" by the attributes of a kernel that takes rows.
std::string sized(std::string text, int64_t rows, const std::string &attributes);

/// Calls a function with the position of each element of `few` in both tensors. The dims of `many`
/// are at least as large.
void forEachShared(const HostTensor &few, const HostTensor &many,
                   llvm::function_ref<void(int64_t, int64_t)> body);

/// The rows of `few` in a tensor of type `type`, followed by `filler` in every byte.
HostTensor spread(const HostTensor &few, mlir::RankedTensorType type, char filler);

} // namespace gradc::test

#endif
