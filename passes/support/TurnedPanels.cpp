// Recognizes such a factor by its layout, which code generation follows.
#include "passes/support/TurnedPanels.h"

#include "dialects/grad/Grad.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "passes/support/Clusters.h"
#include "passes/support/FactorPanels.h"

using namespace mlir;

/// The dim of a product's rhs along the last dim of its result; none if there is no such dim.
static std::optional<int64_t> laneDim(Operation *product) {
  if (auto contraction = dyn_cast<grad::ContractionOpInterface>(product)) {
    grad::ContractionLetters letters = contraction.getLetters();
    if (letters.result.empty() || !letters.isColumn(letters.result.back()))
      return std::nullopt;
    return letters.dimOf(letters.rhs, letters.result.back());
  }
  auto loops = cast<linalg::GenericOp>(product);
  SmallVector<AffineMap> maps = loops.getIndexingMapsArray();
  if (loops.getNumDpsInputs() != 2 || maps[2].getNumResults() == 0)
    return std::nullopt;
  ArrayRef<AffineExpr> dims = maps[1].getResults();
  const auto *found = llvm::find(dims, maps[2].getResults().back());
  return found == dims.end() ? std::nullopt : std::optional<int64_t>(found - dims.begin());
}

/// The operand that a product's rhs is, or whose taps it is in the opposite order.
static BlockArgument rhsOf(Operation *product) {
  Value rhs = product->getOperand(1);
  auto taps = rhs.getDefiningOp<linalg::GenericOp>();
  if (taps && taps.getNumDpsInputs() == 1 && taps.getNumReductionLoops() == 0 && rhs.hasOneUse())
    rhs = taps.getDpsInputs()[0];
  auto operand = dyn_cast<BlockArgument>(rhs);
  return operand && operand.hasOneUse() ? operand : BlockArgument();
}

/// Whether units are column tiles that compute whole sums.
static bool allowsCopies(exec::KernelOp kernel) {
  exec::ScheduleAttr schedule = kernel.getScheduleAttr();
  return !schedule || (schedule.getAlgorithm() == exec::Algorithm::direct &&
                       schedule.getBlock().empty() && schedule.getPanels().empty() &&
                       schedule.getOrder().front() + 1 == kernel.getRoot().getRank());
}

std::optional<gradc::TurnedFactor> gradc::turnedFactor(exec::KernelOp kernel) {
  Operation *product =
      kernel.getParts() || kernel.getRoot().getRank() == 0 ? nullptr : productOf(kernel);
  if (!product || product->getNumOperands() < 2 || !allowsCopies(kernel))
    return std::nullopt;
  BlockArgument operand = rhsOf(product);
  exec::PanelAttr from = operand ? kernel.getLayout(operand.getArgNumber()) : exec::PanelAttr();
  if (!from || from.getKind() != exec::PanelKind::values)
    return std::nullopt;
  std::optional<int64_t> lanes = laneDim(product);
  if (!lanes || *lanes == from.getDim())
    return std::nullopt;
  return TurnedFactor{operand, *lanes, from};
}

bool gradc::paysTurning(exec::KernelOp kernel, unsigned operand, exec::PanelAttr wanted,
                        exec::PanelAttr stored, const exec::Level &level) {
  constexpr int64_t someTiles = 4;
  auto product = dyn_cast_or_null<grad::ContractionOpInterface>(productOf(kernel));
  if (!product || !stored || stored.getKind() != exec::PanelKind::values ||
      wanted.getKind() != exec::PanelKind::values || wanted.getDim() == stored.getDim())
    return false;
  RankedTensorType root = kernel.getRoot();
  auto factor = cast<RankedTensorType>(kernel.getBlock().getArgument(operand).getType());
  auto isOnePerElement = [&](Operation &op) {
    return &op == product || isFree(&op) || loopKind(&op) == grad::LoopKind::elementwise;
  };
  grad::ContractionLetters letters = product.getLetters();
  bool hasBatch = llvm::any_of(letters.rhs, [&](char letter) { return letters.isBatch(letter); });
  int64_t cache = letters.window ? level.cachedBytes() : level.cachedBytes() / 4;
  return product->getOperand(1) == kernel.getBlock().getArgument(operand) && !hasBatch &&
         product->getResult(0).getType() == root &&
         llvm::all_of(kernel.getBlock().without_terminator(), isOnePerElement) &&
         factor.getElementType() == root.getElementType() &&
         exec::layoutBytes(factor, nullptr) > cache &&
         root.getShape().back() >= someTiles * wanted.getWidth();
}

/// The bytes of the factor that one column tile reads.
static int64_t panelBytes(exec::KernelOp kernel, const gradc::TurnedFactor &factor) {
  auto type = cast<RankedTensorType>(factor.operand.getType());
  int64_t padded = llvm::alignTo(type.getDimSize(factor.from.getDim()), factor.from.getWidth());
  return type.getNumElements() / type.getDimSize(factor.from.getDim()) * padded /
         type.getDimSize(factor.laneDim) * kernel.getScheduleAttr().getTile().back() *
         grad::elementBytes(type.getElementType());
}

int64_t gradc::unitsTurnedTogether(exec::KernelOp kernel, const exec::Level &level) {
  constexpr int64_t most = 4;
  return std::clamp<int64_t>(level.cachedBytes() / panelBytes(kernel, *turnedFactor(kernel)), 1,
                             most);
}

RankedTensorType gradc::turnedType(exec::KernelOp kernel, const exec::Level &level) {
  TurnedFactor factor = *turnedFactor(kernel);
  auto type = cast<RankedTensorType>(factor.operand.getType());
  SmallVector<int64_t> shape(type.getShape());
  int64_t &across = shape[factor.from.getDim()];
  across = llvm::alignTo(across, factor.from.getWidth()); // its padding is copied, too
  shape[factor.laneDim] =
      unitsTurnedTogether(kernel, level) * kernel.getScheduleAttr().getTile().back();
  return type.clone(shape);
}

int64_t gradc::turnedScratch(exec::KernelOp kernel, const exec::Level &level) {
  return kernel.getScheduleAttr() && turnedFactor(kernel)
             ? exec::layoutBytes(turnedType(kernel, level), nullptr)
             : 0;
}
