// Turns several indices of a scatter, or an index for each element, into one index for each row.
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

namespace {

/// Merges the outermost dims of a scatter's target: those along which an index chooses, and those
/// that the indices run along. An update's coordinates in them follow from the indices.
class Flattening {
public:
  explicit Flattening(ScatterOp op)
      : op(op), init(op.getInit().getType()),
        index(cast<RankedTensorType>(op.getIndices()[0].getType())) {
    for (int64_t d = 0; d < init.getRank(); ++d)
      if (isChosen(d) || sharedWith(d) >= 0)
        dims.push_back(d);
  }

  /// Whether there are several dims, and those are the outermost ones. Kernels add up updates along
  /// the outermost dim alone; along another one, each target would be compared with the updates of
  /// all rows.
  bool isPossible() { return dims.size() > 1 && dims.back() + 1 == int64_t(dims.size()); }

  /// Whether a search takes longer than adding up the updates: an update is compared with all
  /// targets that its indices choose among.
  bool pays() {
    int64_t targets = 1;
    for (int64_t d : dims)
      targets *= isChosen(d) ? init.getDimSize(d) : 1;
    return targets >= gradc::manyTargets && index.getNumElements() >= gradc::manyUpdates;
  }

  /// Whether some of the rows of a run would be targets: with one dim for these and others, each
  /// target would be compared with the updates of all rows.
  bool mayHoldRows(OpBuilder &b) {
    return llvm::any_of(
        dims, [&](int64_t d) { return !isChosen(d) && mayHoldBatch(b, init, ArrayRef(d)); });
  }

  void rewrite(OpBuilder &b) {
    size_t count = dims.size();
    int64_t targets = llvm::product_of(init.getShape().take_front(count));
    SmallVector<int64_t> shape{targets}, to{-1};
    llvm::append_range(shape, init.getShape().drop_front(count));
    llvm::append_range(to, op.getDims().drop_front(count));
    Expr target = Expr(b, op.getLoc(), op.getInit()).reshape(shape);
    Expr sums = target.with(ScatterOp::create(b, op.getLoc(), target.type(), target,
                                              rowIndex(b, targets).get(), op.getUpdates(),
                                              op.getReduction(), to, op.getIndexDims()));
    op.getResult().replaceAllUsesWith(sums.reshape(init.getShape()));
  }

private:
  bool isChosen(int64_t d) { return op.getDims()[d] < 0; }
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
  RankedTensorType init, index;
  SmallVector<int64_t> dims;
};

struct FlattenIndices : gradc::impl::FlattenIndicesBase<FlattenIndices> {
  void runOnOperation() override {
    for (func::FuncOp function : gradc::functionsOf(getOperation())) {
      bool takesRows = function->hasAttr(rowsName);
      function.walk([&](ScatterOp op) {
        OpBuilder b(op);
        Flattening flattening(op);
        if (!flattening.isPossible() || !flattening.pays() ||
            (takesRows && flattening.mayHoldRows(b)))
          return;
        flattening.rewrite(b);
        op.erase();
      });
    }
  }
};

} // namespace
