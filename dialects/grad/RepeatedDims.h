// Constants that repeat along some of their dims.
#ifndef DIALECTS_GRAD_REPEATEDDIMS_H
#define DIALECTS_GRAD_REPEATEDDIMS_H

#include "dialects/grad/HostTensor.h"

namespace mlir::grad {

/// For each dim, whether it has several elements and all slices along it are equal.
llvm::SmallVector<bool> repeatedDims(ElementsAttr value);

/// The value without these dims.
HostTensor withoutDims(ElementsAttr value, llvm::ArrayRef<bool> dropped);

} // namespace mlir::grad

#endif
