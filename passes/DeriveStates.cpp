// 1. Find settled values: those that only constants, and states that no entry writes, determine.
// 2. Where an op with other operands reads a settled value, choose that value or, if it is not
//    worth storing, values that it is computed from.
// 3. Clone what computes the chosen values into one entry, where CSE merges those that several
//    entries need.
// 4. Make each of them a state, which that entry writes and the others read.
#include "dialects/grad/Grad.h"
#include "passes/Passes.h"
#include "passes/entry/Functions.h"
#include "runtime/include/gradc/entries.h"

#include "mlir/IR/Dominance.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Transforms/CSE.h"
#include "llvm/ADT/StringSet.h"

namespace gradc {
#define GEN_PASS_DEF_DERIVESTATES
#include "passes/Passes.h.inc"
} // namespace gradc

using namespace mlir;
using namespace mlir::grad;

namespace {

/// Computing a value in every run costs at least this many instructions, about 10 us, and this many
/// for each element, which takes longer than reading it from memory.
constexpr int64_t leastWork = 1 << 17, leastWorkPerElement = 4;

/// At most this many times the bytes that a value is computed from: dequantized weights, or
/// positions that are repeated for each row, would fill the memory and be read slowly.
constexpr int64_t mostGrowth = 2;

/// The instructions of an op for all elements. Moving elements counts as 0: it is done by the
/// kernel that reads them.
int64_t workOf(Operation *op) {
  if (auto loops = dyn_cast<LoopsOpInterface>(op)) {
    LoopKind kind = loops.getLoopKind();
    if (kind == LoopKind::movement || kind == LoopKind::view || kind == LoopKind::assembly)
      return 0;
  }
  auto cost = dyn_cast<CostOpInterface>(op);
  if (!cost)
    return 0;
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  return std::max(cost.getFlops(), cost.getInstructions() * type.getNumElements());
}

/// The settled values of a function.
class Settled {
public:
  Settled(func::FuncOp function, llvm::function_ref<bool(ReadOp)> isFixed) {
    for (Operation &op : function.front())
      if (isSettled(&op, isFixed))
        ops.insert(&op);
  }

  bool contains(Operation *op) const { return op && ops.contains(op); }

  /// The settled values that other ops read, and that are worth storing instead of computing them
  /// in every run.
  SmallVector<Value> choose(func::FuncOp function) {
    for (Operation &op : function.front().without_terminator())
      if (!contains(&op))
        for (Value operand : op.getOperands())
          consider(operand);
    return chosen.takeVector();
  }

private:
  bool isSettled(Operation *op, llvm::function_ref<bool(ReadOp)> isFixed) const {
    if (auto read = dyn_cast<ReadOp>(op))
      return isFixed(read);
    if (isa<ConstantOp>(op))
      return true;
    // Ops without operands may have other values in each run, and collectives on each rank.
    return op->getNumOperands() > 0 && op->getNumRegions() == 0 && isPure(op) &&
           !isa<CollectiveOpInterface>(op) && llvm::all_of(op->getOperands(), [&](Value operand) {
             return contains(operand.getDefiningOp());
           });
  }

  void consider(Value value) {
    Operation *op = value.getDefiningOp();
    if (!contains(op) || op->getNumOperands() == 0 || !considered.insert(value).second)
      return;
    if (isWorthStoring(value))
      chosen.insert(value);
    else
      llvm::for_each(op->getOperands(), [&](Value operand) { consider(operand); });
  }

  bool isWorthStoring(Value value) const {
    auto type = cast<RankedTensorType>(value.getType());
    if (!type.getElementType().isIntOrFloat() || type.getElementTypeBitWidth() < 8)
      return false;
    Operation *last = value.getDefiningOp();
    int64_t elements = type.getNumElements(), largest = 0;
    for (Value operand : last->getOperands())
      largest = std::max(largest, bytesOf(operand));
    if (bytesOf(type) > largest && workOf(last) < leastWorkPerElement * elements)
      return false; // its operands are smaller, and this op takes little work
    llvm::SetVector<Operation *> above;
    above.insert(last);
    int64_t work = 0, sources = 0;
    for (size_t i = 0; i < above.size(); ++i) {
      Operation *op = above[i];
      if (op->getNumOperands() == 0)
        sources += bytesOf(op->getResult(0));
      else
        work += workOf(op);
      for (Value operand : op->getOperands())
        above.insert(operand.getDefiningOp());
    }
    return work >= std::max(leastWork, leastWorkPerElement * elements) &&
           bytesOf(type) <= mostGrowth * sources;
  }

  llvm::DenseSet<Operation *> ops;
  llvm::DenseSet<Value> considered;
  llvm::SetVector<Value> chosen;
};

/// The entry that computes the states.
class Derivation {
public:
  explicit Derivation(ModuleOp module)
      : module(module), builder(OpBuilder::atBlockEnd(module.getBody())) {}

  void add(func::FuncOp from, ArrayRef<Value> values) {
    if (!function)
      createFunction();
    IRMapping clones;
    for (Value value : values) {
      clone(value.getDefiningOp(), clones);
      replaced.push_back(value);
      results.push_back(clones.lookup(value));
    }
  }

  void finish() {
    if (!function)
      return;
    // The entry returns the values until equal ones are merged.
    func::ReturnOp exit = func::ReturnOp::create(builder, function.getLoc(), results);
    IRRewriter rewriter(module.getContext());
    DominanceInfo dominance(function);
    eliminateCommonSubExpressions(rewriter, dominance, function);
    SmallVector<Value> merged(exit.getOperands());
    exit.erase();
    SymbolTable symbols(module);
    llvm::MapVector<Value, StateOp> states;
    for (auto [value, result] : llvm::zip_equal(replaced, merged)) {
      StateOp &state = states[result];
      if (!state)
        state = createState(symbols, result);
      OpBuilder before(value.getDefiningOp());
      auto read = ReadOp::create(before, value.getLoc(), value.getType(), state.getSymName());
      value.replaceAllUsesWith(read);
    }
    func::ReturnOp::create(builder, function.getLoc());
  }

private:
  void createFunction() {
    function = func::FuncOp::create(builder, module.getLoc(), GRADC_DERIVE_ENTRY,
                                    builder.getFunctionType({}, {}));
    function->setAttr("grad.entry", builder.getStringAttr(GRADC_DERIVE_ENTRY));
    builder.setInsertionPointToEnd(function.addEntryBlock());
  }

  void clone(Operation *op, IRMapping &clones) {
    if (clones.contains(op))
      return;
    for (Value operand : op->getOperands())
      clone(operand.getDefiningOp(), clones);
    builder.clone(*op, clones);
  }

  StateOp createState(SymbolTable &symbols, Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    OpBuilder anywhere(module.getContext());
    auto zero = DenseElementsAttr::get(type, anywhere.getZeroAttr(type.getElementType()));
    auto state =
        StateOp::create(anywhere, value.getLoc(), "derived", StateKind::derived, type, zero);
    symbols.insert(state, llvm::find_if_not(*module.getBody(), llvm::IsaPred<StateOp>));
    WriteOp::create(builder, value.getLoc(), state.getSymName(), value);
    return state;
  }

  ModuleOp module;
  OpBuilder builder;
  func::FuncOp function;
  SmallVector<Value> replaced, results;
};

struct DeriveStates : gradc::impl::DeriveStatesBase<DeriveStates> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    llvm::StringSet<> written;
    module.walk([&](WriteOp write) { written.insert(write.getState()); });
    SymbolTable symbols(module);
    auto isFixed = [&](ReadOp read) {
      auto state = symbols.lookup<StateOp>(read.getState());
      return state && !written.contains(read.getState()) && !state.getShard();
    };
    Derivation derivation(module);
    SmallVector<func::FuncOp> changed;
    for (func::FuncOp function : llvm::to_vector(gradc::functionsOf(module))) {
      if (!isRunOften(function))
        continue;
      if (SmallVector<Value> values = Settled(function, isFixed).choose(function);
          !values.empty()) {
        derivation.add(function, values);
        changed.push_back(function);
      }
    }
    derivation.finish();
    for (func::FuncOp function : changed)
      for (Operation &op : llvm::make_early_inc_range(llvm::reverse(function.front())))
        if (isOpTriviallyDead(&op))
          op.erase();
  }

  /// An entry without inputs runs once, for an export. The models of map stages run in sessions
  /// that have values for constants only, and a rank that is a stage has only the states of its
  /// stage.
  static bool isRunOften(func::FuncOp function) {
    StringRef name = function.getSymName();
    return function.getNumArguments() > 0 && function->hasAttr("grad.entry") &&
           !name.starts_with(GRADC_MAP_PREFIX) && !name.contains(GRADC_STAGE_INFIX);
  }
};

} // namespace
