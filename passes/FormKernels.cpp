// Groups ops into kernels by fusing producers into their consumers, and outlines each group.
#include "dialects/exec/Exec.h"
#include "dialects/grad/Build.h"
#include "dialects/grad/EntryAttributes.h"
#include "dialects/grad/RepeatedDims.h"
#include "dialects/grad/TensorTypes.h"
#include "passes/Passes.h"
#include "passes/entry/Functions.h"
#include "passes/graph/ScanEdit.h"
#include "passes/kernel/Clusters.h"
#include "passes/kernel/KernelTable.h"
#include "passes/kernel/Outline.h"
#include "passes/kernel/RepeatedValues.h"

#include "mlir/Analysis/TopologicalSortUtils.h"

using namespace mlir;
using namespace mlir::grad;

namespace gradc {
#define GEN_PASS_DEF_FORMKERNELS
#include "passes/Passes.h.inc"

namespace {

/// Constants up to this size stay as they are: they are read from the first cache.
constexpr int64_t smallBytes = 4096;

/// Whether the constant may be read from a smaller one: a pointwise op repeats it at no cost.
bool mayBeRepeated(ConstantOp op) {
  return bytesOf(op.getType()) > smallBytes && op->hasOneUse() &&
         op->getUsers().begin()->hasTrait<grad::Pointwise>();
}

/// Whether the constant, in an entry that takes any number of rows, holds the same for each row of
/// the batch: a state has no rows. `repeated`: the dims along which it holds the same.
bool repeatsRows(ConstantOp op, ArrayRef<bool> repeated) {
  OpBuilder builder(op);
  return llvm::any_of(llvm::enumerate(repeated), [&](auto dim) {
    return dim.value() && mayHoldBatch(builder, op.getType(), ArrayRef<int64_t>(dim.index()));
  });
}

/// The constant's value as a state has it, and in `dims` those dims that it keeps.
ElementsAttr storedOnce(func::FuncOp function, ConstantOp op, SmallVectorImpl<int64_t> &dims) {
  bool takesRows = function->hasAttr(rowsName), mayRepeat = mayBeRepeated(op);
  if (!takesRows && !mayRepeat)
    return op.getValue();
  HostTensor tensor(op.getValue());
  SmallVector<bool> repeated = repeatedDims(tensor);
  if (!llvm::is_contained(repeated, true) || (!mayRepeat && !repeatsRows(op, repeated)))
    return op.getValue();
  llvm::erase_if(dims, [&](int64_t d) { return repeated[d]; });
  return keepDims(tensor, dims);
}

/// Turns non-splat constants into states: kernels contain only numbers, and data lives in buffers.
/// What repeats along dims, as the sums of a filter's codes do for each position, is stored once.
void constantsToStates(func::FuncOp function, unsigned &counter) {
  function.walk([&](ConstantOp op) {
    ElementsAttr value = op.getValue();
    auto dense = dyn_cast<DenseElementsAttr>(value);
    if (dense && dense.isSplat())
      return;
    RankedTensorType type = op.getType();
    SmallVector<int64_t> dims = llvm::to_vector(llvm::seq(type.getRank()));
    value = storedOnce(function, op, dims);
    OpBuilder builder(function);
    std::string name = llvm::formatv("constant.{0}", counter++);
    StateOp::create(builder, op.getLoc(), name, StateKind::constant, value.getType(), value);
    builder.setInsertionPoint(op);
    auto read = ReadOp::create(builder, op.getLoc(), value.getType(), name);
    op.replaceAllUsesWith(
        builder.createOrFold<BroadcastOp>(op.getLoc(), type, read.getResult(), dims));
    op.erase();
  });
}

/// Erases unused ops, so that no kernel contains them.
void eraseDead(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      op.erase();
}

/// Makes a region read states itself, because its kernels may need them in panels.
void sinkReads(Operation *op) {
  for (unsigned i = op->getNumOperands(); i-- > 0;) {
    auto read = op->getOperand(i).getDefiningOp<ReadOp>();
    SmallVector<BlockArgument> arguments = constantArguments(op->getOpOperand(i));
    if (!read || arguments.empty())
      continue;
    for (BlockArgument argument : arguments) {
      OpBuilder b = OpBuilder::atBlockBegin(argument.getOwner());
      argument.replaceAllUsesWith(b.clone(*read)->getResult(0));
      argument.getOwner()->eraseArgument(argument.getArgNumber());
    }
    if (auto scan = dyn_cast<ScanOp>(op))
      scan.getInvariantsMutable().erase(i - scan.getInvariants().getBeginOperandIndex());
    else
      cast<IfOp>(op).getInputsMutable().erase(i -
                                              cast<IfOp>(op).getInputs().getBeginOperandIndex());
  }
}

/// The blocks of a function whose ops become kernels, outer ones first.
SmallVector<Block *> blocksOf(func::FuncOp function) {
  SmallVector<Block *> blocks;
  function.walk<WalkOrder::PreOrder>([&](Block *block) { blocks.push_back(block); });
  return blocks;
}

/// Whether an op that a kernel would consist of moves nothing but dims of one element: its result
/// is a view of its operand. (With all dims in their places, it reads some of them backwards.)
bool isView(const Cluster &cluster) {
  auto movement = dyn_cast<MovementOpInterface>(cluster.ops.front());
  if (!movement || cluster.ops.size() > 1)
    return false;
  RankedTensorType from = typeOf(movement->getOperand(0)), to = typeOf(movement->getResult(0));
  SmallVector<int64_t> dims = movement.getResultDims(), order;
  for (auto [size, dim] : llvm::zip_equal(from.getShape(), dims))
    if (size != 1)
      order.push_back(dim);
  auto places = llvm::seq<int64_t>(0, to.getRank());
  return movement->getNumOperands() == 1 && from.getNumElements() == to.getNumElements() &&
         llvm::is_sorted(order) && !llvm::equal(dims, places);
}

/// Outlines clusters: one exec.kernel per distinct computation.
class Outliner {
public:
  explicit Outliner(ModuleOp module) : symbols(module), kernels(module, symbols) {}

  void outline(const Cluster &cluster) {
    if (isView(cluster)) {
      Operation *op = cluster.ops.front();
      OpBuilder builder(op);
      auto type = typeOf(op->getResult(0));
      op->getResult(0).replaceAllUsesWith(
          ReshapeOp::create(builder, op->getLoc(), type, op->getOperand(0)));
      return op->erase();
    }
    llvm::SmallPtrSet<Operation *, 16> members(cluster.ops.begin(), cluster.ops.end());
    SmallVector<Value> operands, results;
    for (Operation *op : cluster.ops)
      for (Value v : op->getOperands())
        if (!members.contains(v.getDefiningOp()) && !llvm::is_contained(operands, v))
          operands.push_back(v);
    for (Operation *op : cluster.ops)
      for (Value v : op->getResults())
        if (llvm::any_of(v.getUsers(), [&](Operation *u) { return !members.contains(u); }))
          results.push_back(v);

    Operation *last = cluster.ops.back();
    exec::KernelOp kernel = kernels.findOrInsert(outlineKernel(cluster.ops, operands, results));
    OpBuilder builder(last);
    builder.setInsertionPointAfter(last);
    SmallVector<Attribute> nodes;
    SmallVector<Location> locations;
    for (Operation *op : cluster.ops) {
      collectNodes(op->getLoc(), nodes);
      locations.push_back(op->getLoc());
    }
    auto launch =
        exec::LaunchOp::create(builder, builder.getFusedLoc(locations),
                               TypeRange(ValueRange(results)), kernel.getSymName(), operands);
    launch->setAttr("exec.nodes", builder.getArrayAttr(nodes));
    for (auto [from, to] : llvm::zip(results, launch.getResults()))
      from.replaceUsesWithIf(to, [&](OpOperand &use) { return !members.contains(use.getOwner()); });
    for (Operation *op : llvm::reverse(cluster.ops))
      op->erase();
  }

private:
  SymbolTable symbols;
  KernelTable kernels;
};

struct FormKernels : impl::FormKernelsBase<FormKernels> {
  using FormKernelsBase::FormKernelsBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    unsigned counter = 0;
    for (auto function : functionsOf(module)) {
      function.walk<WalkOrder::PreOrder>([](Operation *op) {
        if (isa<IfOp, ScanOp>(op)) // the ops whose regions contain kernels
          sinkReads(op);
      });
      for (Block *block : blocksOf(function))
        eraseDead(*block);
      constantsToStates(function, counter);
    }
    Outliner outliner(module);
    for (auto function : llvm::to_vector(functionsOf(module)))
      for (Block *block : blocksOf(function)) {
        const exec::KernelLimits &limits = exec::kernelLimits(cuda);
        FailureOr<std::vector<Cluster>> clusters = formClusters(*block, limits);
        if (failed(clusters))
          return signalPassFailure();
        repeatValues(*clusters, limits);
        for (const Cluster &cluster : *clusters)
          outliner.outline(cluster);
        sortTopologically(block);
      }
  }
};

} // namespace
} // namespace gradc
