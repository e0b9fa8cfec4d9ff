// Schedule, scratch and time of kernels that compute a Fourier transform.
#include "passes/schedule/FourierKernel.h"

#include "dialects/grad/Fourier.h"
#include "passes/kernel/CostModel.h"

#include <cmath>

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

bool gradc::isFourierKernel(Operation *op) {
  auto fourier = dyn_cast<FourierOp>(op);
  if (!fourier || fourier.getResult().getType().getNumElements() == 0)
    return false;
  return isa<Float32Type, Float64Type>(fourier.getResult().getType().getElementType()) &&
         isShortFourier(FourierPlan(fourier).numbers);
}

FourierPlan::FourierPlan(FourierOp op) {
  RankedTensorType from = op.getOperand().getType(), to = op.getResult().getType();
  isInverse = op.getInverse();
  isFromReal = from.getDimSize(2) == 1;
  isToReal = to.getDimSize(2) == 1;
  numbers = isFromReal ? from.getDimSize(1) / 2
            : isToReal ? to.getDimSize(1) / 2
                       : to.getDimSize(1);
}

std::optional<FourierPlan> FourierPlan::of(exec::KernelOp kernel) {
  auto ops = kernel.getBlock().getOps<FourierOp>();
  return ops.empty() ? std::nullopt : std::optional(FourierPlan(*ops.begin()));
}

SmallVector<int64_t> FourierPlan::factors(const exec::Level &level) const {
  // Registers hold both parts of the largest butterfly's numbers, and a few more values.
  int64_t most = level.vectorRegisters >= 32 ? 8 : 4, rest = numbers;
  SmallVector<int64_t> found;
  auto divide = [&](int64_t factor) {
    for (; rest % factor == 0; rest /= factor)
      found.push_back(factor);
  };
  for (int64_t factor = most; factor >= 2; factor /= 2)
    divide(factor);
  for (int64_t prime : {3, 5, 7, 11, 13})
    divide(prime);
  assert(rest == 1 && "a kernel transforms lengths with small factors");
  return found;
}

SmallVector<int64_t> FourierPlan::places(ArrayRef<int64_t> factors) const {
  SmallVector<int64_t> places;
  for (int64_t k = 0; k < numbers; ++k) {
    int64_t place = 0, left = k, apart = numbers;
    for (int64_t factor : llvm::reverse(factors)) {
      apart /= factor;
      place += left % factor * apart;
      left /= factor;
    }
    places.push_back(place);
  }
  return places;
}

exec::ScheduleAttr gradc::scheduleFourier(exec::KernelOp kernel, int64_t lanes,
                                          const exec::Level &level) {
  SmallVector<int64_t> tile(kernel.getRoot().getShape());
  int64_t units = llvm::divideCeil(tile[0], lanes);
  tile[0] = lanes;
  return exec::ScheduleAttr::get(kernel.getContext(), lanes, tile, ArrayRef<int64_t>{0, 1, 2},
                                 CostModel(level).grain(kernel, units), /*block=*/{},
                                 /*panels=*/{}, exec::Algorithm::fourier);
}

int64_t gradc::fourierScratchBytes(exec::KernelOp kernel) {
  std::optional<FourierPlan> plan = FourierPlan::of(kernel);
  exec::ScheduleAttr schedule = kernel.getScheduleAttr();
  if (!plan || !schedule || !schedule.isFourier())
    return 0;
  return plan->slots() * 2 * schedule.getLanes() * elementBytes(kernel.getRoot().getElementType());
}

/// For a vector of rows of 100 to 8,192 numbers; measured.
static constexpr double perNumber = 12e-9;

double gradc::fourierSeconds(exec::KernelOp kernel) {
  return perNumber * double(exec::kernelUnits(kernel)) * double(FourierPlan::of(kernel)->numbers);
}

double gradc::fourierSecondsAlone(exec::KernelOp kernel, int64_t rows, const exec::Level &level) {
  std::optional<FourierPlan> plan = FourierPlan::of(kernel);
  if (!plan)
    return 0;
  RankedTensorType root = kernel.getRoot();
  int64_t lanes = level.vectorBytes / elementBytes(root.getElementType());
  double vectors = double(root.getDimSize(0)) / double(rows * lanes);
  return perNumber * double(plan->numbers) * (std::ceil(vectors) - vectors);
}
