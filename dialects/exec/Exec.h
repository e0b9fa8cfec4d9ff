// The exec dialect's C++ face.
#ifndef DIALECTS_EXEC_EXEC_H
#define DIALECTS_EXEC_EXEC_H

#include "dialects/Pch.h"

#include "dialects/exec/ExecDialect.h.inc"
#include "dialects/exec/ExecEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/exec/ExecAttrs.h.inc"
#define GET_OP_CLASSES
#include "dialects/exec/ExecOps.h.inc"

namespace mlir::exec {
/// Bytes that a tensor takes in a layout (null: row-major), padding included.
int64_t layoutBytes(RankedTensorType type, PanelAttr layout);

/// A kernel outside any module, with arguments of these types and nothing in it.
KernelOp createKernel(MLIRContext *context, StringRef name, TypeRange arguments);

/// The launches of each kernel, by its name.
using KernelLaunches = DenseMap<StringAttr, SmallVector<LaunchOp>>;
KernelLaunches launchesByKernel(ModuleOp module);

/// Units of one launch of a scheduled kernel: tiles along its outermost loop; on a GPU, blocks.
int64_t kernelUnits(KernelOp kernel);

/// "fc1 + relu1 + 5 more": the source nodes of a launch, for people.
std::string nodesText(ArrayAttr nodes);
} // namespace mlir::exec

#endif
