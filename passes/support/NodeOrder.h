// Dependences of a schedule's nodes in value form: each other's results, and buffers that they
// write over.
#ifndef PASSES_NODEORDER_H
#define PASSES_NODEORDER_H

#include "dialects/exec/Exec.h"

namespace gradc {

/// Whether `op` takes a place in the schedule: a launch, an op with regions of such, or a sum over
/// ranks.
bool isNode(mlir::Operation *op);

/// The value whose memory `v` is: views share their operand's.
mlir::Value storageRoot(mlir::Value v);
/// Erases the view that makes `v`, and those below it, as far as nothing else uses them.
void eraseUnusedViews(mlir::Value v);
/// The launch that computes a value to store, perhaps for other ranks to gather; null if there is
/// none.
mlir::exec::LaunchOp writerOf(mlir::Value stored);

/// The buffer that a value is stored to, or null.
mlir::FlatSymbolRefAttr storedBuffer(mlir::Value v);
/// The buffer that a value is loaded from, through views; null where it is computed.
mlir::FlatSymbolRefAttr loadedBuffer(mlir::Value v);
/// Whether a node reads what a buffer held when the entry began.
bool readsBuffer(mlir::Operation *node, mlir::FlatSymbolRefAttr buffer);
/// The nodes of a block that do.
llvm::SmallVector<mlir::Operation *> readersOf(mlir::Block &block, mlir::FlatSymbolRefAttr buffer);

/// The ops of a block that a sum over ranks depends on. Sums among them are waited for while there
/// is still much to do, others at the end.
llvm::DenseSet<mlir::Operation *> opsBeforeSums(mlir::Block &block);

/// The panels that a value is stored in; null: row-major. A collective keeps those of its operand.
mlir::exec::PanelAttr layoutOf(mlir::Value v, const mlir::SymbolTable &symbols);
/// What a node's result takes in memory, in its layout.
int64_t layoutBytes(mlir::OpResult result, const mlir::SymbolTable &symbols);
/// What a node's result takes in the arena: nothing if it has a place of its own, an output's or a
/// buffer's.
int64_t arenaBytes(mlir::OpResult result, const mlir::SymbolTable &symbols);

/// The nodes of a block in its order, each with those that must run before it: who makes its
/// operands, and who reads the old value of a buffer that it writes.
using NodesBefore = llvm::MapVector<mlir::Operation *, llvm::SetVector<mlir::Operation *>>;
NodesBefore nodesBefore(mlir::Block &block);

/// The nodes in an order that fits, near that of the block; nothing where they wait for each other
/// in a circle.
std::optional<std::vector<mlir::Operation *>> orderNodes(const NodesBefore &before);

} // namespace gradc

#endif
