// Zeros come first, then all tiles of the walk for each block.
#include "compiler/codegen/cpu/loops/BlockWalk.h"

#include "passes/layout/FactorPanels.h"

using namespace mlir;
using namespace gradc::cpu;
using namespace gradc::tile;

namespace {

class BlockWalk {
public:
  BlockWalk(exec::KernelOp kernel, LoopNest &nest, TileEmitter &tiles, ArrayRef<int64_t> rows,
            const Memory &memory, const PanelCopies &copies)
      : kernel(kernel), nest(nest), tiles(tiles), rows(rows), memory(memory), copies(copies),
        schedule(kernel.getScheduleAttr()), result(kernel.getYielded().front()),
        op(result.getDefiningOp<linalg::GenericOp>()) {}

  LogicalResult emit(Value begin, Value end) {
    if (op)
      dims = reducedDims(op);
    size_t count = schedule.getBlock().size();
    if (!op || kernel.getYielded().size() != 1 || dims.size() < count)
      return kernel.emitOpError("expected one contraction of ")
             << count << " or more reduced dims to walk in blocks";
    FailureOr<bool> wanted = copies.areWanted();
    if (failed(wanted))
      return failure();
    areCopied = *wanted;
    int64_t together = areCopied ? copies.unitsTogether() : 0;
    if (!together)
      together = gradc::unitsPerWalk(kernel, nest.level);
    if (together)
      forGroups(nest, begin, end, together, [&](Value from, Value to) { walk(from, to); });
    else
      walk(begin, end);
    return success();
  }

private:
  /// The units [from, to).
  void walk(Value from, Value to) {
    first = from;
    last = to;
    if (SpaceEmitter zeros = emptySpace(); zeros.add(op.getDpsInits()[0], memory))
      zeros.emitUnits(from, to);
    loopBlocks();
  }

  SpaceEmitter emptySpace() {
    return SpaceEmitter(nest, tiles, kernel.getRoot(), rows, schedule.getTile(),
                        schedule.getOrder());
  }

  /// Loops over the blocks of the summed dims from number `at.size()` on.
  void loopBlocks() {
    size_t depth = at.size();
    if (depth == schedule.getBlock().size())
      return sumBlock();
    OpBuilder &b = nest.builder;
    int64_t size = op.getStaticLoopRanges()[dims[depth]], step = schedule.getBlock()[depth];
    int64_t each = tiles.perRow(op, dims[depth]);
    Value end = nest.extent(size, each), steps = nest.constant(llvm::divideCeil(size, step));
    if (each)
      steps = arith::CeilDivSIOp::create(b, nest.location, end, nest.constant(step));
    nest.again(steps, [&](LinearExpr i) {
      LinearExpr from = i * step, to = from + LinearExpr(step);
      if (size % step != 0 || (each && step > 1))
        to = nest.variable(arith::MinSIOp::create(b, nest.location, nest.index(to), end));
      at.push_back({from, to});
      loopBlocks();
      at.pop_back();
    });
  }

  int64_t stepsOfBlock() {
    SmallVector<int64_t> sizes = op.getStaticLoopRanges();
    int64_t steps = llvm::product_of(schedule.getBlock());
    for (unsigned dim : ArrayRef(dims).drop_front(schedule.getBlock().size()))
      steps *= sizes[dim];
    return steps;
  }

  void sumBlock() {
    tiles.accumulate(op, memory, at, stepsOfBlock());
    SpaceEmitter sums = emptySpace();
    if (!sums.add(result, memory))
      return;
    if (areCopied)
      copies.emitUnits(sums, first, last, at[0]);
    else
      sums.emitUnits(first, last);
  }

  exec::KernelOp kernel;
  LoopNest &nest;
  TileEmitter &tiles;
  ArrayRef<int64_t> rows;
  const Memory &memory;
  PanelCopies copies;
  bool areCopied = false;
  exec::ScheduleAttr schedule;
  Value result;
  linalg::GenericOp op;
  SmallVector<unsigned> dims;                        ///< reduced
  Value first, last;                                 ///< the units that are walked together
  SmallVector<std::pair<LinearExpr, LinearExpr>> at; ///< the current block
};

} // namespace

LogicalResult gradc::cpu::emitBlockWalk(exec::KernelOp kernel, LoopNest &nest, TileEmitter &tiles,
                                        ArrayRef<int64_t> rows, const PanelCopies &copies,
                                        const Memory &result, Value begin, Value end) {
  return BlockWalk(kernel, nest, tiles, rows, result, copies).emit(begin, end);
}
