// Panels along the lanes of a contraction's result; for convolutions that Winograd's algorithm
// computes, of transformed filters.
#include "passes/support/OperandLayout.h"

#include "dialects/grad/Grad.h"
#include "passes/support/Winograd.h"

using namespace mlir;
using namespace gradc;
using namespace mlir::grad;
using exec::PanelAttr;

/// The dim of a contraction's rhs that runs along the result's last one: the lanes. A batch of
/// matrices stays as it is.
static std::optional<int64_t> laneDim(ContractionOpInterface op) {
  ContractionLetters letters = op.getLetters();
  auto isBatch = [&](char letter) { return letters.isBatch(letter); };
  if (letters.result.empty() || !letters.isColumn(letters.result.back()) ||
      (!letters.window && llvm::any_of(letters.rhs, isBatch)))
    return std::nullopt;
  return letters.dimOf(letters.rhs, letters.result.back());
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

/// The summed dim of a matrix of bf16 whose products the level adds up in pairs.
static std::optional<int64_t> pairedDim(ContractionOpInterface op, unsigned i,
                                        const exec::Level &level) {
  auto type = cast<RankedTensorType>(op->getOperand(i).getType());
  if (!level.bf16Dots || !type.getElementType().isBF16() || type.getRank() != 2)
    return std::nullopt;
  ContractionLetters letters = op.getLetters();
  StringRef own = i == 0 ? letters.lhs : letters.rhs;
  for (int64_t d : {0, 1})
    if (own.size() == 2 && letters.isSummed(own[d]) && !letters.isSummed(own[1 - d]))
      return d;
  return std::nullopt;
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
  auto pairs = [&](int64_t paired) {
    return PanelAttr::get(context, 1 - paired, width, exec::PanelKind::pairs, paired);
  };
  BlockArgument lhs = argumentOf(contraction, 0);
  if (lhs && lhs.getArgNumber() == operand) {
    // A lhs with the sum along its rows has pairs as it is.
    std::optional<int64_t> paired = pairedDim(contraction, 0, level);
    return paired == 0 && pairedDim(contraction, 1, level) ? pairs(0) : PanelAttr();
  }
  if (rhs.getArgNumber() != operand)
    return nullptr;
  if (std::optional<int64_t> paired = pairedDim(contraction, 1, level))
    return pairs(*paired);
  Type element = getElementTypeOrSelf(rhs.getType());
  if (!isa<FloatType>(element))
    return nullptr;
  int64_t bytes = std::max<int64_t>(elementBytes(element), 4); // of the sums
  return PanelAttr::get(context, *lanesAlong, level.vectorBytes / bytes * level.tileVectors,
                        suitsWinograd(kernel, level) ? exec::PanelKind::winograd
                                                     : exec::PanelKind::values);
}
