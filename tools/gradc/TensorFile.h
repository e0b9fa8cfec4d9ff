// Tensors in NumPy's .npy files.
#ifndef TOOLS_GRADC_TENSORFILE_H
#define TOOLS_GRADC_TENSORFILE_H

#include "dialects/grad/HostTensor.h"
#include "runtime/core/Status.h"

namespace gradc {

Result<mlir::grad::HostTensor> readTensor(mlir::MLIRContext &context, const std::string &path);
Status writeTensor(const mlir::grad::HostTensor &tensor, const std::string &path);

} // namespace gradc

#endif
