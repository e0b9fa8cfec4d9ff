// The parts of a kernel, and comparison of their code.
#include "dialects/exec/Blocks.h"

#include "mlir/IR/OperationSupport.h"

using namespace mlir;
using namespace mlir::exec;

std::pair<int64_t, int64_t> exec::blockTile(KernelOp kernel) {
  ArrayRef<int64_t> tile = kernel.getScheduleAttr().getTile();
  int64_t threads = kernel.getBlocksAttr().getThreads(), threadRows = tile.drop_back().back();
  // A square reads the fewest operands per result.
  int64_t side = int64_t(1) << (llvm::Log2_64(threads * threadRows * tile.back()) / 2);
  int64_t columns = std::min<int64_t>(side, llvm::PowerOf2Ceil(kernel.getRoot().getShape().back()));
  return {threads / (columns / tile.back()) * threadRows, columns};
}

RankedTensorType exec::largestOf(ValueRange tensors) {
  RankedTensorType root;
  for (Value v : tensors) {
    auto t = cast<RankedTensorType>(v.getType());
    if (!root || t.getRank() > root.getRank() ||
        (t.getRank() == root.getRank() && t.getNumElements() > root.getNumElements()))
      root = t;
  }
  return root;
}

RankedTensorType KernelPart::getRoot() const { return largestOf(results); }

int64_t KernelPart::blockCount() const {
  RankedTensorType root = getRoot();
  int64_t units = 1;
  for (auto [size, tile] :
       llvm::zip(root.getShape().take_front(blocks.getRows()), schedule.getTile()))
    units *= llvm::divideCeil(size, tile);
  return llvm::divideCeil(units, blocks.getUnits());
}

BlocksOfRows exec::blocksOfRows(KernelOp kernel) {
  BlocksOfRows result;
  if (!kernel.getRows() || kernel.getParts() || kernel.getBlocksAttr().getRows() == 0 ||
      kernel.getRowsOf(0) == 0)
    return result;
  ArrayRef<int64_t> shape = kernel.getRoot().getShape();
  result.rows = kernel.getRowsOf(0);
  if (!kernel.getScheduleAttr().getBlock().empty()) {
    for (int64_t size : shape.drop_front().drop_back())
      result.rows *= size;
    auto [rows, columns] = blockTile(kernel);
    result.tile = rows;
    result.times = llvm::divideCeil(shape.back(), columns);
    return result;
  }
  exec::BlocksAttr blocks = kernel.getBlocksAttr();
  ArrayRef<int64_t> tile = kernel.getScheduleAttr().getTile();
  result.tile = tile[0];
  for (int64_t d = 1; d < blocks.getRows(); ++d)
    result.times *= llvm::divideCeil(shape[d], tile[d]);
  result.per = blocks.getUnits();
  return result;
}

SmallVector<KernelPart> exec::partsOf(KernelOp kernel) {
  OperandRange results = kernel.getBlock().getTerminator()->getOperands();
  Block::BlockArgListType operands = kernel.getBlock().getArguments();
  if (!kernel.getParts())
    return {{operands, results, kernel.getScheduleAttr(), kernel.getBlocksAttr()}};
  SmallVector<KernelPart> parts;
  for (auto part : kernel.getPartsAttr().getAsRange<PartAttr>()) {
    parts.push_back({operands.take_front(part.getOperands()), results.take_front(part.getResults()),
                     part.getSchedule(), part.getBlocks()});
    operands = operands.drop_front(part.getOperands());
    results = results.drop_front(part.getResults());
  }
  return parts;
}

/// The ops that some values depend on, in topological order.
static SmallVector<Operation *> opsOf(ValueRange values) {
  llvm::SmallPtrSet<Operation *, 16> seen;
  SmallVector<Operation *> work, ops;
  auto add = [&](Value v) {
    if (Operation *op = v.getDefiningOp(); op && seen.insert(op).second)
      work.push_back(op);
  };
  llvm::for_each(values, add);
  while (!work.empty()) {
    Operation *op = work.pop_back_val();
    ops.push_back(op);
    llvm::for_each(op->getOperands(), add);
  }
  llvm::sort(ops, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return ops;
}

bool exec::isSameCode(const KernelPart &a, const KernelPart &b) {
  if (a.schedule != b.schedule || a.blocks != b.blocks || a.operands.size() != b.operands.size() ||
      a.results.size() != b.results.size())
    return false;
  llvm::DenseMap<Value, Value> counterpart; // of a's values
  for (auto [own, other] : llvm::zip(a.operands, b.operands)) {
    if (own.getType() != other.getType())
      return false;
    counterpart[own] = other;
  }
  auto areSame = [&](Value own, Value other) { return success(counterpart.lookup(own) == other); };
  auto note = [&](Value own, Value other) { counterpart[own] = other; };
  SmallVector<Operation *> ops = opsOf(a.results), others = opsOf(b.results);
  if (ops.size() != others.size())
    return false;
  for (auto [op, other] : llvm::zip(ops, others))
    if (!OperationEquivalence::isEquivalentTo(op, other, areSame, note,
                                              OperationEquivalence::IgnoreLocations))
      return false;
  return llvm::all_of(llvm::zip(a.results, b.results), [&](auto results) {
    return succeeded(areSame(std::get<0>(results), std::get<1>(results)));
  });
}

llvm::StringMap<llvm::BitVector> exec::movingSlices(ModuleOp module) {
  llvm::StringMap<llvm::BitVector> all;
  module.walk([&](DispatchOp op) {
    unsigned reads = op.getReads().size(), count = reads + op.getWrites().size();
    for (unsigned i = 0; i < count; ++i) {
      Attribute slice = i < reads ? op.getReads()[i] : op.getWrites()[i - reads];
      if (cast<SliceAttr>(slice).getStrides().empty())
        continue;
      llvm::BitVector &moving = all[op.getKernel()];
      moving.resize(count);
      moving.set(i);
    }
  });
  return all;
}
