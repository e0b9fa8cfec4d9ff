// Each turn's receives read one value, made of all values that earlier turns send.
#include "passes/kernel/TurnEdges.h"

#include "dialects/grad/training/Transfer.h"

#include <map>

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

TurnEdges::TurnEdges(Block &block) : block(block) {
  if (block.getOps<ReceiveOp>().empty())
    return;
  llvm::DenseMap<Operation *, int64_t> latest; // turn of what an op depends on
  std::vector<Operation *> ops;
  for (Operation &op : block.without_terminator()) {
    int64_t turn = 0;
    for (Value v : op.getOperands())
      if (Operation *producer = v.getDefiningOp())
        turn = std::max(turn, latest.lookup(producer));
    if (auto transfer = TransferHalf::of(&op)) {
      isConsistent &= turn <= transfer->turn;
      if (!transfer->sends)
        turn = std::max(turn, transfer->turn);
    }
    latest[&op] = turn;
    ops.push_back(&op);
  }
  llvm::stable_sort(
      ops, [&](Operation *a, Operation *b) { return latest.lookup(a) < latest.lookup(b); });
  for (Operation *op : ops)
    op->moveBefore(block.getTerminator());
}

void TurnEdges::add() {
  if (!isConsistent)
    return;
  std::map<int64_t, SmallVector<Value>> sent;
  std::map<int64_t, SmallVector<ReceiveOp>> received;
  for (Operation &op : block) {
    auto transfer = TransferHalf::of(&op);
    if (transfer && transfer->sends)
      sent[transfer->turn].push_back(transfer->value);
    else if (transfer)
      received[transfer->turn].push_back(cast<ReceiveOp>(&op));
  }
  auto next = sent.begin();
  Value before;
  for (auto &[turn, receives] : received) {
    llvm::SetVector<Value> after;
    if (before)
      after.insert(before);
    for (; next != sent.end() && next->first < turn; ++next)
      after.insert(next->second.begin(), next->second.end());
    if (after.empty())
      continue;
    OpBuilder b(receives.front());
    Type number = RankedTensorType::get({}, b.getF32Type());
    auto edge = ReceiveOp::create(b, receives.front().getLoc(), number, after.getArrayRef(), turn,
                                  turn, turn, DenseI64ArrayAttr());
    turns.push_back(edge);
    before = edge.getResult();
    for (ReceiveOp receive : receives) {
      receive->insertOperands(receive->getNumOperands(), before);
      readers.push_back(receive);
    }
  }
}

TurnEdges::~TurnEdges() {
  for (ReceiveOp receive : readers)
    receive->eraseOperand(receive->getNumOperands() - 1);
  for (ReceiveOp edge : llvm::reverse(turns))
    edge.erase();
}
