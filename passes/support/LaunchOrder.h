// Dependences of launches in value form: each other's results, and buffers that they write over.
#ifndef PASSES_LAUNCHORDER_H
#define PASSES_LAUNCHORDER_H

#include "dialects/exec/Exec.h"

namespace gradc {

/// The value whose memory `v` is: views share their operand's.
mlir::Value storageRoot(mlir::Value v);

/// The buffer that a value is stored to, or null.
mlir::FlatSymbolRefAttr storedBuffer(mlir::Value v);
/// The buffer that a value is loaded from, through views; null where it is computed.
mlir::FlatSymbolRefAttr loadedBuffer(mlir::Value v);

/// The launches of a block in its order, each with those that must run before it: who makes its
/// operands, and who reads the old value of a buffer that it writes.
using LaunchesBefore = llvm::MapVector<mlir::exec::LaunchOp, llvm::SetVector<mlir::exec::LaunchOp>>;
LaunchesBefore launchesBefore(mlir::Block &block);

/// The launches in an order that fits, near that of the block; nothing where they wait for each
/// other in a circle.
std::optional<std::vector<mlir::exec::LaunchOp>> orderLaunches(const LaunchesBefore &before);

} // namespace gradc

#endif
