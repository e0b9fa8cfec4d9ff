// Chooses panels along the lanes of a contraction's result; for convolutions by Winograd's
// algorithm, panels of transformed filters.
#include "passes/layout/OperandLayout.h"

#include "dialects/grad/Grad.h"
#include "dialects/grad/TensorTypes.h"
#include "passes/kernel/Clusters.h"
#include "passes/layout/FactorPanels.h"
#include "passes/layout/Winograd.h"

using namespace mlir;
using namespace gradc;
using namespace mlir::grad;
using exec::PanelAttr;

/// The steps of a sum that AMX takes together: a row of a tile register.
static constexpr int64_t amxSteps = 32;

std::optional<int64_t> gradc::laneDim(ContractionOpInterface op) {
  ContractionLetters letters = op.getLetters();
  if (letters.result.empty() || !letters.isColumn(letters.result.back()))
    return std::nullopt;
  return letters.dimOf(letters.rhs, letters.result.back());
}

/// Whether the rhs is a batch of matrices.
static bool isBatched(ContractionOpInterface op) {
  ContractionLetters letters = op.getLetters();
  return !letters.window &&
         llvm::any_of(letters.rhs, [&](char letter) { return letters.isBatch(letter); });
}

/// Whether the kernel also reduces the product's batch: a tile of its root reads the columns of all
/// matrices.
static bool reducesBatch(exec::KernelOp kernel, ContractionOpInterface product) {
  auto type = cast<RankedTensorType>(product->getResult(0).getType());
  return type.getRank() > kernel.getRoot().getRank();
}

static ContractionOpInterface contractionOf(exec::KernelOp kernel) {
  auto contractions = kernel.getBlock().getOps<ContractionOpInterface>();
  return contractions.empty() ? ContractionOpInterface() : *contractions.begin();
}

/// Operand `i` of the contraction, if it is an operand of the kernel that nothing else there reads.
static BlockArgument argumentOf(ContractionOpInterface contraction, unsigned i) {
  auto argument = dyn_cast<BlockArgument>(contraction->getOperand(i));
  return argument && argument.hasOneUse() ? argument : BlockArgument();
}

/// Whether a register tile leaves room for both halves of pairs. The instruction takes them whole.
static bool hasRoomForPairs(const exec::Level &level) {
  int64_t halves = 2 * (level.tileVectors + 1);
  return level.bf16Dots || level.tileRows * level.tileVectors + halves <= level.vectorRegisters;
}

/// Whether the factors are unsigned and signed bytes, as instructions multiply them.
static bool multipliesBytes(ContractionOpInterface op) {
  Type lhs = getElementTypeOrSelf(op->getOperand(0).getType()),
       rhs = getElementTypeOrSelf(op->getOperand(1).getType());
  return lhs.isUnsignedInteger(8) && rhs.isSignlessInteger(8);
}

/// The two matrix dims of a factor: the summed dim, and the other one. None for other factors, and
/// if the level reads no pairs. A convolution sums pairs of channels for every tap, and the
/// gradient of its filter pairs of pictures for every position.
struct DotDims {
  int64_t summed, other;
};
static std::optional<DotDims> dotDims(ContractionOpInterface op, unsigned i,
                                      const exec::Level &level) {
  ContractionLetters letters = op.getLetters();
  StringRef own = i == 0 ? letters.lhs : letters.rhs;
  bool isOfBytes = multipliesBytes(op);
  bool isOfBf16 = getElementTypeOrSelf(op->getOperand(i).getType()).isBF16();
  if (own.size() < 2 || !(isOfBytes || (isOfBf16 && hasRoomForPairs(level))))
    return std::nullopt;
  // AMX's rows are evenly spaced, those of windows are not.
  if (isOfBf16 && letters.window && (level.amxRows || winogradGradientOutputs(op, level)))
    return std::nullopt;
  std::optional<int64_t> summed, other;
  for (auto [d, letter] : llvm::enumerate(own)) {
    if (letters.isBatch(letter))
      continue;
    std::optional<int64_t> &dim = letters.isSummed(letter) ? summed : other;
    if (dim)
      return std::nullopt;
    dim = letters.windowRank() + int64_t(d);
  }
  return summed && other ? std::optional<DotDims>({*summed, *other}) : std::nullopt;
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
    BlockArgument factor = argumentOf(product, i);
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

PanelAttr gradc::layoutOfView(PanelAttr layout, RankedTensorType from, RankedTensorType to) {
  auto isLast = [](int64_t dim, RankedTensorType type) { return dim + 1 == type.getRank(); };
  bool keepsPanels = layout && layout.getKind() == exec::PanelKind::values &&
                     isLast(layout.getDim(), from) && to.getRank() > 0 &&
                     from.getShape().back() == to.getShape().back();
  return keepsPanels ? PanelAttr::get(layout.getContext(), to.getRank() - 1, layout.getWidth())
                     : PanelAttr();
}

PanelAttr gradc::wantedLayout(exec::KernelOp kernel, unsigned operand, const exec::Level &level) {
  if (level.isCuda()) // neighbouring threads read neighbouring elements of a row-major tensor
    return nullptr;
  ContractionOpInterface contraction = contractionOf(kernel);
  BlockArgument rhs = contraction ? argumentOf(contraction, 1) : BlockArgument();
  std::optional<int64_t> lanesAlong = rhs ? laneDim(contraction) : std::nullopt;
  if (!lanesAlong)
    return nullptr;
  MLIRContext *context = kernel.getContext();
  int64_t width = level.vectorBytes / 4 * level.tileVectors; // the sums are of f32
  bool isOfBytes = multipliesBytes(contraction);
  auto interleaved = [&](DotDims dims) {
    auto kind = isOfBytes ? exec::PanelKind::quads : exec::PanelKind::pairs;
    return PanelAttr::get(context, dims.other, width, kind, dims.summed);
  };
  std::optional<DotDims> columns = dotDims(contraction, 1, level);
  BlockArgument lhs = argumentOf(contraction, 0);
  if (lhs && lhs.getArgNumber() == operand) {
    // A lhs with the sum along its rows has words as it is. AMX reads it in such rows only.
    std::optional<DotDims> rows = dotDims(contraction, 0, level);
    bool isAcross = rows && rows->summed + 1 < cast<RankedTensorType>(lhs.getType()).getRank();
    if (!columns || !isAcross)
      return nullptr;
    bool byAmx = level.amxRows && !isOfBytes;
    return byAmx ? PanelAttr::get(context, rows->summed, amxSteps) : interleaved(*rows);
  }
  if (rhs.getArgNumber() != operand)
    return nullptr;
  int64_t outputs = winogradOutputs(kernel, level);
  if (columns && !outputs)
    return interleaved(*columns);
  if (isBatched(contraction) && !reducesBatch(kernel, contraction)) // stays as it is
    return nullptr;
  Type element = getElementTypeOrSelf(rhs.getType());
  bool ofFloats = isa<FloatType>(getElementTypeOrSelf(contraction->getOperand(0).getType()));
  if (!ofFloats)
    return nullptr;
  if (rowsOfFewColumns(kernel, level))
    return nullptr;
  int64_t bytes = std::max<int64_t>(elementBytes(element), 4); // of the sums
  return PanelAttr::get(context, *lanesAlong, level.vectorBytes / bytes * level.tileVectors,
                        outputs == 4   ? exec::PanelKind::winograd4x4
                        : outputs == 2 ? exec::PanelKind::winograd2x2
                                       : exec::PanelKind::values);
}

bool gradc::servesDots(exec::KernelOp kernel, unsigned operand, const exec::Level &level) {
  PanelAttr wanted = wantedLayout(kernel, operand, level);
  if (!wanted || wanted.isInterleaved())
    return bool(wanted);
  BlockArgument lhs = argumentOf(contractionOf(kernel), 0);
  return lhs && lhs.getArgNumber() == operand;
}
