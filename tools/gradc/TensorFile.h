// Tensors in files: NumPy's .npy, and ONNX's TensorProto (.pb).
#ifndef TOOLS_GRADC_TENSORFILE_H
#define TOOLS_GRADC_TENSORFILE_H

#include "dialects/grad/HostTensor.h"
#include "runtime/base/Status.h"
#include "runtime/data/source/MappedFile.h"

namespace gradc {

/// A tensor whose elements are in memory or in a file; copies share them.
struct TensorView {
  mlir::RankedTensorType type;
  llvm::ArrayRef<char> bytes;
  mlir::grad::HostTensor tensor;                   ///< owns the elements
  std::shared_ptr<const runtime::MappedFile> file; ///< or this does

  mlir::RankedTensorType getType() const { return type; }
};
TensorView viewOf(const mlir::grad::HostTensor &tensor);

/// The extension determines the format: .pb is a TensorProto, anything else .npy. Strings are bytes
/// (u8) with one more dim. Elements of numpy's types V1 and V2, which may stand for several types,
/// are integers of MLIR's signed kind, which no other tensor has: see `isOpaque`.
runtime::Result<mlir::grad::HostTensor> readTensor(mlir::MLIRContext &context,
                                                   const std::string &path);
/// The same, but a .npy is mapped: its elements are read only when they are used.
runtime::Result<TensorView> openTensor(mlir::MLIRContext &context, const std::string &path);

/// Whether the elements are bits whose type the file does not name.
bool isOpaque(mlir::Type element);
/// For example "f32 [64, 128]" or "V1 [4]".
std::string describeFile(mlir::RankedTensorType type);

/// The header of a .npy file.
std::string npyHeader(mlir::RankedTensorType type, bool isText = false);
/// Writes a .npy; strings get numpy's type S.
runtime::Status writeTensor(const mlir::grad::HostTensor &tensor, bool isText,
                            const std::string &path);

} // namespace gradc

#endif
