// Gives products of bf16 pairs the factors that are no states in pairs.
#include "dialects/exec/Exec.h"
#include "dialects/exec/Level.h"
#include "passes/Passes.h"
#include "passes/support/CopyKernel.h"
#include "passes/support/CostModel.h"
#include "passes/support/KernelTable.h"
#include "passes/support/ModuleLevel.h"
#include "passes/support/OperandLayout.h"

using namespace mlir;
using exec::PanelAttr;

namespace gradc {
#define GEN_PASS_DEF_PACKFACTORS
#include "passes/Passes.h.inc"

namespace {

/// 1. Of each launch, in program order, finds the factors that its kernel wants in pairs and that
///    are row-major.
/// 2. Asks the cost model whether packing them pays.
/// 3. Packs them in front of the launch, or takes what an earlier launch of the block packed.
/// 4. Gives the launch the kernel's variant for these layouts.
class Packer {
public:
  Packer(ModuleOp module, const exec::Level &level)
      : module(module), symbols(module), kernels(module, symbols), level(level) {}

  void pack(exec::LaunchOp launch) {
    auto kernel = symbols.lookup<exec::KernelOp>(launch.getKernel());
    SmallVector<std::pair<OpOperand *, PanelAttr>> factors;
    SmallVector<Type> copied;
    for (OpOperand &operand : launch->getOpOperands()) {
      PanelAttr wanted = wantedLayout(kernel, operand.getOperandNumber(), level);
      if (!wanted || !wanted.isOfPairs())
        continue;
      PanelAttr current = kernel.getLayout(operand.getOperandNumber());
      if (current == wanted)
        continue;
      if (current) // for another product
        return;
      factors.push_back({&operand, wanted});
      if (!packed.contains({operand.get(), wanted}))
        copied.push_back(operand.get().getType());
    }
    if (factors.empty() || !CostModel(level).paysPacking(kernel, copied))
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

  /// Regions do not see each other's values.
  void pack(Block &block) {
    packed.clear();
    for (auto launch : llvm::to_vector(block.getOps<exec::LaunchOp>()))
      pack(launch);
  }

  void eraseUnused() {
    exec::KernelLaunches launches = exec::launchesByKernel(module);
    for (auto kernel : llvm::to_vector(module.getOps<exec::KernelOp>()))
      if (!launches.contains(kernel.getSymNameAttr()))
        kernel.erase();
  }

private:
  Value copyOf(exec::LaunchOp reader, Value value, PanelAttr layout) {
    auto type = cast<RankedTensorType>(value.getType());
    exec::KernelOp kernel = kernels.findOrInsert(
        createCopyKernel(type, /*from=*/nullptr, {layout, nullptr}), module.getBody()->begin());
    OpBuilder builder(reader);
    return launchCopy(builder, reader.getLoc(), kernel, value).getResult(0);
  }

  ModuleOp module;
  SymbolTable symbols;
  KernelTable kernels;
  const exec::Level &level;
  llvm::DenseMap<std::pair<Value, PanelAttr>, Value> packed; ///< in one block
};

struct PackFactors : impl::PackFactorsBase<PackFactors> {
  void runOnOperation() override {
    const exec::Level *level = levelOrNative(getOperation());
    if (!level)
      return signalPassFailure();
    if (level->isCuda()) // reads no pairs
      return;
    Packer packer(getOperation(), *level);
    for (auto function : getOperation().getOps<func::FuncOp>())
      function.walk([&](Block *block) { packer.pack(*block); });
    packer.eraseUnused();
  }
};

} // namespace
} // namespace gradc
