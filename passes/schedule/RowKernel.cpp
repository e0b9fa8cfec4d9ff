// A tile is one row, or neighbouring rows along the last dim.
#include "passes/schedule/RowKernel.h"

#include "passes/kernel/CostModel.h"

using namespace mlir;

exec::ScheduleAttr gradc::scheduleRows(exec::KernelOp kernel, int64_t dim,
                                       exec::Algorithm algorithm, int64_t lanes,
                                       const exec::Level &level, int64_t columns) {
  ArrayRef<int64_t> root = kernel.getRoot().getShape();
  SmallVector<int64_t> tile(root.size(), 1), order;
  tile.back() = columns;
  tile[dim] = root[dim];
  int64_t units = 1;
  for (int64_t other = 0; other < int64_t(root.size()); ++other)
    if (other != dim) {
      order.push_back(other);
      units *= llvm::divideCeil(root[other], tile[other]);
    }
  llvm::stable_sort(order, [&](int64_t a, int64_t b) {
    return kernel.getRowsOf(a) > 0 && kernel.getRowsOf(b) == 0;
  });
  order.push_back(dim);
  return exec::ScheduleAttr::get(kernel.getContext(), lanes, tile, order,
                                 CostModel(level).grain(kernel, units), /*block=*/{},
                                 /*panels=*/{}, algorithm);
}
