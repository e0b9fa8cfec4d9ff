// The last dim in the order runs along a row, the first one may have the rows of a run. Where a
// tile is several rows along a dim, coordinates there are multiples of its rows.
#include "compiler/codegen/cpu/ops/RowWalk.h"

using namespace mlir;
using namespace gradc::cpu;
using namespace gradc::tile;

LogicalResult
gradc::cpu::forEachRow(OneOp &op, llvm::function_ref<void(ArrayRef<LinearExpr> coordinates)> body) {
  return forEachUnit(op.kernel, op.nest, op.begin, op.end,
                     [&](const LinearExpr &, ArrayRef<LinearExpr> first) { body(first); });
}

LogicalResult gradc::cpu::forEachUnit(
    exec::KernelOp kernel, LoopNest &nest, Value begin, Value end,
    llvm::function_ref<void(const LinearExpr &unit, ArrayRef<LinearExpr>)> body) {
  ArrayRef<int64_t> order = kernel.getScheduleAttr().getOrder(),
                    tile = kernel.getScheduleAttr().getTile();
  for (int64_t inner : order.drop_front())
    if (kernel.getRowsOf(inner) && inner != order.back())
      return kernel.emitOpError("expected rows of a run along the outermost dim of a kernel that "
                                "walks rows");
  nest.loop(begin, end, {}, [&](LinearExpr number, ValueRange) {
    LinearExpr unit = number;
    SmallVector<LinearExpr> coordinates(order.size(), LinearExpr(0));
    for (size_t i = order.size(); i-- > 1;)
      if (i + 1 < order.size()) {
        auto [outer, inner] = nest.divide(unit, exec::tilesAlong(kernel, order[i]));
        coordinates[order[i]] = inner * tile[order[i]];
        unit = outer;
      }
    coordinates[order.front()] = unit * tile[order.front()];
    body(number, coordinates);
    return SmallVector<Value>();
  });
  return success();
}
