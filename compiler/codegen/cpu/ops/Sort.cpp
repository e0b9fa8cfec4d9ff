// Each unit is a row, whose first elements are selected, or which is sorted by digits.
#include "compiler/codegen/cpu/ops/OneOp.h"
#include "compiler/codegen/cpu/ops/RowWalk.h"
#include "compiler/codegen/cpu/ops/SortKeys.h"

using namespace mlir;
using namespace gradc::cpu;
using namespace gradc::tile;

LogicalResult gradc::cpu::emitSort(OneOp &op) {
  SortRow row(op);
  return forEachRow(op, [&](ArrayRef<LinearExpr> coordinates) {
    row.moveTo(coordinates);
    row.plan.selects ? emitSelection(row) : emitRadixSort(row);
  });
}
