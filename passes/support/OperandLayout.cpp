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

/// The operand whose panels a contraction's vectors come from, and along which of its dims.
static std::optional<std::pair<BlockArgument, int64_t>> panelOperand(exec::KernelOp kernel) {
  for (Operation &op : kernel.getBlock()) {
    auto contraction = dyn_cast<ContractionOpInterface>(op);
    if (!contraction)
      continue;
    auto rhs = dyn_cast<BlockArgument>(op.getOperand(1));
    std::optional<int64_t> dim = laneDim(contraction);
    if (!rhs || !dim || !rhs.hasOneUse())
      return std::nullopt;
    return std::make_pair(rhs, *dim);
  }
  return std::nullopt;
}

PanelAttr gradc::wantedLayout(exec::KernelOp kernel, unsigned operand, const exec::Level &level) {
  if (level.isCuda()) // neighbouring threads read neighbouring elements of a row-major tensor
    return nullptr;
  auto panel = panelOperand(kernel);
  if (!panel || panel->first.getArgNumber() != operand)
    return nullptr;
  auto type = cast<RankedTensorType>(panel->first.getType());
  int64_t lanes = level.vectorBytes / elementBytes(type.getElementType());
  // A matrix of bf16 has one other dim, that of the sums, which are of f32.
  if (type.getElementType().isBF16() && level.bf16Dots && type.getRank() == 2)
    return PanelAttr::get(kernel.getContext(), panel->second, lanes / 2 * level.tileVectors,
                          exec::PanelKind::pairs, 1 - panel->second);
  if (!type.getElementType().isF32() && !type.getElementType().isF64())
    return nullptr;
  return PanelAttr::get(kernel.getContext(), panel->second, lanes * level.tileVectors,
                        suitsWinograd(kernel, level) ? exec::PanelKind::winograd
                                                     : exec::PanelKind::values);
}
