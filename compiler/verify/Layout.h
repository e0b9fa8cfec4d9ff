// Reads packed tensors back into row-major order.
#ifndef COMPILER_VERIFY_LAYOUT_H
#define COMPILER_VERIFY_LAYOUT_H

#include "dialects/exec/Exec.h"
#include "dialects/grad/HostTensor.h"

namespace gradc {

/// The row-major tensor in `bytes`, which have `layout` (null: already row-major).
mlir::grad::HostTensor unpack(llvm::ArrayRef<char> bytes, mlir::RankedTensorType type,
                              mlir::exec::PanelAttr layout);

} // namespace gradc

#endif
