// Each unit is a row.
#include "compiler/codegen/cpu/Sort.h"

#include "compiler/codegen/cpu/SortKeys.h"

using namespace mlir;
using namespace gradc::cpu;
using namespace gradc::tile;

LogicalResult gradc::cpu::emitSort(exec::KernelOp kernel, LoopNest &nest, const TileEmitter &tiles,
                                   const Memory &operand, const Memory &result, Value begin,
                                   Value end, Value scratch) {
  ArrayRef<int64_t> order = kernel.getScheduleAttr().getOrder();
  for (int64_t inner : order.drop_front())
    if (kernel.getRowsOf(inner) && inner != order.back())
      return kernel.emitOpError("expected rows of a run along the outermost dim of a sort");
  SortRow row(kernel, nest, tiles, operand, result, scratch);
  nest.loop(begin, end, {}, [&](LinearExpr unit, ValueRange) {
    SmallVector<LinearExpr> coordinates(order.size(), LinearExpr(0));
    for (size_t i = order.size(); i-- > 1;)
      if (i + 1 < order.size())
        std::tie(unit, coordinates[order[i]]) =
            nest.divide(unit, kernel.getRoot().getDimSize(order[i]));
    coordinates[order.front()] = unit;
    row.moveTo(coordinates);
    row.plan.selects ? emitSelection(row) : emitRadixSort(row);
    return SmallVector<Value>();
  });
  return success();
}
