// Chooses between a product's columns, its rows and the sum by how many elements each has.
#include "passes/layout/ProductLanes.h"

#include "dialects/grad/TensorTypes.h"
#include "passes/kernel/Clusters.h"
#include "passes/layout/FactorPanels.h"

using namespace mlir;
using namespace gradc;
using namespace mlir::grad;

ContractionOpInterface gradc::contractionOf(exec::KernelOp kernel) {
  auto contractions = kernel.getBlock().getOps<ContractionOpInterface>();
  return contractions.empty() ? ContractionOpInterface() : *contractions.begin();
}

BlockArgument gradc::factorOf(ContractionOpInterface contraction, unsigned i) {
  auto argument = dyn_cast<BlockArgument>(contraction->getOperand(i));
  return argument && argument.hasOneUse() ? argument : BlockArgument();
}

std::optional<int64_t> gradc::laneDim(ContractionOpInterface op) {
  ContractionLetters letters = op.getLetters();
  if (letters.result.empty() || !letters.isColumn(letters.result.back()))
    return std::nullopt;
  return letters.dimOf(letters.rhs, letters.result.back());
}

/// Whether the kernel reads and writes more matrices of the root's shape than vectors along their
/// rows are worth: those of a matrix with several columns are read and written lane by lane.
static bool turnsMany(exec::KernelOp kernel) {
  constexpr int64_t most = 16; // estimate: above what an optimizer keeps per parameter
  auto isLikeRoot = [&](Value v) { return v.getType() == kernel.getRoot(); };
  return llvm::count_if(kernel.getBlock().getArguments(), isLikeRoot) +
             llvm::count_if(kernel.getYielded(), isLikeRoot) >
         most;
}

std::optional<int64_t> gradc::rowsOfFewColumns(exec::KernelOp kernel, const exec::Level &level) {
  ContractionOpInterface product = contractionOf(kernel);
  RankedTensorType root = kernel.getRoot();
  int64_t last = root.getRank() - 1, lanes = level.vectorBytes / widestElement(kernel);
  if (!product || last < 1 || 2 * root.getDimSize(last) > lanes || root.getNumElements() == 0 ||
      product->getResult(0).getType() != root || product.getLetters().window ||
      !isa<Float32Type, Float64Type>(root.getElementType()) ||
      getElementTypeOrSelf(product->getOperand(0)) != root.getElementType())
    return std::nullopt;
  if (root.getDimSize(last) > 1 && turnsMany(kernel))
    return std::nullopt;
  int64_t rows = last - 1;
  while (root.getDimSize(last) == 1 && rows > 0 && root.getDimSize(rows) == 1)
    --rows;
  ContractionLetters letters = product.getLetters();
  bool areMany = root.getDimSize(rows) >= (root.getDimSize(last) == 1 ? 2 : lanes);
  return areMany && letters.isRow(letters.result[rows]) && isPerElement(kernel, product)
             ? std::optional(rows)
             : std::nullopt;
}

int64_t gradc::maxLaneSums(const exec::Level &level) { return level.vectorRegisters * 3 / 4; }

int64_t gradc::laneSumChains(exec::ScheduleAttr schedule, const exec::Level &level) {
  if (!schedule.hasLaneSums())
    return 0;
  return std::clamp<int64_t>(maxLaneSums(level) / llvm::product_of(schedule.getTile()), 1,
                             level.chains);
}

/// The length of a product's sum if it is the last dim of the lhs alone, else 0.
static int64_t stepsAlongRows(ContractionOpInterface op) {
  ContractionLetters letters = op.getLetters();
  auto isSummed = [&](char letter) { return letters.isSummed(letter); };
  if (letters.window || letters.lhs.empty() || !isSummed(letters.lhs.back()) ||
      llvm::count_if(letters.lhs, isSummed) != 1)
    return 0;
  return cast<RankedTensorType>(op->getOperand(0).getType()).getShape().back();
}

std::optional<int64_t> gradc::columnsOfSummedRows(ContractionOpInterface op) {
  ContractionLetters letters = op.getLetters();
  int64_t columns = int64_t(letters.rhs.size()) - 2;
  auto isBatch = [&](char letter) { return letters.isBatch(letter); };
  if (letters.window || columns < 0 || laneDim(op) != columns ||
      !letters.isSummed(letters.rhs.back()) ||
      !llvm::all_of(StringRef(letters.rhs).take_front(columns), isBatch))
    return std::nullopt;
  return columns;
}

int64_t gradc::rowsOfMatrix(ContractionOpInterface op) {
  ContractionLetters letters = op.getLetters();
  int64_t rows = 1;
  for (auto [letter, size] : llvm::zip_equal(
           letters.result, grad::shapeOf(op->getResult(0)).drop_front(letters.windowRank())))
    rows *= letters.isRow(letter) ? size : 1;
  return rows;
}

bool gradc::suitsLaneSums(exec::KernelOp kernel, const exec::Level &level) {
  constexpr int64_t minColumns = 3, minVectors = 8; // together; of a sum
  ContractionOpInterface product = contractionOf(kernel);
  RankedTensorType root = kernel.getRoot();
  if (level.isCuda() || !product || product->getResult(0).getType() != root ||
      root.getRank() == 0 || root.getNumElements() == 0 ||
      !isa<Float32Type, Float64Type>(root.getElementType()) || !isPerElement(kernel, product))
    return false;
  auto isFactor = [&](unsigned i) {
    BlockArgument factor = factorOf(product, i);
    return factor && !kernel.getLayout(factor.getArgNumber()) &&
           getElementTypeOrSelf(factor.getType()) == root.getElementType();
  };
  if (!isFactor(0) || !isFactor(1) || !columnsOfSummedRows(product))
    return false;
  int64_t lanes = level.vectorBytes / widestElement(kernel);
  int64_t rows = rowsOfMatrix(product);
  // Vectors of results run along the columns, where the next tile is.
  return rows * minColumns <= maxLaneSums(level) && rows % lanes != 0 &&
         stepsAlongRows(product) >= minVectors * lanes;
}

bool gradc::suitsLaneSumsOfColumn(ContractionOpInterface op, int64_t lanes) {
  constexpr int64_t minVectors = 4;
  return stepsAlongRows(op) >= minVectors * lanes;
}
