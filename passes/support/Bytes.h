// The size of a value in memory, row-major.
#ifndef PASSES_SUPPORT_BYTES_H
#define PASSES_SUPPORT_BYTES_H

#include "dialects/grad/HostTensor.h"

namespace gradc {

inline int64_t bytesOf(mlir::Value value) {
  auto type = mlir::cast<mlir::RankedTensorType>(value.getType());
  return type.getNumElements() * mlir::grad::elementBytes(type.getElementType());
}

} // namespace gradc

#endif
