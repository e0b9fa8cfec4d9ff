// A copy kernel has at most one movement and one rounding, and is named for its layout change.
#include "passes/layout/CopyKernel.h"

#include "dialects/grad/Build.h"
#include "dialects/grad/Grad.h"
#include "passes/kernel/Clusters.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

exec::KernelOp gradc::createCopyKernel(RankedTensorType type, exec::PanelAttr from, CopyForm to,
                                       ArrayRef<int64_t> permutation) {
  bool widens = to.element && elementBytes(to.element) > elementBytes(type.getElementType());
  StringRef name = to.layout    ? "pack"
                   : widens     ? "widen"
                   : to.element ? "narrow"
                   : from       ? "unpack"
                                : "copy";
  auto kernel = exec::createKernel(type.getContext(), name, type);
  Location loc = kernel.getLoc();
  OpBuilder builder = OpBuilder::atBlockEnd(&kernel.getBlock());
  Value value = kernel.getBlock().getArgument(0);
  if (!llvm::is_sorted(permutation))
    value = TransposeOp::create(builder, loc, value, permutation);
  if (to.element) {
    auto narrow = cast<RankedTensorType>(value.getType()).clone(to.element);
    value = CastOp::create(builder, loc, narrow, value, /*storage=*/true);
  }
  exec::YieldOp::create(builder, loc, value);
  kernel.setFlops(0);
  kernel.setBytes(exec::layoutBytes(type, from) +
                  exec::layoutBytes(cast<RankedTensorType>(value.getType()), to.layout));
  if (from || to.layout) {
    kernel.setLayout(0, from);
    kernel.setLayout(1, to.layout);
  }
  return kernel;
}

exec::KernelOp gradc::createMirrorKernel(RankedTensorType type, exec::PanelAttr from,
                                         CopyForm mirror) {
  exec::PanelAttr panel = mirror.layout;
  if (!panel)
    return createCopyKernel(type, from, mirror);
  SmallVector<int64_t> order = otherDims(type.getRank(), {panel.getDim()});
  order.push_back(panel.getDim());
  int64_t interleaved =
      panel.isInterleaved() ? llvm::find(order, panel.getInterleaved()) - order.begin() : -1;
  mirror.layout = exec::PanelAttr::get(type.getContext(), type.getRank() - 1, panel.getWidth(),
                                       panel.getKind(), interleaved);
  return createCopyKernel(type, from, mirror, order);
}

Type gradc::narrowedElement(exec::KernelOp kernel) {
  Block &block = kernel.getBlock();
  if (block.getNumArguments() != 1 || kernel.getYielded().size() != 1 ||
      !llvm::hasNItems(block.begin(), block.end(), 2))
    return nullptr;
  Type from = getElementTypeOrSelf(block.getArgument(0)),
       to = getElementTypeOrSelf(kernel.getYielded().front());
  bool isRounding = loopKind(&block.front()) == LoopKind::elementwise && isa<FloatType>(from) &&
                    isa<FloatType>(to) && elementBytes(to) < elementBytes(from);
  return isRounding ? to : nullptr;
}

exec::LaunchOp gradc::launchCopy(OpBuilder &builder, Location location, exec::KernelOp kernel,
                                 Value value) {
  Type type = kernel.getYielded().front().getType();
  auto launch = exec::LaunchOp::create(builder, location, type, kernel.getSymName(), value);
  launch->setAttr("exec.nodes", builder.getArrayAttr({}));
  return launch;
}
