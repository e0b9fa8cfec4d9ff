// The planned form of exchanges among ranks that have one model together.
#ifndef DIALECTS_EXEC_TRANSFER_H
#define DIALECTS_EXEC_TRANSFER_H

#include "dialects/exec/Exec.h"

#define GET_OP_CLASSES
#include "dialects/exec/ExecTransferOps.h.inc"

namespace mlir::exec {

/// On a collective, a sum: of shards, over the ranks of one replica of the model alone.
inline constexpr llvm::StringLiteral ofShardsName = "exec.of_shards";

} // namespace mlir::exec

#endif
