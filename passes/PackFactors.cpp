// Packs factors of products that are not states: in words of 32 bits for bf16 and bytes, in panels
// across their rows, or transformed for Winograd's convolutions.
#include "dialects/exec/Exec.h"
#include "dialects/exec/Level.h"
#include "dialects/grad/Build.h"
#include "passes/Passes.h"
#include "passes/entry/Functions.h"
#include "passes/entry/ModuleLevel.h"
#include "passes/kernel/CostModel.h"
#include "passes/kernel/KernelTable.h"
#include "passes/layout/CopyKernel.h"
#include "passes/layout/OperandLayout.h"

using namespace mlir;
using exec::PanelAttr;

namespace gradc {
#define GEN_PASS_DEF_PACKFACTORS
#include "passes/Passes.h.inc"

namespace {

/// Min rows of a product for which packing a transposed rhs saves more time than it takes.
constexpr int64_t minPackedRows = 128;

/// 1. For each launch, in program order, find the row-major factors that its kernel needs in words
///    or rows for dot products, reads across their rows, or as a transformed filter.
/// 2. Check that packing pays: the cost model decides for dot products and filters; otherwise the
///    product must have many rows, since each row of the register tile pays for strided loads.
/// 3. Pack the factors before the launch, or reuse those packed for an earlier launch of the block.
/// 4. Switch the launch to the kernel's variant for these layouts.
class Packer {
public:
  Packer(ModuleOp module, const exec::Level &level)
      : module(module), symbols(module), kernels(module, symbols), level(level) {}

  void pack(exec::LaunchOp launch) {
    auto kernel = symbols.lookup<exec::KernelOp>(launch.getKernel());
    SmallVector<std::pair<OpOperand *, PanelAttr>> factors;
    SmallVector<Type> copied; // factors to pack for dot products
    for (OpOperand &operand : launch->getOpOperands()) {
      PanelAttr wanted = wantedLayout(kernel, operand.getOperandNumber(), level);
      bool isForDots = servesDots(kernel, operand.getOperandNumber(), level);
      if (!wanted || !(isForDots || paysPanels(kernel, operand, wanted)))
        continue;
      PanelAttr current = kernel.getLayout(operand.getOperandNumber());
      if (current == wanted || (current && !isForDots))
        continue;
      if (current) // already packed for another product
        return;
      factors.push_back({&operand, wanted});
      if (isForDots && !packed.contains({operand.get(), wanted}))
        copied.push_back(operand.get().getType());
    }
    if (factors.empty() || (!copied.empty() && !CostModel(level).paysPacking(kernel, copied)))
      return;
    auto variant = cast<exec::KernelOp>(kernel->clone());
    for (auto [operand, wanted] : factors) {
      variant.setLayout(operand->getOperandNumber(), wanted);
      Value &copy = packed[{operand->get(), wanted}];
      if (!copy)
        copy = copyOf(launch, operand->get(), wanted);
      operand->set(copy);
    }
    launch.setKernel(kernels.findOrInsert(variant, module.getBody()->begin()).getSymName());
  }

  /// Handles regions separately, because they do not see each other's values.
  void pack(Block &block) {
    packed.clear();
    for (auto launch : llvm::to_vector(block.getOps<exec::LaunchOp>()))
      pack(launch);
  }

private:
  /// Whether a product with many rows reads panels of values across the factor's rows, or the
  /// factor is a filter whose transform pays.
  bool paysPanels(exec::KernelOp kernel, OpOperand &operand, PanelAttr wanted) {
    auto type = cast<RankedTensorType>(operand.get().getType());
    if (wanted.isWinograd())
      return packed.contains({operand.get(), wanted}) || // it costs nothing more
             CostModel(level).paysTransform(kernel, type, wanted);
    return wanted.getKind() == exec::PanelKind::values && wanted.getDim() + 1 != type.getRank() &&
           type.getNumElements() > 0 &&
           kernel.getRoot().getNumElements() / type.getDimSize(wanted.getDim()) >= minPackedRows;
  }

  /// The value in panels. A filter is transformed like a mirror, with its dims in another order.
  /// The bytes are the same, so its reader sees them through a view.
  Value copyOf(exec::LaunchOp reader, Value value, PanelAttr layout) {
    auto type = cast<RankedTensorType>(value.getType());
    CopyForm form{layout, nullptr};
    exec::KernelOp copy = layout.isWinograd() ? createMirrorKernel(type, /*from=*/nullptr, form)
                                              : createCopyKernel(type, /*from=*/nullptr, form);
    exec::KernelOp kernel = kernels.findOrInsert(copy, module.getBody()->begin());
    OpBuilder builder(reader);
    Value panels = launchCopy(builder, reader.getLoc(), kernel, value).getResult(0);
    return builder.createOrFold<grad::ReshapeOp>(reader.getLoc(), type, panels);
  }

  ModuleOp module;
  SymbolTable symbols;
  KernelTable kernels;
  const exec::Level &level;
  llvm::DenseMap<std::pair<Value, PanelAttr>, Value> packed; ///< of the current block
};

struct PackFactors : impl::PackFactorsBase<PackFactors> {
  void runOnOperation() override {
    const exec::Level *level = levelOrNative(getOperation());
    if (!level)
      return signalPassFailure();
    if (level->isCuda()) // GPU kernels read no words
      return;
    Packer packer(getOperation(), *level);
    for (auto function : functionsOf(getOperation()))
      function.walk([&](Block *block) { packer.pack(*block); });
    exec::eraseUnusedKernels(getOperation());
  }
};

} // namespace
} // namespace gradc
