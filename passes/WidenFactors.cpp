// Converts factors of f16 to f32 before a product, whose inner loops read a number of the lhs many
// times.
#include "dialects/grad/Build.h"
#include "dialects/grad/Grad.h"
#include "passes/Passes.h"
#include "passes/entry/Functions.h"
#include "passes/kernel/KernelTable.h"
#include "passes/layout/CopyKernel.h"
#include "passes/layout/FactorPanels.h"

using namespace mlir;
using namespace mlir::grad;

namespace gradc {
#define GEN_PASS_DEF_WIDENFACTORS
#include "passes/Passes.h.inc"

namespace {

/// A copy is made anew for a reader that comes this many launches after the one before: the f32
/// copy of what a gradient reads would take twice the memory from the forward pass on.
constexpr size_t maxDistance = 8;

class Widener {
public:
  explicit Widener(ModuleOp module) : module(module), symbols(module), kernels(module, symbols) {}

  /// Handles regions separately, because they do not see each other's values.
  void widen(Block &block) {
    copies.clear();
    for (auto [i, launch] : llvm::enumerate(llvm::to_vector(block.getOps<exec::LaunchOp>())))
      widen(launch, i);
  }

private:
  struct Copy {
    Value value;
    size_t reader = 0; ///< the number of its last reader
  };

  void widen(exec::LaunchOp launch, size_t number) {
    auto kernel = symbols.lookup<exec::KernelOp>(launch.getKernel());
    Operation *product = productOf(kernel);
    if (!isa_and_nonnull<ContractionOpInterface>(product)) // or a reduction in loops
      return;
    std::optional<unsigned> lhs = factorOf(product, 0), rhs = factorOf(product, 1);
    if (!lhs || !rhs || isState(launch.getOperand(*lhs)))
      return;
    SmallVector<unsigned> widened{*lhs};
    if (*rhs != *lhs && !isState(launch.getOperand(*rhs)))
      widened.push_back(*rhs);
    for (unsigned operand : widened) {
      Value value = launch.getOperand(operand);
      Copy &copy = copies[value];
      if (!copy.value || number - copy.reader > maxDistance)
        copy.value = copyOf(launch, value);
      copy.reader = number;
      launch.setOperand(operand, copy.value);
    }
    exec::KernelOp variant = variantOf(kernel, product, widened);
    launch.setKernel(kernels.findOrInsert(variant, module.getBody()->begin()).getSymName());
  }

  /// The kernel's operand that is a factor of f16, and read only as a factor.
  static std::optional<unsigned> factorOf(Operation *product, unsigned factor) {
    auto argument = dyn_cast<BlockArgument>(product->getOperand(factor));
    if (!argument || !getElementTypeOrSelf(argument).isF16() ||
        llvm::any_of(argument.getUsers(), [&](Operation *user) { return user != product; }))
      return std::nullopt;
    return argument.getArgNumber();
  }

  /// A state is stored in panels, of which a vector is converted for a whole tile of rows.
  static bool isState(Value value) { return value.getDefiningOp<ReadOp>() != nullptr; }

  Value copyOf(exec::LaunchOp reader, Value value) {
    OpBuilder builder(reader);
    CopyForm form{/*layout=*/nullptr, builder.getF32Type()};
    exec::KernelOp copy =
        createCopyKernel(cast<RankedTensorType>(value.getType()), /*from=*/nullptr, form);
    exec::KernelOp kernel = kernels.findOrInsert(copy, module.getBody()->begin());
    return launchCopy(builder, reader.getLoc(), kernel, value).getResult(0);
  }

  /// The kernel with f32 in those operands. Its product returned the rounded sum, or the sum.
  static exec::KernelOp variantOf(exec::KernelOp kernel, Operation *product,
                                  ArrayRef<unsigned> widened) {
    IRMapping copies;
    auto variant = cast<exec::KernelOp>(kernel->clone(copies));
    OpBuilder builder(copies.lookup(product));
    Type f32 = builder.getF32Type();
    for (unsigned operand : widened) {
      BlockArgument argument = variant.getBlock().getArgument(operand);
      auto type = cast<RankedTensorType>(argument.getType());
      argument.setType(type.clone(f32));
      variant.setBytes(variant.getBytes().value_or(0) + exec::layoutBytes(type, /*panel=*/nullptr));
    }
    Operation *sum = copies.lookup(product);
    sum->setAttr("wide", builder.getUnitAttr());
    Value result = sum->getResult(0);
    auto type = cast<RankedTensorType>(result.getType());
    if (type.getElementType().isF32())
      return variant;
    result.setType(type.clone(f32));
    builder.setInsertionPointAfter(sum);
    auto rounded = CastOp::create(builder, sum->getLoc(), type, result);
    result.replaceAllUsesExcept(rounded, rounded);
    return variant;
  }

  ModuleOp module;
  SymbolTable symbols;
  KernelTable kernels;
  llvm::DenseMap<Value, Copy> copies; ///< of the current block
};

struct WidenFactors : impl::WidenFactorsBase<WidenFactors> {
  void runOnOperation() override {
    Widener widener(getOperation());
    for (auto function : functionsOf(getOperation()))
      function.walk([&](Block *block) { widener.widen(*block); });
    exec::eraseUnusedKernels(getOperation());
  }
};

} // namespace
} // namespace gradc
