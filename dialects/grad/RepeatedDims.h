// Constants that repeat along some of their dims, as those folded for a whole batch.
#ifndef DIALECTS_GRAD_REPEATEDDIMS_H
#define DIALECTS_GRAD_REPEATEDDIMS_H

#include "dialects/grad/HostTensor.h"

namespace mlir::grad {

/// For each dim, whether it has several elements and all slices along it are equal.
SmallVector<bool> repeatedDims(const HostTensor &tensor);

/// The elements at 0 along all dims but `kept`, which ascend.
ElementsAttr keepDims(const HostTensor &tensor, ArrayRef<int64_t> kept);

/// The value without the dims of several elements along which all its slices are equal; removes
/// these from `dims`, the numbers of all its dims.
ElementsAttr dropRepeatedDims(ElementsAttr value, SmallVectorImpl<int64_t> &dims);

} // namespace mlir::grad

#endif
