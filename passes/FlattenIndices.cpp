// Turns several indices of a scatter into one, and an index for each element into one for each row;
// and a scatter that replaces rows of a cache into an op that writes only these.
#include "dialects/grad/Build.h"
#include "dialects/grad/EntryAttributes.h"
#include "passes/Passes.h"
#include "passes/entry/Functions.h"
#include "passes/entry/NodeOrder.h"
#include "passes/layout/ScatterSums.h"

#include "mlir/IR/Dominance.h"
#include "mlir/Transforms/CSE.h"

using namespace mlir;
using namespace mlir::grad;

namespace gradc {
#define GEN_PASS_DEF_FLATTENINDICES
#include "passes/Passes.h.inc"
} // namespace gradc

/// A dim with this many units, each with targets of its own, occupies all threads. With fewer, one
/// flat list of targets may be cut into more parts.
static constexpr int64_t manySets = 2 * exec::manyUnits;

/// The position of each update's target in one dim that merges `dims` of the target: its size if an
/// index is out of range. `coordinate`: those of the updates along one of these dims, as `type`.
static Expr mergedIndex(OpBuilder &b, ScatterOp op, ArrayRef<int64_t> dims, RankedTensorType type,
                        llvm::function_ref<Expr(int64_t)> coordinate) {
  Expr at(b, op.getLoc(), splat(b, op.getLoc(), type, 0));
  Expr isInside(b, op.getLoc(), splat(b, op.getLoc(), type.clone(b.getI1Type()), 1));
  int64_t size = 1;
  for (int64_t d : dims) {
    int64_t length = op.getInit().getType().getDimSize(d);
    size *= length;
    Expr c = coordinate(d);
    if (op.getDims()[d] < 0) {
      c = c.compare(ComparePredicate::lt, c.splat(0)).select(c + double(length), c);
      isInside = isInside.apply<AndOp>(c.compare(ComparePredicate::ge, c.splat(0)));
      isInside = isInside.apply<AndOp>(c.compare(ComparePredicate::lt, c.splat(length)));
    }
    at = at * double(length) + c;
  }
  return isInside.select(at, at.splat(double(size)));
}

namespace {

/// Merges adjacent dims of a scatter's target: those along which an index chooses, and those that
/// the indices run along. An update's coordinates in them follow from the indices.
class Flattening {
public:
  /// `takesRows`: whether the entry takes any number of rows.
  Flattening(ScatterOp op, bool takesRows)
      : op(op), takesRows(takesRows), init(op.getInit().getType()),
        index(cast<RankedTensorType>(op.getIndices()[0].getType())) {
    for (int64_t d = 0; d < init.getRank(); ++d)
      if (isChosen(d) || sharedWith(d) >= 0)
        dims.push_back(d);
  }

  /// Whether there are several dims to merge. A kernel adds up updates along the outermost dim, or
  /// in units along other dims. So all dims that the index depends on merge if they are outermost
  /// and none of them has units of its own. Otherwise the dims merge that lie from the first to the
  /// last one along which an index chooses.
  bool isPossible(OpBuilder &b) {
    if (isMergeable(b) && dims.front() == 0 && !hasUnits())
      return true;
    while (!dims.empty() && !isChosen(dims.front()))
      dims.erase(dims.begin());
    while (!dims.empty() && !isChosen(dims.back()))
      dims.pop_back();
    return isMergeable(b);
  }

  /// Whether a search takes longer than adding up the updates: an update is compared with all
  /// targets that its indices choose among.
  bool pays() {
    int64_t targets = 1, updates = index.getNumElements();
    for (int64_t d = 0; d < init.getRank(); ++d)
      if (isChosen(d))
        targets *= init.getDimSize(d);
      else if (sharedWith(d) >= 0 && !llvm::is_contained(dims, d) && init.getDimSize(d) > 0)
        updates /= init.getDimSize(d);
    return targets >= gradc::manyTargets && updates >= gradc::manyUpdates;
  }

  void rewrite(OpBuilder &b) {
    size_t first = size_t(dims.front()), behind = first + dims.size();
    int64_t targets = llvm::product_of(init.getShape().slice(first, dims.size()));
    auto merge = [&](ArrayRef<int64_t> list, int64_t merged) {
      SmallVector<int64_t> result(list.take_front(first));
      result.push_back(merged);
      llvm::append_range(result, list.drop_front(behind));
      return result;
    };
    Expr target = Expr(b, op.getLoc(), op.getInit()).reshape(merge(init.getShape(), targets));
    Expr sums = target.with(ScatterOp::create(b, op.getLoc(), target.type(), target,
                                              rowIndex(b).get(), op.getUpdates(), op.getReduction(),
                                              merge(op.getDims(), -1), op.getIndexDims()));
    op.getResult().replaceAllUsesWith(sums.reshape(init.getShape()));
  }

private:
  bool isChosen(int64_t d) { return op.getDims()[d] < 0; }
  /// Whether a dim in front of those that an index chooses along has enough units, each with many
  /// updates, and with sums that any CPU's caches hold. A unit reads its own indices only; of one
  /// list of all targets, each part reads all indices.
  bool hasUnits() {
    auto isIndex = [&](int64_t d) { return isChosen(d); };
    int64_t first = *llvm::find_if(dims, isIndex);
    int64_t last = *llvm::find_if(llvm::reverse(dims), isIndex);
    int64_t elements = init.getNumElements(), units = 1;
    for (int64_t d = 0; d < first; ++d)
      units = std::max(units, init.getDimSize(d));
    if (elements == 0 || units < manySets)
      return false;
    int64_t targets = llvm::product_of(init.getShape().slice(first, last + 1 - first));
    int64_t updates = op.getUpdates().getType().getNumElements() / (elements / targets);
    int64_t bytes = elements / units * elementBytes(accumulatorOf(init.getElementType()));
    return updates >= gradc::manyUpdates && bytes <= exec::levels().front().sharedCacheBytes();
  }
  /// Whether there are several adjacent dims, none of which holds rows of a run. If such a dim
  /// merged, the updates of each row would be compared with the targets of all rows.
  bool isMergeable(OpBuilder &b) {
    return dims.size() > 1 && dims.back() - dims.front() + 1 == int64_t(dims.size()) &&
           !(takesRows && llvm::any_of(dims, [&](int64_t d) {
               return !isChosen(d) && mayHoldBatch(b, init, ArrayRef(d));
             }));
  }
  /// The dim of the indices that runs along a dim of the target; -1: none.
  int64_t sharedWith(int64_t d) {
    ArrayRef<int64_t> along = op.getIndexDims();
    const auto *at = llvm::find(along, op.getDims()[d]);
    return at == along.end() ? -1 : at - along.begin();
  }

  Expr rowIndex(OpBuilder &b) {
    RankedTensorType type = index.clone(b.getI64Type());
    return mergedIndex(b, op, dims, type, [&](int64_t d) {
      Expr at(b, op.getLoc(), op.getInit());
      return isChosen(d) ? at.with(op.getIndices()[-1 - op.getDims()[d]]).cast(b.getI64Type())
                         : at.with(IotaOp::create(b, op.getLoc(), type, sharedWith(d)));
    });
  }

  ScatterOp op;
  bool takesRows;
  RankedTensorType init, index;
  SmallVector<int64_t> dims;
};

/// A scatter that replaces some rows of an input that the entry returns: a cache of keys and values
/// that gains a step. As an op that writes only these rows it needs no copy where the caller has
/// one buffer for both.
class CachedRows {
public:
  explicit CachedRows(ScatterOp op)
      : op(op), dims(op.getDims()), init(op.getInit().getType()),
        updates(op.getUpdates().getType()), behind(init.getRank()) {
    while (behind > 0 && dims[behind - 1] >= 0)
      --behind;
    outer = updates.getRank() - (init.getRank() - behind);
  }

  bool isPossible(func::FuncOp function) {
    return behind > 0 && outer >= 0 && op.getReduction() == ScatterReduction::replace &&
           updates.getNumElements() > 0 && 2 * updates.getNumElements() <= init.getNumElements() &&
           isReturnedInput(function) && areWholeRows() && areDistinct();
  }

  void rewrite(OpBuilder &b) {
    ArrayRef<int64_t> row = init.getShape().drop_front(behind);
    auto rowsOf = [&](ArrayRef<int64_t> counts) {
      SmallVector<int64_t> shape = {llvm::product_of(counts)};
      if (!row.empty())
        shape.push_back(llvm::product_of(row));
      return shape;
    };
    Expr table = Expr(b, op.getLoc(), op.getInit());
    Expr values = table.with(op.getUpdates()).reshape(rowsOf(updates.getShape().take_front(outer)));
    table = table.reshape(rowsOf(init.getShape().take_front(behind)));
    Expr set = table.with(SetRowsOp::create(b, op.getLoc(), table.type(), table,
                                            rowIndex(b).reshape({values.shape().front()}), values));
    op.getResult().replaceAllUsesWith(set.reshape(init.getShape()));
  }

private:
  bool isReturnedInput(func::FuncOp function) {
    auto input = dyn_cast<BlockArgument>(gradc::storageRoot(op.getInit()));
    return input && input.getOwner() == &function.front() &&
           llvm::any_of(function.front().getTerminator()->getOperands(),
                        [&](Value v) { return gradc::storageRoot(v) == op.getResult(); });
  }

  /// Whether an index chooses all elements behind the last dim that indices choose along, and these
  /// are the last dims of the updates.
  bool areWholeRows() {
    for (int64_t d = behind; d < init.getRank(); ++d)
      if (dims[d] != outer + d - behind)
        return false;
    return llvm::all_of(op.getIndexDims(), [&](int64_t along) { return along < outer; });
  }

  /// Whether no two updates have one target: their dims are dims of the target, but for one along
  /// which an index counts.
  bool areDistinct() {
    bool counts = false;
    for (int64_t along = 0; along < outer; ++along) {
      if (updates.getDimSize(along) == 1 || llvm::is_contained(dims.take_front(behind), along))
        continue;
      if (counts || !isCounted(along))
        return false;
      counts = true;
    }
    return true;
  }

  /// Whether an index of one dim is a number for all updates along `along` plus their position.
  bool isCounted(int64_t along) {
    const auto *at = llvm::find(op.getIndexDims(), along);
    if (at == op.getIndexDims().end())
      return false;
    int64_t dim = at - op.getIndexDims().begin();
    return llvm::any_of(llvm::seq<int64_t>(0, behind), [&](int64_t d) {
      // With more steps than targets, one from the end may be one from the front.
      return dims[d] < 0 && updates.getDimSize(along) <= init.getDimSize(d) &&
             countsAlong(op.getIndices()[-1 - dims[d]], dim);
    });
  }

  static bool countsAlong(Value index, int64_t dim) {
    auto isPosition = [dim](Value v) {
      auto iota = v.getDefiningOp<IotaOp>();
      return iota && int64_t(iota.getDim()) == dim;
    };
    auto isRepeated = [dim](Value v) {
      auto broadcast = v.getDefiningOp<BroadcastOp>();
      DenseElementsAttr constant;
      return (broadcast && !llvm::is_contained(broadcast.getDims(), dim)) ||
             (matchPattern(v, m_Constant(&constant)) && constant.isSplat());
    };
    auto sum = index.getDefiningOp<AddOp>();
    return isPosition(index) || (sum && ((isPosition(sum.getLhs()) && isRepeated(sum.getRhs())) ||
                                         (isPosition(sum.getRhs()) && isRepeated(sum.getLhs()))));
  }

  /// The row of the table for each update.
  Expr rowIndex(OpBuilder &b) {
    auto type = RankedTensorType::get(updates.getShape().take_front(outer), b.getI64Type());
    auto chosen = llvm::to_vector(llvm::seq<int64_t>(0, behind));
    return mergedIndex(b, op, chosen, type, [&](int64_t d) {
      Expr at(b, op.getLoc(), op.getInit());
      if (dims[d] >= 0)
        return at.with(IotaOp::create(b, op.getLoc(), type, dims[d]));
      Expr index = at.with(op.getIndices()[-1 - dims[d]]).cast(b.getI64Type());
      return index.broadcast(type, op.getIndexDims());
    });
  }

  ScatterOp op;
  ArrayRef<int64_t> dims;
  RankedTensorType init, updates;
  int64_t behind, ///< the first dim of a row: behind the last one that an index chooses along
      outer;      ///< the dims of the updates in front of those of a row
};

struct FlattenIndices : gradc::impl::FlattenIndicesBase<FlattenIndices> {
  void runOnOperation() override {
    for (func::FuncOp function : gradc::functionsOf(getOperation())) {
      bool takesRows = function->hasAttr(rowsName), hasCaches = false;
      function.walk([&](ScatterOp op) {
        OpBuilder b(op);
        CachedRows cached(op);
        Flattening flattening(op, takesRows);
        if (!takesRows && cached.isPossible(function)) {
          cached.rewrite(b);
          hasCaches = true;
        } else if (flattening.isPossible(b) && flattening.pays()) {
          flattening.rewrite(b);
        } else {
          return;
        }
        op.erase();
      });
      if (hasCaches)
        shareRows(function);
    }
  }

  /// All layers of a network write to the same rows of their caches.
  static void shareRows(func::FuncOp function) {
    IRRewriter rewriter(function.getContext());
    DominanceInfo dominance(function);
    eliminateCommonSubExpressions(rewriter, dominance, function);
  }
};

} // namespace
