// Turns several indices of a scatter into one, and an index for each element into one for each row.
#include "dialects/grad/Build.h"
#include "dialects/grad/EntryAttributes.h"
#include "passes/Passes.h"
#include "passes/entry/Functions.h"
#include "passes/layout/ScatterSums.h"

using namespace mlir;
using namespace mlir::grad;

namespace gradc {
#define GEN_PASS_DEF_FLATTENINDICES
#include "passes/Passes.h.inc"
} // namespace gradc

/// Units along one dim with targets of their own that are enough for the threads: with fewer, parts
/// of one list may be more.
static constexpr int64_t manySets = 2 * exec::manyUnits;

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

  /// Whether there are several dims to merge. Those are all that the index depends on, if they are
  /// outermost and hold no units of their own, and else the ones from the first to the last that an
  /// index chooses along: a kernel adds up updates along the outermost dim, or in units along other
  /// dims.
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
    Expr sums = target.with(ScatterOp::create(
        b, op.getLoc(), target.type(), target, rowIndex(b, targets).get(), op.getUpdates(),
        op.getReduction(), merge(op.getDims(), -1), op.getIndexDims()));
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
  /// Whether there are several dims, side by side, without rows of a run: merged with others, rows
  /// of a run would be targets that all rows' updates are compared with.
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

  /// The position, in the new dim, of each update's target: `size` if an index is out of range.
  Expr rowIndex(OpBuilder &b, int64_t size) {
    RankedTensorType type = index.clone(b.getI64Type());
    Expr at(b, op.getLoc(), splat(b, op.getLoc(), type, 0));
    Expr isInside(b, op.getLoc(), splat(b, op.getLoc(), type.clone(b.getI1Type()), 1));
    for (int64_t d : dims) {
      int64_t length = init.getDimSize(d);
      Expr c = at;
      if (isChosen(d)) {
        c = at.with(op.getIndices()[-1 - op.getDims()[d]]).cast(type.getElementType());
        c = c.compare(ComparePredicate::lt, c.splat(0)).select(c + double(length), c);
        isInside = isInside.apply<AndOp>(c.compare(ComparePredicate::ge, c.splat(0)));
        isInside = isInside.apply<AndOp>(c.compare(ComparePredicate::lt, c.splat(length)));
      } else {
        c = at.with(IotaOp::create(b, op.getLoc(), type, sharedWith(d)));
      }
      at = at * double(length) + c;
    }
    return isInside.select(at, at.splat(double(size)));
  }

  ScatterOp op;
  bool takesRows;
  RankedTensorType init, index;
  SmallVector<int64_t> dims;
};

struct FlattenIndices : gradc::impl::FlattenIndicesBase<FlattenIndices> {
  void runOnOperation() override {
    for (func::FuncOp function : gradc::functionsOf(getOperation())) {
      bool takesRows = function->hasAttr(rowsName);
      function.walk([&](ScatterOp op) {
        OpBuilder b(op);
        Flattening flattening(op, takesRows);
        if (!flattening.isPossible(b) || !flattening.pays())
          return;
        flattening.rewrite(b);
        op.erase();
      });
    }
  }
};

} // namespace
