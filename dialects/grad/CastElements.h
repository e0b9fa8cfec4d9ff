// Casts of host tensors, apart from HostTensor.h, which nearly every file includes.
#ifndef DIALECTS_GRAD_CASTELEMENTS_H
#define DIALECTS_GRAD_CASTELEMENTS_H

#include "dialects/grad/HostTensor.h"

namespace mlir::grad {

/// The elements in another type, as CastOp casts them.
HostTensor castElements(const HostTensor &from, Type element);

} // namespace mlir::grad

#endif
