// All updates are read once for each group of units.
#include "compiler/codegen/cpu/ScatterSums.h"

#include "compiler/codegen/cpu/PanelCopies.h"
#include "dialects/grad/Index.h"
#include "passes/layout/ScatterSums.h"

using namespace mlir;
using namespace gradc::cpu;
using namespace gradc::tile;

LogicalResult gradc::cpu::emitScatter(exec::KernelOp kernel, LoopNest &nest, TileEmitter &tiles,
                                      SpaceEmitter &start, SpaceEmitter &root, Value begin,
                                      Value end, Value scratch) {
  exec::ScheduleAttr schedule = kernel.getScheduleAttr();
  RankedTensorType type = gradc::scatterSums(kernel);
  int64_t dim = schedule.getOrder().front(), rows = schedule.getTile()[dim];
  int64_t size = kernel.getRoot().getDimSize(dim);
  linalg::GenericOp op;
  for (auto loops : kernel.getBlock().getOps<linalg::GenericOp>())
    if (loops->hasAttr(grad::indexedLoops))
      op = loops;
  bool varies = kernel.getRows() && llvm::any_of(*kernel.getRows(), [](int64_t n) { return n; });
  if (!op || !type || varies || !isReadAtItsIndex(op.getResult(0)))
    return kernel.emitOpError(
        "expected a scatter of fixed size and elementwise ops on it, to add up updates");
  OpBuilder &b = nest.builder;
  bool emitted = true;
  forGroups(nest, begin, end, schedule.getScatterUnits(), [&](Value from, Value to) {
    Value first = arith::MulIOp::create(b, nest.location, from, nest.constant(rows));
    Value last = arith::MulIOp::create(b, nest.location, to, nest.constant(rows));
    last = arith::MinSIOp::create(b, nest.location, last, nest.constant(size));
    SmallVector<LinearExpr> origin(type.getRank());
    origin[dim] = nest.variable(first);
    Memory sums(scratch, type, /*panel=*/{}, origin);
    emitted = emitted && start.add(op.getDpsInits()[0], sums);
    start.emitUnits(from, to);
    emitted = emitted && tiles.addUpdates(op, unsigned(dim), sums, first, last);
    tiles.bind(op.getResult(0), sums);
    root.emitUnits(from, to);
  });
  return emitted ? success() : kernel.emitOpError("expected one index per row of a scatter");
}
