// Either half of a transfer from rank to rank, as passes ask for it.
#ifndef DIALECTS_GRAD_TRAINING_TRANSFER_H
#define DIALECTS_GRAD_TRAINING_TRANSFER_H

#include "dialects/grad/Grad.h"

namespace mlir::grad {

/// Either half of a transfer.
struct TransferHalf {
  bool sends;
  Value value; ///< that is sent, or received
  int64_t peer, number, turn;
  std::optional<ArrayRef<int64_t>> extents;

  /// Whether a run of n rows has the first n of them, in one piece.
  bool startsWithRows() const {
    if (!extents)
      return false;
    auto sizes = cast<RankedTensorType>(value.getType()).getShape();
    size_t outermost =
        size_t(llvm::find_if(sizes, [](int64_t n) { return n != 1; }) - sizes.begin());
    return outermost < sizes.size() && (*extents)[outermost] > 0;
  }

  /// None: the op is no transfer.
  static std::optional<TransferHalf> of(Operation *op) {
    if (auto send = dyn_cast<SendOp>(op))
      return make(send, /*sends=*/true, send.getValue());
    if (auto receive = dyn_cast<ReceiveOp>(op))
      return make(receive, /*sends=*/false, receive.getResult());
    return std::nullopt;
  }

private:
  template <typename Op> static TransferHalf make(Op op, bool sends, Value value) {
    return {sends,
            value,
            int64_t(op.getPeer()),
            int64_t(op.getNumber()),
            int64_t(op.getTurn()),
            op.getExtents()};
  }
};

inline bool isTransfer(Operation *op) { return isa<SendOp, ReceiveOp>(op); }

} // namespace mlir::grad

#endif
