// Chooses panels along the lanes of a contraction's result; for convolutions by Winograd's
// algorithm, panels of transformed filters.
#include "passes/layout/OperandLayout.h"

#include "dialects/grad/Grad.h"
#include "dialects/grad/TensorTypes.h"
#include "passes/kernel/Clusters.h"
#include "passes/layout/ProductLanes.h"
#include "passes/layout/Winograd.h"

using namespace mlir;
using namespace gradc;
using namespace mlir::grad;
using exec::PanelAttr;

/// The steps of a sum that AMX takes together: a row of a tile register.
static constexpr int64_t amxSteps = 32;

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

/// Whether an operand has numbers for the columns of each matrix of a batch that the kernel
/// reduces, as scales of blocks are: row-major, each matrix's numbers would be on another page.
static bool followsBatch(exec::KernelOp kernel, ContractionOpInterface product, unsigned operand) {
  auto type = cast<RankedTensorType>(kernel.getBlock().getArgument(operand).getType());
  RankedTensorType rhs = typeOf(product->getOperand(1)), root = kernel.getRoot();
  int64_t sum = rhs.getRank() - 2;
  return reducesBatch(kernel, product) && type.getRank() > 1 && sum > 0 &&
         type.getElementType() == root.getElementType() &&
         type.getShape().back() == root.getShape().back() &&
         type.getNumElements() * rhs.getDimSize(sum) == rhs.getNumElements() &&
         llvm::all_of(kernel.getExtentsOf(operand), [](int64_t extent) { return extent == 0; });
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

PanelAttr gradc::layoutOfView(PanelAttr layout, RankedTensorType from, RankedTensorType to) {
  bool keepsPanels = layout && layout.getDim() + 1 == from.getRank() && to.getRank() > 0 &&
                     from.getShape().back() == to.getShape().back();
  if (!keepsPanels)
    return nullptr;
  int64_t last = to.getRank() - 1, words = layout.getTogether();
  if (layout.getKind() == exec::PanelKind::values)
    return PanelAttr::get(layout.getContext(), last, layout.getWidth());
  // Whole words along the dim before the last one are words of a dim that is cut in blocks of them.
  bool keepsWords = layout.isOfNibbles() && layout.getInterleaved() + 2 == from.getRank() &&
                    last > 0 && to.getDimSize(last - 1) % words == 0;
  return keepsWords ? PanelAttr::get(layout.getContext(), last, layout.getWidth(), layout.getKind(),
                                     last - 1)
                    : PanelAttr();
}

PanelAttr gradc::nibblesOf(exec::KernelOp kernel, unsigned operand, PanelAttr wanted) {
  ContractionOpInterface product = contractionOf(kernel);
  BlockArgument rhs = product ? factorOf(product, 1) : BlockArgument();
  if (!wanted || wanted.getKind() != exec::PanelKind::values || !rhs ||
      rhs.getArgNumber() != operand || product.getLetters().window ||
      !getElementTypeOrSelf(product->getOperand(0)).isF32())
    return nullptr;
  auto type = cast<RankedTensorType>(rhs.getType());
  int64_t columns = type.getRank() - 1, sum = columns - 1;
  ContractionLetters letters = product.getLetters();
  if (wanted.getDim() != columns || sum < 0 || !letters.isSummed(letters.rhs[sum]) ||
      llvm::count_if(
          letters.rhs, [&](char letter) { return letters.isSummed(letter); }) != 1 ||
      kernel.getExtentsOf(operand)[sum] != 0)
    return nullptr;
  auto nibbles = PanelAttr::get(kernel.getContext(), columns, wanted.getWidth(),
                                exec::PanelKind::nibbles, sum);
  return type.getDimSize(sum) % nibbles.getTogether() == 0 ? nibbles : PanelAttr();
}

PanelAttr gradc::wantedLayout(exec::KernelOp kernel, unsigned operand, const exec::Level &level) {
  if (level.isCuda()) // neighbouring threads read neighbouring elements of a row-major tensor
    return nullptr;
  ContractionOpInterface contraction = contractionOf(kernel);
  BlockArgument rhs = contraction ? factorOf(contraction, 1) : BlockArgument();
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
  BlockArgument lhs = factorOf(contraction, 0);
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
    return followsBatch(kernel, contraction, operand)
               ? PanelAttr::get(context, kernel.getExtentsOf(operand).size() - 1, width)
               : PanelAttr();
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
  BlockArgument lhs = factorOf(contractionOf(kernel), 0);
  return lhs && lhs.getArgNumber() == operand;
}
