// Tensors in files: NumPy's .npy, and ONNX's TensorProto (.pb).
#ifndef TOOLS_GRADC_TENSORFILE_H
#define TOOLS_GRADC_TENSORFILE_H

#include "dialects/grad/HostTensor.h"
#include "runtime/base/Status.h"
#include "runtime/data/source/MappedFile.h"

namespace gradc {

/// A tensor whose elements lie in memory or in a file; copies share them.
struct TensorView {
  mlir::RankedTensorType type;
  llvm::ArrayRef<char> bytes;
  mlir::grad::HostTensor tensor;                   ///< owns the elements
  std::shared_ptr<const runtime::MappedFile> file; ///< or this does

  mlir::RankedTensorType getType() const { return type; }
};
TensorView viewOf(const mlir::grad::HostTensor &tensor);

/// By file name extension: .pb is a TensorProto, anything else .npy. Strings are bytes (u8) with
/// one more dim. Elements of numpy's types V1 and V2, which may be those of several types, are
/// integers of MLIR's signed kind, which no other tensor has: see `isOpaque`.
runtime::Result<mlir::grad::HostTensor> readTensor(mlir::MLIRContext &context,
                                                   const std::string &path);
/// The same, with a .npy mapped: its elements are read where and when they are looked at.
runtime::Result<TensorView> openTensor(mlir::MLIRContext &context, const std::string &path);

/// Whether the elements are bits, of a type that the file does not name.
bool isOpaque(mlir::Type element);
/// "f32 [64, 128]", "V1 [4]".
std::string describeFile(mlir::RankedTensorType type);

/// The header of a .npy file.
std::string npyHeader(mlir::RankedTensorType type, bool isText = false);
/// As .npy; strings as numpy's type S.
runtime::Status writeTensor(const mlir::grad::HostTensor &tensor, bool isText,
                            const std::string &path);

} // namespace gradc

#endif
