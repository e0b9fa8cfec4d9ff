// Each unit is a row, whose first elements are selected, or which is sorted by digits.
#include "compiler/codegen/cpu/OneOp.h"
#include "compiler/codegen/cpu/RowWalk.h"
#include "compiler/codegen/cpu/SortKeys.h"

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
