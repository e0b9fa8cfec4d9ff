// Makes updates of parameters that ranks divide kernels over lists of elements.
#include "dialects/exec/Exec.h"
#include "dialects/grad/Grad.h"
#include "dialects/grad/TensorTypes.h"
#include "passes/Passes.h"
#include "passes/entry/Functions.h"
#include "passes/kernel/Clusters.h"
#include "passes/kernel/KernelTable.h"
#include "passes/training/TrainedStates.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::grad;

namespace gradc {
#define GEN_PASS_DEF_FLATTENUPDATES
#include "passes/Passes.h.inc"

namespace {

/// For each launch with a result that ranks gather, or that is stored to a divided slot:
/// 1. Its kernel is cloned with lists in the place of tensors, if it computes element by element
///    and all tensors lie in the same layout without padding. Lists then hold the elements in the
///    order of memory. That order may differ from a reshape's: such a kernel does not mind, as long
///    as its operands and results share it.
/// 2. The launch reads its operands through reshapes, which are views.
/// 3. Gathers and stores take the lists as they are; other readers reshape them back.
class Flattener {
public:
  explicit Flattener(ModuleOp module) : module(module), symbols(module), kernels(module, symbols) {}

  void run() {
    for (auto function : functionsOf(module))
      for (auto launch : llvm::to_vector(function.getOps<exec::LaunchOp>()))
        if (llvm::any_of(launch.getResults(), [&](Value v) { return isDivided(v); }))
          flatten(launch);
    exec::KernelLaunches launches = exec::launchesByKernel(module);
    for (StringAttr name : replaced)
      if (!launches.contains(name))
        symbols.erase(symbols.lookup(name));
  }

private:
  bool isDivided(Value value) {
    return llvm::any_of(value.getUsers(), [&](Operation *user) {
      if (auto store = dyn_cast<exec::StoreOp>(user)) {
        auto buffer = symbols.lookup<exec::BufferOp>(store.getBuffer());
        return symbols.lookup(buffer.getState())->hasAttr(cutName);
      }
      return isGather(user);
    });
  }

  static bool isGather(Operation *op) {
    auto collective = dyn_cast<CollectiveOpInterface>(op);
    return collective && collective.getCollectiveKind() == CollectiveKind::gather;
  }

  /// Whether each element of an op's results depends on the same element of its operands alone.
  static bool isByElement(Operation &op, ArrayRef<int64_t> shape) {
    auto isNumber = [](Value v) { return shapeOf(v).empty(); };
    auto isShaped = [&](Value v) { return shapeOf(v) == shape; };
    if (llvm::all_of(op.getResults(), isNumber))
      return llvm::all_of(op.getOperands(), isNumber);
    if (!llvm::all_of(op.getResults(), isShaped))
      return false;
    if (matchPattern(&op, m_Constant()))
      return cast<ConstantOp>(op).getValue().isSplat();
    if (op.getNumOperands() == 0)
      return false;
    if (loopKind(&op) == LoopKind::movement) // the same number everywhere
      return llvm::all_of(op.getOperands(), isNumber);
    return loopKind(&op) == LoopKind::elementwise && llvm::all_of(op.getOperands(), isShaped);
  }

  static bool canFlatten(exec::KernelOp kernel) {
    RankedTensorType root = kernel.getRoot();
    Block &block = kernel.getBlock();
    SmallVector<Value> slices(block.getArguments());
    llvm::append_range(slices, kernel.getYielded());
    exec::PanelAttr layout = kernel.getLayout(unsigned(slices.size()) - 1);
    auto isAlike = [&](auto indexed) {
      auto [i, v] = indexed;
      return shapeOf(v).empty() ||
             (shapeOf(v) == root.getShape() && kernel.getLayout(unsigned(i)) == layout);
    };
    return root.getRank() > 1 && llvm::all_of(llvm::enumerate(slices), isAlike) &&
           exec::layoutBytes(root, layout) == bytesOf(root) &&
           llvm::all_of(block.without_terminator(),
                        [&](Operation &op) { return isByElement(op, root.getShape()); });
  }

  exec::KernelOp flattened(exec::KernelOp kernel) {
    auto flat = cast<exec::KernelOp>(kernel->clone());
    flat.removeLayoutsAttr();
    auto retype = [](Value v) {
      if (!shapeOf(v).empty())
        v.setType(listOf(v.getType()));
    };
    llvm::for_each(flat.getBlock().getArguments(), retype);
    for (Operation &op : flat.getBlock().without_terminator()) {
      llvm::for_each(op.getResults(), retype);
      if (auto constant = dyn_cast<ConstantOp>(op))
        constant.setValueAttr(cast<DenseElementsAttr>(constant.getValue())
                                  .resizeSplat(cast<ShapedType>(constant.getType())));
    }
    return kernels.findOrInsert(flat, Block::iterator(kernel));
  }

  static RankedTensorType listOf(Type type) {
    auto shaped = cast<RankedTensorType>(type);
    return shaped.clone(ArrayRef<int64_t>{shaped.getNumElements()});
  }

  void flatten(exec::LaunchOp launch) {
    auto kernel = symbols.lookup<exec::KernelOp>(launch.getKernel());
    if (!canFlatten(kernel))
      return;
    replaced.insert(kernel.getSymNameAttr());
    launch.setKernel(flattened(kernel).getSymName());
    OpBuilder builder(launch);
    for (OpOperand &operand : launch->getOpOperands())
      if (!shapeOf(operand.get()).empty())
        operand.set(ReshapeOp::create(builder, launch.getLoc(), listOf(operand.get().getType()),
                                      operand.get()));
    for (Value result : launch.getResults())
      if (!shapeOf(result).empty())
        makeList(result);
  }

  /// Gives a value the type of a list.
  void makeList(Value value) {
    auto shaped = cast<RankedTensorType>(value.getType());
    value.setType(listOf(shaped));
    Value back;
    for (OpOperand &use : llvm::make_early_inc_range(value.getUses())) {
      if (isa<exec::StoreOp>(use.getOwner()))
        continue;
      if (isGather(use.getOwner())) {
        makeList(use.getOwner()->getResult(use.getOperandNumber()));
        continue;
      }
      if (!back) {
        OpBuilder builder(value.getContext());
        builder.setInsertionPointAfterValue(value);
        back = ReshapeOp::create(builder, value.getLoc(), shaped, value);
      }
      use.set(back);
    }
  }

  ModuleOp module;
  SymbolTable symbols;
  KernelTable kernels;
  llvm::SetVector<StringAttr> replaced; ///< kernels
};

struct FlattenUpdates : impl::FlattenUpdatesBase<FlattenUpdates> {
  void runOnOperation() override { Flattener(getOperation()).run(); }
};

} // namespace
} // namespace gradc
