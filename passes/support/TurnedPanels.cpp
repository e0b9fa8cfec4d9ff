// The schedule records the choice, which code and scratch memory follow.
#include "passes/support/TurnedPanels.h"

#include "dialects/grad/Grad.h"
#include "passes/support/Clusters.h"
#include "passes/support/FactorPanels.h"
#include "passes/support/OperandLayout.h"

using namespace mlir;
using grad::ContractionOpInterface;

static RankedTensorType typeOf(Value v) { return cast<RankedTensorType>(v.getType()); }

/// The product of a kernel that otherwise computes element by element.
static ContractionOpInterface plainProduct(exec::KernelOp kernel) {
  auto product = dyn_cast_or_null<ContractionOpInterface>(gradc::productOf(kernel));
  return product && product->getResult(0).getType() == kernel.getRoot() &&
                 gradc::isPerElement(kernel, product)
             ? product
             : ContractionOpInterface();
}

/// The bytes of the factor that `columns` read, with the padding of its panels.
static int64_t bytesOf(RankedTensorType factor, exec::PanelAttr stored, int64_t dim,
                       int64_t columns) {
  SmallVector<int64_t> shape(factor.getShape());
  shape[stored.getDim()] = llvm::alignTo(shape[stored.getDim()], stored.getWidth());
  shape[dim] = columns;
  return exec::layoutBytes(factor.clone(shape), /*layout=*/nullptr);
}

std::optional<gradc::TurnedFactor>
gradc::turnedFactor(exec::KernelOp kernel, exec::PanelAttr stored, const exec::Level &level) {
  constexpr int64_t someTiles = 4;
  ContractionOpInterface product = level.isCuda() ? ContractionOpInterface() : plainProduct(kernel);
  if (!product || !stored || stored.getKind() != exec::PanelKind::values ||
      walksBlocks(product, *level.kernels))
    return std::nullopt;
  auto rhs = dyn_cast<BlockArgument>(product->getOperand(1));
  std::optional<int64_t> dim = laneDim(product);
  grad::ContractionLetters letters = product.getLetters();
  bool hasBatch = llvm::any_of(letters.rhs, [&](char letter) { return letters.isBatch(letter); });
  if (!rhs || !rhs.hasOneUse() || !dim || *dim == stored.getDim() || hasBatch)
    return std::nullopt;
  RankedTensorType root = kernel.getRoot(), factor = typeOf(rhs);
  int64_t width = level.vectorBytes / widestElement(kernel) * level.tileVectors;
  // Smaller factors are packed whole, and row tiles are the units then.
  int64_t cache = letters.window ? level.cachedBytes() : level.cachedBytes() / 4;
  bool pays = exec::layoutBytes(factor, nullptr) > cache &&
              bytesOf(factor, stored, *dim, width) <= level.l2Bytes &&
              root.getShape().back() >= someTiles * width;
  bool fits = factor.getElementType() == root.getElementType() &&
              stored.getWidth() % (level.vectorBytes / widestElement(kernel)) == 0;
  return pays && fits ? std::optional<TurnedFactor>({rhs.getArgNumber(), *dim}) : std::nullopt;
}

std::optional<gradc::TurnedFactor> gradc::turnedFactor(exec::KernelOp kernel,
                                                       const exec::Level &level) {
  auto product = dyn_cast_or_null<ContractionOpInterface>(productOf(kernel));
  auto rhs = product ? dyn_cast<BlockArgument>(product->getOperand(1)) : BlockArgument();
  return rhs ? turnedFactor(kernel, kernel.getLayout(rhs.getArgNumber()), level) : std::nullopt;
}

exec::TurnedAttr gradc::turnedTiles(exec::KernelOp kernel, const TurnedFactor &factor,
                                    int64_t columns, const exec::Level &level) {
  constexpr int64_t most = 4;
  int64_t tile = bytesOf(typeOf(kernel.getBlock().getArgument(factor.operand)),
                         kernel.getLayout(factor.operand), factor.dim, columns);
  return exec::TurnedAttr::get(kernel.getContext(), factor.operand, factor.dim,
                               std::clamp<int64_t>(level.cachedBytes() / tile, 1, most));
}

RankedTensorType gradc::turnedType(exec::KernelOp kernel) {
  exec::ScheduleAttr schedule = kernel.getScheduleAttr();
  exec::TurnedAttr turned = schedule ? schedule.getTurned() : exec::TurnedAttr();
  if (!turned)
    return {};
  RankedTensorType type = typeOf(kernel.getBlock().getArgument(turned.getOperand()));
  exec::PanelAttr stored = kernel.getLayout(turned.getOperand());
  SmallVector<int64_t> shape(type.getShape());
  shape[stored.getDim()] = llvm::alignTo(shape[stored.getDim()], stored.getWidth());
  shape[turned.getDim()] = turned.getTiles() * schedule.getTile().back();
  return type.clone(shape);
}

int64_t gradc::turnedScratch(exec::KernelOp kernel) {
  RankedTensorType type = turnedType(kernel);
  return type ? exec::layoutBytes(type, /*layout=*/nullptr) : 0;
}
