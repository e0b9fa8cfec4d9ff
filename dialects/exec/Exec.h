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

/// The runtime's limits: bodies and loops around a node, iterations of nested loops.
constexpr int64_t maxDepth = 16, maxLoops = 8, maxIterations = 0x7fffffff;

/// The nodes of an entry in preorder: their indices are their numbers in the artifact.
SmallVector<Operation *> nodesOf(EntryOp entry);
/// The loops around a node, outermost first.
SmallVector<LoopOp> loopsAround(Operation *node);

/// Memory that a node reads or writes.
struct Access {
  SliceAttr slice;
  PanelAttr layout; ///< of a kernel's operand or result; null: row-major
  bool isWrite = false;

  int64_t getBytes() const { return layoutBytes(slice.getType(), layout); }
  /// [begin, end) of the bytes that the slice covers in all iterations of the loops around its
  /// node.
  std::pair<int64_t, int64_t> getReach(ArrayRef<LoopOp> loops) const;
};

/// Those of a node, reads first; of a dispatch, the kernel's operands and then its results.
SmallVector<Access> accessesOf(Operation *node, SymbolTableCollection &tables);

/// "fc1 + relu1 + 5 more": source nodes, for people; "" without any.
std::string nodesText(ArrayAttr nodes);
/// The same of a node of a schedule.
std::string nodesText(Operation *node);
} // namespace mlir::exec

#endif
