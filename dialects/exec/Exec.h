// The exec dialect's C++ interface.
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
/// On a collective, a sum: of shards, over the ranks of one replica of the model alone.
inline constexpr llvm::StringLiteral ofShardsName = "exec.of_shards";

/// Bytes that a tensor occupies in a layout (null: row-major), including padding.
int64_t layoutBytes(RankedTensorType type, PanelAttr layout);
/// The numbers of a transformed patch, or filter, of Winograd's F(outputs x outputs, 3x3).
constexpr int64_t winogradSlots(int64_t outputs) { return (outputs + 2) * (outputs + 2); }

/// An empty kernel outside any module, with arguments of these types.
KernelOp createKernel(MLIRContext *context, StringRef name, TypeRange arguments);

/// The launches of each kernel, by its name.
using KernelLaunches = DenseMap<StringAttr, SmallVector<LaunchOp>>;
KernelLaunches launchesByKernel(ModuleOp module);
/// Erases kernels without a launch.
void eraseUnusedKernels(ModuleOp module);

/// The tiles of a scheduled kernel along one dim of its root.
int64_t tilesAlong(KernelOp kernel, int64_t dim);
/// Units of one launch of a scheduled kernel: iterations of its outermost tile loop, or thread
/// blocks on a GPU.
int64_t kernelUnits(KernelOp kernel);
/// The dim of a CPU's tile along which vectors run: the last one with an extent of whole vectors.
/// Dims of few elements may follow.
int64_t laneDim(llvm::ArrayRef<int64_t> tile, int64_t lanes);

/// The runtime's limits: nested bodies and nested loops around a node, and iterations: of a loop,
/// and of all nested loops together that no condition ends.
constexpr int64_t maxDepth = 16, maxLoops = 8, maxIterations = 0x7fffffff;

/// The nodes of an entry in preorder: their indices are their numbers in the artifact.
SmallVector<Operation *> nodesOf(EntryOp entry);
/// The loops around a node, outermost first.
SmallVector<LoopOp> loopsAround(Operation *node);
/// About how often a run of its entry runs a node.
double runsOf(Operation *node);

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

/// All accesses of a node, reads first. For a dispatch: the kernel's operands, then its results.
SmallVector<Access> accessesOf(Operation *node, SymbolTableCollection &tables);

/// Source nodes in readable form, "fc1 + relu1 + 5 more"; "" if there are none.
std::string nodesText(ArrayAttr nodes);
/// The source nodes of a schedule's node in the same form.
std::string nodesText(Operation *node);
} // namespace mlir::exec

#endif
