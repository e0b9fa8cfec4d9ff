// Constants that repeat along some of their dims, as those folded for a whole batch.
#ifndef COMPILER_IMPORT_SUPPORT_REPEATEDDIMS_H
#define COMPILER_IMPORT_SUPPORT_REPEATEDDIMS_H

#include "dialects/grad/HostTensor.h"

namespace gradc {

/// The value without the dims of several elements along which all its slices are equal; removes
/// these from `dims`, the numbers of all its dims.
mlir::ElementsAttr dropRepeatedDims(mlir::ElementsAttr value, llvm::SmallVectorImpl<int64_t> &dims);

} // namespace gradc

#endif
