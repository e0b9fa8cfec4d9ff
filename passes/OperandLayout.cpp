// Panels along the lanes of a contraction's result; for convolutions that Winograd's algorithm
// computes, of transformed filters.
#include "passes/OperandLayout.h"

#include "dialects/grad/Grad.h"
#include "passes/Clusters.h"

using namespace mlir;
using namespace gradc;
using namespace mlir::grad;
using exec::PanelAttr;

/// The dim of a contraction's rhs that runs along the result's last one: the lanes. Names the ops:
/// each says in its own way how its operands lie.
static std::optional<int64_t> laneDim(Operation *op) {
  if (auto matmul = dyn_cast<MatmulOp>(op)) {
    if (matmul.getRhs().getType().getRank() != 2)
      return std::nullopt;
    return matmul.getTransposeRhs() ? 0 : 1;
  }
  if (auto convolution = dyn_cast<ConvolutionOp>(op)) {
    auto [lhs, rhs, result] = convolution.getLetters();
    size_t at = rhs.find(result.back());
    if (at != StringRef::npos && !lhs.contains(result.back()))
      return convolution.getWindow().getRank() + at;
  }
  return std::nullopt;
}

/// The operand whose panels a contraction's vectors come from, and along which of its dims.
static std::optional<std::pair<BlockArgument, int64_t>> panelOperand(exec::KernelOp kernel) {
  for (Operation &op : kernel.getBlock()) {
    if (loopKind(&op) != LoopKind::contraction)
      continue;
    auto rhs = dyn_cast<BlockArgument>(op.getOperand(1));
    std::optional<int64_t> dim = laneDim(&op);
    if (!rhs || !dim || !rhs.hasOneUse())
      return std::nullopt;
    return std::make_pair(rhs, *dim);
  }
  return std::nullopt;
}

/// Whether the contraction of a kernel is a 3x3 convolution that F(2x2, 3x3) computes: pictures of
/// even size, channels in whole vectors and panels, and nothing in the kernel of another shape.
/// Names the op, and reads of it how its operands lie.
static bool suitsWinograd(exec::KernelOp kernel, const exec::Level &level) {
  auto convolutions = kernel.getBlock().getOps<ConvolutionOp>();
  if (convolutions.empty())
    return false;
  ConvolutionOp op = *convolutions.begin();
  auto [lhs, rhs, result] = op.getLetters();
  WindowAttr window = op.getWindow();
  ArrayRef<int64_t> shape = op.getType().getShape();
  auto isAll = [](ArrayRef<int64_t> values, int64_t one) {
    return llvm::all_of(values, [&](int64_t v) { return v == one; });
  };
  if (window.getSize() != ArrayRef<int64_t>{3, 3} || !isAll(window.getStride(), 1) ||
      !isAll(window.getBase(), 1) || !isAll(window.getDilation(), 1) || lhs.size() != 2 ||
      rhs.size() != 2 || result.size() != 2 || lhs[0] != result[0] || rhs.contains(lhs[0]))
    return false;
  bool isNonNegative = llvm::all_of(window.getLow(), [](int64_t v) { return v >= 0; }) &&
                       llvm::all_of(window.getHigh(), [](int64_t v) { return v >= 0; });
  int64_t channels = op.getLhs().getType().getShape().back(), filters = shape.back();
  int64_t lanes = level.vectorBytes / 4;
  if (!isNonNegative || !op.getType().getElementType().isF32() || shape[0] % 2 || shape[1] % 2 ||
      shape[0] < 4 || shape[1] < 4 || std::min(channels, filters) < level.winogradChannels ||
      channels % lanes || filters % (lanes * level.tileVectors))
    return false;
  return llvm::all_of(kernel.getYielded(), [&](Value v) {
    return cast<RankedTensorType>(v.getType()).getShape() == shape;
  });
}

PanelAttr gradc::wantedLayout(exec::KernelOp kernel, unsigned operand, const exec::Level &level) {
  auto panel = panelOperand(kernel);
  if (!panel || panel->first.getArgNumber() != operand)
    return nullptr;
  auto type = cast<RankedTensorType>(panel->first.getType());
  if (!type.getElementType().isF32() && !type.getElementType().isF64())
    return nullptr;
  int64_t lanes = level.vectorBytes / elementBytes(type.getElementType());
  return PanelAttr::get(kernel.getContext(), panel->second, lanes * level.tileVectors,
                        suitsWinograd(kernel, level));
}
