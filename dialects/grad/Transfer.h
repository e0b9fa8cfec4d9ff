// Ops that transfer values from rank to rank. They have no interface of their own: passes that look
// at them ask for either half of a transfer, and there are no others.
#ifndef DIALECTS_GRAD_TRANSFER_H
#define DIALECTS_GRAD_TRANSFER_H

#include "dialects/grad/Grad.h"

#define GET_OP_CLASSES
#include "dialects/grad/GradTransferOps.h.inc"

namespace mlir::grad {

/// The turn of its rank in which a transfer takes place; none: the op is no transfer.
inline std::optional<int64_t> turnOfTransfer(Operation *op) {
  if (auto send = dyn_cast<SendOp>(op))
    return int64_t(send.getTurn());
  if (auto receive = dyn_cast<ReceiveOp>(op))
    return int64_t(receive.getTurn());
  return std::nullopt;
}

inline bool isTransfer(Operation *op) { return isa<SendOp, ReceiveOp>(op); }

} // namespace mlir::grad

#endif
