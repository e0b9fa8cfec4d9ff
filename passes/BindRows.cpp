// Decides which entries run on any number of rows, and turns their counts into run-time values.
#include "dialects/grad/Build.h"
#include "dialects/grad/control/Control.h"
#include "dialects/grad/math/Count.h"
#include "passes/Passes.h"
#include "passes/entry/EvaluationSets.h"
#include "passes/entry/Extents.h"
#include "passes/entry/Functions.h"
#include "passes/entry/Ports.h"
#include "passes/entry/RowOrder.h"
#include "passes/training/StepAttributes.h"
#include "runtime/include/gradc/entries.h"

#include "llvm/ADT/StringSet.h"

#include <cmath>

using namespace mlir;
using namespace mlir::grad;

namespace gradc {
#define GEN_PASS_DEF_BINDROWS
#include "passes/Passes.h.inc"

namespace {

constexpr StringLiteral exactName = "grad.exact", saidName = "grad.said",
                        comparedName = "grad.compared";

/// The entry that this one is a bucket of; null if it is not a bucket.
func::FuncOp largestOf(func::FuncOp function) {
  size_t at = function.getSymName().rfind(GRADC_ROWS_INFIX);
  if (at == StringRef::npos)
    return {};
  auto module = function->getParentOfType<ModuleOp>();
  return withBody(module.lookupSymbol<func::FuncOp>(function.getSymName().take_front(at)));
}

/// The argument that holds the number of rows.
Value rowsOf(func::FuncOp function) {
  if (Value known = argumentOfRole(function, GRADC_ROLE_ROWS))
    return known;
  StringRef name = gradc_role_name(GRADC_ROLE_ROWS);
  Type type = RankedTensorType::get({}, Float32Type::get(function.getContext()));
  return addArgument(function, type, name, name);
}

/// Emits a remark at `op` why an entry runs on its largest batch only. No remark for its twins (for
/// a last batch, for gradients only, for a set of the evaluation, or for fewer rows), which would
/// only repeat it.
void remarkExact(func::FuncOp function, Operation *op, StringRef reason) {
  StringRef name = function.getSymName();
  if (!name.ends_with(GRADC_TAIL_SUFFIX) && !name.ends_with(GRADC_WATCH_SUFFIX) &&
      !isOfSet(function) && !largestOf(function))
    op->emitRemark("entry \"") << function.getSymName() << "\" takes no other number of rows than "
                               << *batchOf(function) << ": " << reason;
}

/// One entry whose data inputs are batches.
class Entry {
public:
  Entry(func::FuncOp function, int64_t rows)
      : function(function), block(function.getBody().front()), analysis(rows) {}

  /// The entry, or none if no argument is a batch.
  static std::optional<Entry> of(func::FuncOp function) {
    std::optional<int64_t> batch = batchOf(function);
    bool hasBatch = llvm::any_of(llvm::seq(function.getNumArguments()), [&](unsigned i) {
      return function.getArgAttr(i, batchedName) != nullptr;
    });
    // Unless ranks share its rows, a stage of a pipeline takes whole batches.
    bool isWhole = function->hasAttr(ownStageName) && !function->hasAttr(ranksName);
    if (!batch || *batch < 2 || !hasBatch || isWhole)
      return std::nullopt;
    return Entry(function, *batch);
  }

  /// Finds the extents of all values. A failure is reported once, at the op without extents;
  /// `grad.exact` records the reason.
  LogicalResult analyze() {
    if (function->hasAttr(exactName))
      return failure();
    StringRef reason;
    Operation *op = findWithout(reason);
    return op ? makeExact(op, reason) : success();
  }

  /// Whether a bucket of `rows` rows matches this entry op by op: a size in the model file that
  /// happens to equal the batch must scale with the rows in both or in neither. None: not known
  /// yet.
  std::optional<bool> isDoneBy(func::FuncOp bucket, int64_t rows) {
    analysis.followInnerRows();
    StringRef reason;
    if (function->hasAttr(exactName) || findWithout(reason))
      return std::nullopt;
    SmallVector<Operation *> ours = fromBatches(function), theirs = fromBatches(bucket);
    auto isSame = [&](Value a, Value b) { return isOfRows(a, b, rows); };
    auto areSame = [&](auto a, auto b) {
      return a.size() == b.size() && llvm::all_of(llvm::zip(a, b), [&](auto pair) {
               return isSame(std::get<0>(pair), std::get<1>(pair));
             });
    };
    return ours.size() == theirs.size() &&
           areSame(function.getArguments(), bucket.getArguments()) &&
           llvm::all_of(llvm::zip(ours, theirs), [&](auto pair) {
             auto [a, b] = pair;
             return a->getName() == b->getName() && areSame(a->getResults(), b->getResults());
           });
  }

  /// Makes the entry exact if a result without rows has another size in a bucket of `rows` rows: a
  /// constant that was computed from the size of the batch.
  void compareResults(func::FuncOp bucket, int64_t rows) {
    for (auto [a, b] : llvm::zip(block.getTerminator()->getOperands(),
                                 bucket.front().getTerminator()->getOperands()))
      if (!isOfRows(a, b, rows)) {
        Operation *op = a.getDefiningOp();
        (void)makeExact(op ? op : function, "a result has more elements for more rows");
        return;
      }
  }

  /// Reorders dims that hold rows among others, which would make the entry exact.
  void orderRows() {
    analysis.followInnerRows();
    StringRef reason;
    if (!function->hasAttr(exactName) && !findWithout(reason))
      putRowsFirst(function, analysis);
  }

  /// Replaces counts by constants, or by a multiple of the argument `rows` if they count the batch.
  void resolveCounts() {
    SmallVector<CountOp> counts;
    function.walk([&](CountOp count) { counts.push_back(count); });
    if (counts.empty())
      return;
    bool isExact = failed(analyze());
    for (CountOp count : counts)
      if (count->use_empty() && !count.getLeast())
        count.erase(); // only the analysis has read it
      else
        resolve(count, isExact);
  }

private:
  /// The ops that depend on batch arguments, except for counts of their rows, and for what only
  /// counts read that nothing reads: an entry of one row has none of these.
  SmallVector<Operation *> fromBatches(func::FuncOp other) {
    llvm::DenseSet<Value> reached;
    for (BlockArgument argument : other.getArguments())
      if (function.getArgAttr(argument.getArgNumber(), batchedName))
        reached.insert(argument);
    llvm::DenseSet<Operation *> unread;
    for (Operation &op : llvm::reverse(other.front().without_terminator()))
      if (isMemoryEffectFree(&op) &&
          llvm::all_of(op.getUsers(), [&](Operation *user) { return unread.contains(user); }))
        unread.insert(&op);
    SmallVector<Operation *> ops;
    other.walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (unread.contains(op))
        return WalkResult::skip();
      bool reads = llvm::any_of(op->getOperands(), [&](Value v) { return reached.contains(v); });
      if (!reads || isa<CountOp>(op))
        return WalkResult::advance();
      ops.push_back(op);
      reached.insert(op->result_begin(), op->result_end());
      for (Region &region : op->getRegions())
        for (BlockArgument argument : region.getArguments())
          reached.insert(argument);
      return WalkResult::advance();
    });
    return ops;
  }

  /// The first op without extents, and the reason; null if all have extents.
  Operation *findWithout(StringRef &why) {
    analysis.setArguments(function);
    analysis.setOther([this](Operation *op) { return visitState(*op); });
    for (Operation &op : block.without_terminator())
      if (failed(analysis.visit(&op))) {
        why = analysis.why();
        return &op;
      }
    why = "a result's rows are not its first dim";
    for (Value result : block.getTerminator()->getOperands())
      if (failed(visitResult(result)))
        return result.getDefiningOp() ? result.getDefiningOp() : function.getOperation();
    return nullptr;
  }

  /// Whether `b` has the type of `a` in a run of `rows` rows. If a value repeats, or a nested value
  /// has no extents, either size is accepted.
  bool isOfRows(Value a, Value b, int64_t rows) {
    auto ours = dyn_cast<RankedTensorType>(a.getType());
    auto theirs = dyn_cast<RankedTensorType>(b.getType());
    if (!ours || !theirs)
      return a.getType() == b.getType();
    if (ours.getElementType() != theirs.getElementType() || ours.getRank() != theirs.getRank())
      return false;
    const Extents *extents = analysis.find(a);
    int64_t batch = *batchOf(function);
    return llvm::all_of(llvm::seq(ours.getRank()), [&](int64_t d) {
      int64_t size = ours.getDimSize(d), found = theirs.getDimSize(d);
      bool isFixed = found == size, isScaled = found * batch == size * rows;
      if (!extents || extent::isFree((*extents)[d]))
        return isFixed || isScaled;
      return (*extents)[d] > 0 ? isScaled : isFixed;
    });
  }

  /// Visits ops with their own rules: the values of states have a fixed size, and a count either
  /// counts rows or does not.
  std::optional<LogicalResult> visitState(Operation &op) {
    if (auto write = dyn_cast<WriteOp>(op)) {
      if (!analysis.isBatched(write.getValue()))
        return success();
      return analysis.fail("a state takes rows of the batch");
    }
    if (auto count = dyn_cast<CountOp>(op)) {
      analysis.set(count, {});
      if (LogicalResult sizes = analysis.visitSizes(count);
          failed(sizes) || count->hasAttr(sizedByName))
        return sizes;
      bool hasRows = analysis.isBatched(count.getOperand());
      bool hasReader = count->hasAttr(readByName);
      bool isReadOnly = count->use_empty();
      for (int64_t d : count.getDims())
        if (hasReader && (*analysis.find(count.getOperand()))[d] > 0)
          return analysis.failAtReader(count);
      for (int64_t d : count.getDims())
        if (!hasRows && !isReadOnly && extent::isFree((*analysis.find(count.getOperand()))[d]) &&
            mayHoldBatch(count.getOperand(), d))
          return analysis.fail("it counts what is repeated, perhaps for each row of the batch");
      return success();
    }
    return std::nullopt;
  }

  bool mayHoldBatch(Value value, int64_t dim) {
    OpBuilder builder(function.getContext());
    builder.setInsertionPointToStart(&block);
    return grad::mayHoldBatch(builder, cast<RankedTensorType>(value.getType()), dim);
  }

  LogicalResult visitResult(Value value) {
    if (analysis.holdsRowsInside(value))
      return failure();
    for (auto [d, extent] : llvm::enumerate(*analysis.find(value)))
      if (extent::isFree(extent) && mayHoldBatch(value, int64_t(d)))
        return failure();
    return success();
  }

  LogicalResult makeExact(Operation *op, StringRef reason) {
    function->setAttr(exactName, StringAttr::get(function.getContext(), reason));
    function->setAttr(saidName, UnitAttr::get(function.getContext()));
    remarkExact(function, op, reason);
    return failure();
  }

  void resolve(CountOp count, bool isExact) {
    OpBuilder b(count);
    auto type = cast<RankedTensorType>(count.getOperand().getType());
    int64_t elements = 1, dimsOfRows = 0; // elements: of one row
    for (int64_t d : count.getDims()) {
      int64_t extent = isExact ? extent::whole : (*analysis.find(count.getOperand()))[d];
      dimsOfRows += extent > 0;
      elements *= extent > 0 ? extent : type.getDimSize(d);
    }
    Expr value(b, count.getLoc(), splat(b, count.getLoc(), count.getType(), double(elements)));
    if (dimsOfRows > 0) {
      Value counted = passInto(*count->getBlock(), rowsOf(function));
      for (int64_t i = 0; i < dimsOfRows; ++i) // pairs of rows have two dims of them
        value = value * value.with(counted).cast(count.getType().getElementType());
      if (count.getLeast() && elements > 0) { // no number of rows of no elements is enough
        double wanted = double(llvm::divideCeil(*count.getLeast(), elements));
        askForRows(count, int64_t(std::ceil(std::pow(wanted, 1.0 / double(dimsOfRows)))));
      }
    }
    count.replaceAllUsesWith(value.get());
    count.erase();
  }

  /// Makes a run with too few rows an error at the count's node.
  void askForRows(CountOp count, int64_t least) {
    auto known = function->getAttrOfType<IntegerAttr>("grad.least_rows");
    if (least < 2 || (known && known.getInt() >= least))
      return;
    Builder b(function.getContext());
    function->setAttr("grad.least_rows", b.getI64IntegerAttr(least));
    auto name = count->getLoc()->findInstanceOf<NameLoc>();
    function->setAttr("grad.least_rows_node", name ? name.getName() : b.getStringAttr(""));
  }

  func::FuncOp function;
  Block &block;
  ExtentAnalysis analysis;
};

struct BindRows : impl::BindRowsBase<BindRows> {
  using BindRowsBase::BindRowsBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    twins.clear();
    said.clear();
    refused.clear();
    compareBuckets(module);
    for (auto function : llvm::to_vector(functionsOf(module))) {
      if (llvm::is_contained(twins, function))
        continue;
      if (std::optional<Entry> whole = Entry::of(function))
        whole->orderRows();
      std::optional<Entry> entry = Entry::of(function);
      if (!entry)
        resolveConstants(function);
      else
        entry->resolveCounts();
      if (entry && judge)
        judgeEntry(module, function);
    }
    if (judge)
      for (auto function : llvm::to_vector(functionsOf(module)))
        if (func::FuncOp largest = largestOf(function); largest && batchOf(function))
          judgeBucket(function, largest);
    if (judge)
      for (func::FuncOp entry : servedEntriesOfSets(module))
        if (!llvm::is_contained(twins, entry))
          twins.push_back(entry);
    for (func::FuncOp twin : twins)
      twin.erase();
  }

private:
  void resolveConstants(func::FuncOp function) {
    function.walk([&](CountOp count) {
      OpBuilder b(count);
      double elements = 1;
      for (int64_t d : count.getDims())
        elements *= double(cast<RankedTensorType>(count.getOperand().getType()).getDimSize(d));
      count.replaceAllUsesWith(splat(b, count.getLoc(), count.getType(), elements));
      count.erase();
    });
  }

  /// An entry that takes any number of rows needs no twin for the last batch.
  void judgeEntry(ModuleOp module, func::FuncOp function) {
    if (failed(Entry::of(function)->analyze())) {
      sayWhy(function);
      if (function->hasAttr(ranksName))
        return refuseRanks(function);
      return;
    }
    function->setAttr(rowsName, UnitAttr::get(&getContext()));
    if (auto tail =
            module.lookupSymbol<func::FuncOp>((function.getSymName() + GRADC_TAIL_SUFFIX).str()))
      twins.push_back(tail);
  }

  /// Runs right after import, before equal ops diverge in entries with few rows.
  void compareBuckets(ModuleOp module) {
    for (auto bucket : llvm::to_vector(functionsOf(module))) {
      func::FuncOp largest = largestOf(bucket);
      std::optional<Entry> entry = largest ? Entry::of(largest) : std::nullopt;
      if (!entry || !batchOf(bucket) || bucket->hasAttr(comparedName))
        continue;
      std::optional<bool> isSame = entry->isDoneBy(bucket, *batchOf(bucket));
      if (isSame)
        entry->compareResults(bucket, *batchOf(bucket));
      if (isSame && *isSame)
        bucket->setAttr(comparedName, UnitAttr::get(&getContext()));
      else if (isSame)
        bucket.erase();
    }
  }

  /// A bucket replaces an entry that takes any number of rows, so it needs the same arguments.
  void judgeBucket(func::FuncOp bucket, func::FuncOp largest) {
    bool takesRows = *batchOf(bucket) == 1 || bucket->hasAttr(rowsName);
    if (!takesRows || !largest->hasAttr(rowsName) || !bucket->hasAttr(comparedName))
      return twins.push_back(bucket);
    for (func::FuncOp each : {bucket, largest})
      if (argumentOfRole(bucket, GRADC_ROLE_ROWS) || argumentOfRole(largest, GRADC_ROLE_ROWS))
        rowsOf(each);
  }

  /// Reports an entry that ranks cannot share, because each rank has a different part of the batch.
  /// Its twins would fail for the same reason, so each entry is reported once.
  void refuseRanks(func::FuncOp function) {
    StringRef entry = function.getSymName();
    entry.consume_back(GRADC_TAIL_SUFFIX);
    entry.consume_back(GRADC_WATCH_SUFFIX);
    if (!refused.insert(entry).second)
      return;
    function.emitError("expected entry \"")
        << function.getSymName()
        << "\" to take any number of rows, since `distribution` gives each "
        << "rank some of the batch; it takes " << *batchOf(function)
        << " only: " << function->getAttrOfType<StringAttr>(exactName).getValue();
    signalPassFailure();
  }

  /// A reason known earlier, from the model file.
  void sayWhy(func::FuncOp function) {
    auto reason = function->getAttrOfType<StringAttr>(exactName);
    if (reason && !function->hasAttr(saidName) && said.insert(reason.getValue()).second)
      remarkExact(function, function, reason.getValue());
  }

  SmallVector<func::FuncOp> twins; ///< to erase: another entry takes their rows
  llvm::StringSet<> said, refused; ///< reasons; entries without the suffixes of twins
};

} // namespace
} // namespace gradc
