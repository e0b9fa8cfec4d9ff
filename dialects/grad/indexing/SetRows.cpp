// Set rows: a scatter of whole rows, which a target may write over the table.
#include "dialects/grad/Backward.h"
#include "dialects/grad/Movement.h"

using namespace mlir;
using namespace mlir::grad;

LogicalResult SetRowsOp::verify() {
  RankedTensorType table = getTable().getType(), values = getValues().getType(),
                   rows = cast<RankedTensorType>(getRows().getType());
  Type index = rows.getElementType();
  if (table.getRank() == 0 || rows.getRank() != 1 ||
      !(index.isSignlessInteger(32) || index.isSignlessInteger(64)))
    return emitOpError("expected a table and a list of i32 or i64, found ")
           << table << " and " << rows;
  SmallVector<int64_t> shape(table.getShape());
  shape[0] = rows.getDimSize(0);
  if (values != table.clone(shape))
    return emitOpError("expected values ") << table.clone(shape) << ", found " << values;
  return success();
}

int64_t SetRowsOp::getFlops() { return 0; }

Value SetRowsOp::getNewRows() { return getValues(); }

void SetRowsOp::evaluate(ArrayRef<HostTensor> operands, MutableArrayRef<HostTensor> results) {
  const HostTensor &table = operands[0], &rows = operands[1], &values = operands[2];
  results[0] = table;
  int64_t count = table.getShape()[0], width = count ? table.size() / count : 0;
  for (int64_t i = 0; i < rows.size(); ++i) {
    int64_t row = rows.getInt(i) + (rows.getInt(i) < 0 ? count : 0);
    if (row < 0 || row >= count)
      continue;
    for (int64_t k = 0; k < width; ++k)
      copyElement(values, i * width + k, results[0], row * width + k);
  }
}

SmallVector<Value> SetRowsOp::decompose(OpBuilder &b) {
  SmallVector<int64_t> dims = llvm::to_vector(llvm::seq<int64_t>(0, getType().getRank()));
  dims[0] = -1;
  return {ScatterOp::create(b, getLoc(), getType(), getTable(), getRows(), getValues(),
                            ScatterReduction::replace, dims, ArrayRef<int64_t>{0})};
}

LogicalResult SetRowsOp::buildGradient(OpBuilder &b, ValueRange resultGradients,
                                       SmallVectorImpl<Value> &operandGradients) {
  return gradientByDecomposition(*this, b, resultGradients, operandGradients);
}
