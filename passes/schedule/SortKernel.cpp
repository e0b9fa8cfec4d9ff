// Schedule, scratch and time of kernels that compute an argsort.
#include "passes/schedule/SortKernel.h"

#include "passes/schedule/OneOpKernel.h"
#include "passes/schedule/RowKernel.h"

#include <cmath>

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

/// An argsort of floats or signed integers, of enough elements.
static bool suits(Operation *op, const exec::KernelLimits &limits) {
  auto sort = cast<ArgsortOp>(op);
  if (sort.getResult().getType().getNumElements() == 0)
    return false;
  if (getElementTypeOrSelf(sort.getOperand().getType()).isUnsignedInteger())
    return false;
  SortPlan plan(sort);
  bool selectsFew = plan.selects && plan.count <= plan.size / 4;
  return plan.size >= (selectsFew ? limits.minSelected : limits.minSorted);
}

SortPlan::SortPlan(ArgsortOp op) {
  RankedTensorType type = op.getOperand().getType();
  dim = int64_t(op.getDim());
  descending = op.getDescending();
  size = type.getDimSize(op.getDim());
  rows = size ? type.getNumElements() / size : 0;
  count = cast<RankedTensorType>(op.getResult().getType()).getDimSize(op.getDim());
  elementBits = type.getElementTypeBitWidth();
  keyBits = std::max<int64_t>(elementBits, 32);
  // A selected number is compared with all that are kept.
  selects = elementBits <= 32 && count <= 64;
  digits = elementBits / digitBits;
  // Clearing the counts of all leading bits costs as much as sorting some thousand elements.
  bool hasFewCandidates = elementBits >= 32 && size >= 4096 && count <= size / 4;
  leadingBits = hasFewCandidates ? 12 : 0;
}

std::optional<SortPlan> SortPlan::of(exec::KernelOp kernel) {
  auto sorts = kernel.getBlock().getOps<ArgsortOp>();
  return sorts.empty() ? std::nullopt : std::optional(SortPlan(*sorts.begin()));
}

int64_t SortPlan::elementsOf(Piece piece) const {
  return piece == counts ? std::max(digits * digitValues, int64_t(1) << leadingBits) : size;
}

int64_t SortPlan::offsetOf(Piece piece) const {
  int64_t offset = 0;
  for (int before = keys; before < piece; ++before) {
    bool holdsKeys = before == keys || before == nextKeys;
    offset += llvm::alignTo(elementsOf(Piece(before)) * (holdsKeys ? keyBits / 8 : 4), 64);
  }
  return offset;
}

static exec::ScheduleAttr schedule(exec::KernelOp kernel, int64_t lanes, const exec::Level &level) {
  return scheduleRows(kernel, SortPlan::of(kernel)->dim, exec::Algorithm::sort, lanes, level);
}

static int64_t scratchBytes(exec::KernelOp kernel, const exec::Level &) {
  SortPlan plan = *SortPlan::of(kernel);
  return plan.selects ? plan.selectedElements() * 8 : plan.offsetOf(SortPlan::pieces);
}

static double seconds(exec::KernelOp kernel, const exec::Level &) {
  SortPlan plan = *SortPlan::of(kernel);
  double size = double(plan.size), count = double(plan.count), rows = double(plan.rows);
  if (plan.selects) {
    constexpr double perElement = 0.3e-9, perKept = 1e-9, perSelected = 8e-9; // estimates
    double selected = count * (1 + std::log(size / count));
    return rows * (perElement * size + selected * (perSelected + perKept * count / 8));
  }
  constexpr double perDigit = 2e-9, perValue = 1e-9; // estimates, for an element and a count
  double sorted = plan.leadingBits ? std::min(size, 2 * count) : size;
  double read = size * (plan.leadingBits ? 2 : 1);
  return rows * (perDigit * (read + sorted * double(plan.digits)) +
                 perValue * 2 * double(plan.elementsOf(SortPlan::counts)));
}

const OneOpKernel gradc::sortKernel = {
    .isOf = [](Operation *op) { return isa<ArgsortOp>(op); },
    .suits = suits,
    .schedule = schedule,
    .seconds = seconds,
    .scratchBytes = scratchBytes,
};
