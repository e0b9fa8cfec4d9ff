// Tensors in files: NumPy's .npy, and ONNX's TensorProto (.pb).
#ifndef TOOLS_GRADC_TENSORFILE_H
#define TOOLS_GRADC_TENSORFILE_H

#include "dialects/grad/HostTensor.h"
#include "runtime/base/Status.h"

namespace gradc {

/// By file name extension: .pb is a TensorProto, anything else .npy.
runtime::Result<mlir::grad::HostTensor> readTensor(mlir::MLIRContext &context,
                                                   const std::string &path);
/// As .npy.
runtime::Status writeTensor(const mlir::grad::HostTensor &tensor, const std::string &path);

} // namespace gradc

#endif
