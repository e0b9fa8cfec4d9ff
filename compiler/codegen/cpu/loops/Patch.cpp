// Walks the new rows, and stores each at its index.
#include "compiler/codegen/cpu/loops/Patch.h"

#include "compiler/codegen/cpu/loops/SpaceEmitter.h"

using namespace mlir;
using namespace gradc::cpu;
using namespace gradc::tile;

/// The row of a table of `count` rows that an index selects, as an i64.
static Value rowOf(LoopNest &nest, Value index, int64_t count) {
  OpBuilder &b = nest.builder;
  if (!index.getType().isInteger(64))
    index = arith::ExtSIOp::create(b, nest.location, b.getI64Type(), index);
  Value isNegative =
      arith::CmpIOp::create(b, nest.location, arith::CmpIPredicate::slt, index, nest.constant(0));
  Value fromEnd = arith::AddIOp::create(b, nest.location, index, nest.constant(count));
  return nest.select(isNegative, fromEnd, index);
}

LogicalResult gradc::cpu::emitPatch(exec::KernelOp kernel, LoopNest &nest, TileEmitter &tiles,
                                    const Memory &table, Value begin, Value end) {
  exec::ScheduleAttr schedule = kernel.getScheduleAttr();
  exec::PatchAttr patch = kernel.getPatchAttr();
  auto operand = [&](int64_t i) { return kernel.getBlock().getArgument(i); };
  int64_t count = cast<RankedTensorType>(operand(patch.getTable()).getType()).getDimSize(0);
  auto storeRow = [&](const Point &p, Value value) {
    Value row = rowOf(nest, tiles.pull(operand(patch.getRows()), {{p.coordinates[0]}, 0}), count);
    // As unsigned numbers, those below 0 are above, too.
    Value isInside = arith::CmpIOp::create(nest.builder, nest.location, arith::CmpIPredicate::ult,
                                           row, nest.constant(count));
    nest.when(isInside, [&] {
      Point at = p;
      at.coordinates[0] = nest.variable(row);
      table.store(nest, at, value);
    });
  };
  auto store = [&](const Point &p, Value value) {
    if (p.coordinates[0].lane == 0)
      return storeRow(p, value);
    for (int64_t lane = 0; lane < p.valid; ++lane)
      storeRow(p.inLane(lane), vector::ExtractOp::create(nest.builder, nest.location, value, lane));
  };
  SmallVector<int64_t> rows(kernel.getRoot().getRank(), 0);
  SpaceEmitter space(nest, tiles, kernel.getRoot(), rows, schedule.getTile(), schedule.getOrder());
  space.add(operand(patch.getValues()), store);
  space.emitUnits(begin, end);
  return success();
}
