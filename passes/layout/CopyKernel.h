// Kernels that copy a tensor to another place, layout, order of dims or element type.
#ifndef PASSES_LAYOUT_COPYKERNEL_H
#define PASSES_LAYOUT_COPYKERNEL_H

#include "dialects/exec/Exec.h"

namespace gradc {

struct CopyForm {
  mlir::exec::PanelAttr layout; ///< null: row-major
  mlir::Type element;           ///< null: the tensor's own

  bool operator==(const CopyForm &other) const = default;
};

/// A kernel outside any module that reads a tensor of `type` in layout `from` and writes it in form
/// `to`, whose layout refers to the permuted tensor.
mlir::exec::KernelOp createCopyKernel(mlir::RankedTensorType type, mlir::exec::PanelAttr from,
                                      CopyForm to, llvm::ArrayRef<int64_t> permutation = {});

/// A kernel outside any module that makes a mirror of a tensor stored in layout `from`. It yields
/// the tensor with the panels' dim moved to the end: the bytes are the same, and lanes run along
/// the panels.
mlir::exec::KernelOp createMirrorKernel(mlir::RankedTensorType type, mlir::exec::PanelAttr from,
                                        CopyForm mirror);

/// The element type of the kernel's result, if the kernel only rounds its operand to that type;
/// null for other kernels.
mlir::Type narrowedElement(mlir::exec::KernelOp kernel);

/// A launch of a kernel that copies `value`.
mlir::exec::LaunchOp launchCopy(mlir::OpBuilder &builder, mlir::Location location,
                                mlir::exec::KernelOp kernel, mlir::Value value);

} // namespace gradc

#endif
