// Dependences between a schedule's nodes in value form: through results, and through buffers that
// nodes overwrite.
#ifndef PASSES_ENTRY_NODEORDER_H
#define PASSES_ENTRY_NODEORDER_H

#include "dialects/exec/Exec.h"

namespace gradc {

/// Whether `op` is a node of the schedule: a launch, an op with regions of nodes, or a collective.
bool isNode(mlir::Operation *op);

/// The value that owns the memory of `v`: views share their operand's memory.
mlir::Value storageRoot(mlir::Value v);
/// Erases the view that defines `v`, and the views it is based on, if they have no other uses.
void eraseUnusedViews(mlir::Value v);
/// The launch that computes a stored value, possibly through a gather; null if there is none.
mlir::exec::LaunchOp writerOf(mlir::Value stored);

/// The buffer that a value is stored to, or null.
mlir::FlatSymbolRefAttr storedBuffer(mlir::Value v);
/// The buffer that a value is loaded from, through views; null if the value is computed.
mlir::FlatSymbolRefAttr loadedBuffer(mlir::Value v);
/// Calls `note` with every buffer that a node reads, by its operands or within its regions.
void forEachReadBuffer(mlir::Operation *node,
                       llvm::function_ref<void(mlir::FlatSymbolRefAttr)> note);
/// Whether a node reads a buffer's value from the start of the entry.
bool readsBuffer(mlir::Operation *node, mlir::FlatSymbolRefAttr buffer);

/// The ops of a block that a sum over ranks depends on. Sums among these ops are waited for in the
/// middle of the block, other sums at its end.
llvm::DenseSet<mlir::Operation *> opsBeforeSums(mlir::Block &block);

/// The panels that a value is stored in; null: row-major. A collective keeps those of its operand.
mlir::exec::PanelAttr layoutOf(mlir::Value v, const mlir::SymbolTable &symbols);
/// The bytes of a node's result in its layout.
int64_t layoutBytes(mlir::OpResult result, const mlir::SymbolTable &symbols);
/// Bytes of a node's result in the arena: 0 if it is stored in an output or in a buffer.
int64_t arenaBytes(mlir::OpResult result, const mlir::SymbolTable &symbols);

/// The nodes of a block in order, each with the nodes that must run before it: producers of its
/// operands, and readers of the old value of a buffer that it writes.
using NodesBefore = llvm::MapVector<mlir::Operation *, llvm::SetVector<mlir::Operation *>>;
NodesBefore nodesBefore(mlir::Block &block);

/// In the block of a pipeline's stage: the turn of each node. Nodes that depend on received values
/// run in the last turn of these, other nodes before the first turn that sends their results.
/// Empty in other blocks.
llvm::DenseMap<mlir::Operation *, int64_t> turnsOf(const NodesBefore &before);

/// The nodes in a topological order close to the block's order; none if dependences are cyclic.
std::optional<std::vector<mlir::Operation *>> orderNodes(const NodesBefore &before);

} // namespace gradc

#endif
