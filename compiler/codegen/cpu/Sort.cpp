// Each unit is a row, whose first elements are selected, or which is sorted by digits.
#include "compiler/codegen/cpu/Sort.h"

#include "compiler/codegen/cpu/RowWalk.h"
#include "compiler/codegen/cpu/SortKeys.h"

using namespace mlir;
using namespace gradc::cpu;
using namespace gradc::tile;

LogicalResult gradc::cpu::emitSort(exec::KernelOp kernel, LoopNest &nest, const TileEmitter &tiles,
                                   const Memory &operand, const Memory &result, Value begin,
                                   Value end, Value scratch) {
  SortRow row(kernel, nest, tiles, operand, result, scratch);
  return forEachRow(kernel, nest, begin, end, [&](ArrayRef<LinearExpr> coordinates) {
    row.moveTo(coordinates);
    row.plan.selects ? emitSelection(row) : emitRadixSort(row);
  });
}
