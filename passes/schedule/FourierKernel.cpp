// Schedule, scratch and time of kernels that compute a Fourier transform.
#include "passes/schedule/FourierKernel.h"

#include "dialects/grad/math/Fourier.h"
#include "passes/kernel/CostModel.h"
#include "passes/schedule/OneOpKernel.h"

#include <cmath>

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

/// A transform of f32 or f64 whose length has small factors.
static bool suits(Operation *op, const exec::KernelLimits &) {
  auto fourier = cast<FourierOp>(op);
  if (fourier.getResult().getType().getNumElements() == 0)
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

/// A unit is a vector of rows.
static exec::ScheduleAttr schedule(exec::KernelOp kernel, int64_t lanes, const exec::Level &level) {
  SmallVector<int64_t> tile(kernel.getRoot().getShape());
  int64_t units = llvm::divideCeil(tile[0], lanes);
  tile[0] = lanes;
  return exec::ScheduleAttr::get(kernel.getContext(), lanes, tile, ArrayRef<int64_t>{0, 1, 2},
                                 CostModel(level).grain(kernel, units), /*block=*/{},
                                 /*panels=*/{}, exec::Algorithm::fourier);
}

static int64_t scratchBytes(exec::KernelOp kernel, const exec::Level &) {
  return FourierPlan::of(kernel)->slots() * 2 * kernel.getScheduleAttr().getLanes() *
         elementBytes(kernel.getRoot().getElementType());
}

/// For a vector of rows of 100 to 8,192 numbers; measured.
static constexpr double perNumber = 12e-9;

static double seconds(exec::KernelOp kernel, const exec::Level &) {
  return perNumber * double(exec::kernelUnits(kernel)) * double(FourierPlan::of(kernel)->numbers);
}

/// The vectors of a row alone are not full.
static double secondsAlone(exec::KernelOp kernel, int64_t rows, const exec::Level &level) {
  RankedTensorType root = kernel.getRoot();
  int64_t lanes = level.vectorBytes / elementBytes(root.getElementType());
  double vectors = double(root.getDimSize(0)) / double(rows * lanes);
  return perNumber * double(FourierPlan::of(kernel)->numbers) * (std::ceil(vectors) - vectors);
}

const OneOpKernel gradc::fourierKernel = {
    .isOf = [](Operation *op) { return isa<FourierOp>(op); },
    .suits = suits,
    .schedule = schedule,
    .seconds = seconds,
    .scratchBytes = scratchBytes,
    .secondsAlone = secondsAlone,
};
