// The schedule records the choice, which code and scratch memory follow.
#include "passes/layout/TurnedPanels.h"

#include "dialects/grad/Grad.h"
#include "dialects/grad/TensorTypes.h"
#include "passes/kernel/Clusters.h"
#include "passes/layout/FactorPanels.h"
#include "passes/layout/OperandLayout.h"

using namespace mlir;
using grad::bytesOf;
using grad::ContractionOpInterface;
using grad::typeOf;

/// The product of a kernel that otherwise computes element by element.
static ContractionOpInterface plainProduct(exec::KernelOp kernel) {
  auto product = dyn_cast_or_null<ContractionOpInterface>(gradc::productOf(kernel));
  return product && product->getResult(0).getType() == kernel.getRoot() &&
                 gradc::isPerElement(kernel, product)
             ? product
             : ContractionOpInterface();
}

/// A copy of what `columns` read of the factor, with the padding of its panels if it has any.
static RankedTensorType copyOf(RankedTensorType factor, exec::PanelAttr stored, int64_t dim,
                               int64_t columns) {
  SmallVector<int64_t> shape(factor.getShape());
  if (stored)
    shape[stored.getDim()] = llvm::alignTo(shape[stored.getDim()], stored.getWidth());
  shape[dim] = columns;
  return factor.clone(shape);
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
  bool pays = bytesOf(factor) > cache &&
              bytesOf(copyOf(factor, stored, *dim, width)) <= level.l2Bytes &&
              root.getShape().back() >= someTiles * width;
  bool fits = factor.getElementType() == root.getElementType() &&
              stored.getWidth() % (level.vectorBytes / widestElement(kernel)) == 0;
  return pays && fits ? std::optional<TurnedFactor>({rhs.getArgNumber(), *dim}) : std::nullopt;
}

/// The columns of the widest register tile that a product of `rows` rows can have.
static int64_t widestTile(int64_t rows, int64_t lanes, const exec::Level &level) {
  int64_t registers = (level.tileRows + 1) * level.tileVectors;
  return lanes * std::max(level.tileVectors, registers / (std::min(rows, level.tileRows) + 1));
}

/// Whether the kernel turns a row-major rhs, with the sum along its rows: a matrix whose squares
/// go through registers once for all rows of the product, if it has several.
static bool turnsRows(exec::KernelOp kernel, BlockArgument rhs, const exec::Level &level) {
  ContractionOpInterface product = level.isCuda() ? ContractionOpInterface() : plainProduct(kernel);
  RankedTensorType factor = typeOf(rhs), root = kernel.getRoot();
  if (!product || !rhs.hasOneUse() || factor.getRank() != 2 || gradc::laneDim(product) != 0 ||
      product.getLetters().window || gradc::walksBlocks(product, *level.kernels))
    return false;
  auto isFixed = [](int64_t extent) { return extent == 0; };
  int64_t lanes = level.vectorBytes / gradc::widestElement(kernel);
  int64_t rows = root.getNumElements() / std::max<int64_t>(root.getShape().back(), 1);
  int64_t bytes =
      widestTile(rows, lanes, level) * factor.getDimSize(1) * (factor.getElementTypeBitWidth() / 8);
  return rows > 1 && bytes <= level.l2Bytes && factor.getElementType() == root.getElementType() &&
         isa<Float32Type, Float64Type>(factor.getElementType()) && factor.getDimSize(1) >= lanes &&
         root.getShape().back() >= lanes &&
         llvm::all_of(kernel.getExtentsOf(rhs.getArgNumber()), isFixed);
}

std::optional<gradc::TurnedFactor> gradc::turnedFactor(exec::KernelOp kernel,
                                                       const exec::Level &level) {
  auto product = dyn_cast_or_null<ContractionOpInterface>(productOf(kernel));
  auto rhs = product ? dyn_cast<BlockArgument>(product->getOperand(1)) : BlockArgument();
  if (!rhs)
    return std::nullopt;
  if (exec::PanelAttr stored = kernel.getLayout(rhs.getArgNumber()))
    return turnedFactor(kernel, stored, level);
  return turnsRows(kernel, rhs, level) ? std::optional<TurnedFactor>({rhs.getArgNumber(), 0})
                                       : std::nullopt;
}

exec::TurnedAttr gradc::turnedTiles(exec::KernelOp kernel, const TurnedFactor &factor,
                                    int64_t columns, const exec::Level &level) {
  constexpr int64_t most = 4;
  RankedTensorType type = typeOf(kernel.getBlock().getArgument(factor.operand));
  int64_t tile = bytesOf(copyOf(type, kernel.getLayout(factor.operand), factor.dim, columns));
  return exec::TurnedAttr::get(kernel.getContext(), factor.operand, factor.dim,
                               std::clamp<int64_t>(level.cachedBytes() / tile, 1, most));
}

RankedTensorType gradc::turnedType(exec::KernelOp kernel) {
  exec::ScheduleAttr schedule = kernel.getScheduleAttr();
  exec::TurnedAttr turned = schedule ? schedule.getTurned() : exec::TurnedAttr();
  if (!turned)
    return {};
  return copyOf(typeOf(kernel.getBlock().getArgument(turned.getOperand())),
                kernel.getLayout(turned.getOperand()), turned.getDim(),
                turned.getTiles() * schedule.getTile().back());
}

int64_t gradc::turnedScratch(exec::KernelOp kernel) {
  RankedTensorType type = turnedType(kernel);
  return type ? bytesOf(type) : 0;
}
