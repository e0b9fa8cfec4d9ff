// The schedule records the choice, which code and scratch memory follow.
#include "passes/layout/TurnedPanels.h"

#include "dialects/grad/Grad.h"
#include "dialects/grad/TensorTypes.h"
#include "passes/kernel/BlockWalks.h"
#include "passes/kernel/Clusters.h"
#include "passes/layout/FactorPanels.h"
#include "passes/layout/ProductLanes.h"

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

/// A copy of what `columns` read of the factor, with the padding of its panels if it has any; of
/// several matrices in rows, what they read of one.
static RankedTensorType copyOf(RankedTensorType factor, exec::PanelAttr stored, int64_t dim,
                               int64_t columns) {
  SmallVector<int64_t> shape(factor.getShape());
  if (stored)
    shape[stored.getDim()] = llvm::alignTo(shape[stored.getDim()], stored.getWidth());
  else
    std::fill(shape.begin(), std::prev(shape.end()), 1);
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

/// Whether rows of a product's result share a turned matrix, more than one tile of them if there
/// are several matrices: these are turned tile by tile, whose rows share a part read in place, too.
static bool sharesTurnedRows(ContractionOpInterface product, const exec::Level &level) {
  grad::ContractionLetters letters = product.getLetters();
  int64_t rows = gradc::rowsOfMatrix(product);
  if (letters.rhs.size() == 2)
    return rows > 1;
  return rows > level.tileRows && letters.isRow(letters.result[letters.result.size() - 2]);
}

/// The columns' dim of a row-major rhs that the kernel turns, with the sum along its rows: of
/// matrices whose squares go through registers once for all rows of the product.
static std::optional<int64_t> turnedRows(exec::KernelOp kernel, BlockArgument rhs,
                                         const exec::Level &level) {
  ContractionOpInterface product = level.isCuda() ? ContractionOpInterface() : plainProduct(kernel);
  RankedTensorType factor = typeOf(rhs), root = kernel.getRoot();
  if (!product || !rhs.hasOneUse() || gradc::walksBlocks(product, *level.kernels))
    return std::nullopt;
  std::optional<int64_t> columns = gradc::columnsOfSummedRows(product);
  if (!columns)
    return std::nullopt;
  int64_t along = *columns + 1;
  SmallVector<int64_t> extents = kernel.getExtentsOf(rhs.getArgNumber());
  auto isFixed = [&](int64_t d) { return extents[d] == 0; };
  int64_t lanes = level.vectorBytes / gradc::widestElement(kernel), sum = factor.getDimSize(along);
  int64_t rows = root.getNumElements() / std::max<int64_t>(root.getShape().back(), 1);
  int64_t bytes = widestTile(rows, lanes, level) * sum * (factor.getElementTypeBitWidth() / 8);
  bool turns = sharesTurnedRows(product, level) && bytes <= level.l2Bytes &&
               factor.getElementType() == root.getElementType() &&
               isa<Float32Type, Float64Type>(factor.getElementType()) && sum >= lanes &&
               root.getShape().back() >= lanes && isFixed(*columns) && isFixed(along);
  return turns ? columns : std::nullopt;
}

std::optional<gradc::TurnedFactor> gradc::turnedFactor(exec::KernelOp kernel,
                                                       const exec::Level &level) {
  auto product = dyn_cast_or_null<ContractionOpInterface>(productOf(kernel));
  auto rhs = product ? dyn_cast<BlockArgument>(product->getOperand(1)) : BlockArgument();
  if (!rhs)
    return std::nullopt;
  if (exec::PanelAttr stored = kernel.getLayout(rhs.getArgNumber()))
    return turnedFactor(kernel, stored, level);
  std::optional<int64_t> columns = turnedRows(kernel, rhs, level);
  return columns ? std::optional<TurnedFactor>({rhs.getArgNumber(), *columns}) : std::nullopt;
}

exec::TurnedAttr gradc::turnedTiles(exec::KernelOp kernel, const TurnedFactor &factor,
                                    int64_t columns, const exec::Level &level) {
  constexpr int64_t most = 4;
  RankedTensorType type = typeOf(kernel.getBlock().getArgument(factor.operand));
  exec::PanelAttr stored = kernel.getLayout(factor.operand);
  int64_t tile = bytesOf(copyOf(type, stored, factor.dim, columns));
  int64_t tiles =
      hasMatrices(type, stored) ? 1 : std::clamp<int64_t>(level.cachedBytes() / tile, 1, most);
  return exec::TurnedAttr::get(kernel.getContext(), factor.operand, factor.dim, tiles);
}

bool gradc::hasMatrices(RankedTensorType factor, exec::PanelAttr stored) {
  return !stored && factor.getRank() > 2;
}

bool gradc::suitsTurning(exec::KernelOp kernel, const TurnedFactor &factor, ArrayRef<int64_t> tile,
                         ArrayRef<int64_t> order) {
  if (!hasMatrices(typeOf(kernel.getBlock().getArgument(factor.operand)),
                   kernel.getLayout(factor.operand)))
    return order.front() == int64_t(order.size()) - 1;
  grad::ContractionLetters letters = cast<ContractionOpInterface>(productOf(kernel)).getLetters();
  auto isRow = [&](int64_t d) { return letters.isRow(letters.result[d]); };
  auto isTiled = [&](int64_t d) { return letters.isBatch(letters.result[d]) && tile[d] > 1; };
  return llvm::is_sorted(llvm::map_range(order, isRow)) && llvm::none_of(order, isTiled);
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
