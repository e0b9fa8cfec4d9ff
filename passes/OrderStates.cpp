// Stores states in the shape and with the order of dims that their readers need.
#include "dialects/grad/Build.h"
#include "passes/Passes.h"
#include "passes/graph/ScanEdit.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "llvm/ADT/StringSet.h"

namespace gradc {
#define GEN_PASS_DEF_ORDERSTATES
#include "passes/Passes.h.inc"
} // namespace gradc

using namespace mlir;
using namespace mlir::grad;

namespace {

/// The value itself, and the arguments of loops and branches through which it enters them.
SmallVector<Value> copiesOf(Value value) {
  SmallVector<Value> copies{value};
  for (size_t i = 0; i < copies.size(); ++i)
    for (OpOperand &use : copies[i].getUses())
      llvm::append_range(copies, gradc::constantArguments(use));
  return copies;
}

/// The uses of a value, outside and inside loops and branches.
SmallVector<OpOperand *> readersOf(Value value) {
  SmallVector<OpOperand *> readers;
  for (Value copy : copiesOf(value))
    for (OpOperand &use : copy.getUses())
      if (gradc::constantArguments(use).empty())
        readers.push_back(&use);
  return readers;
}

struct OrderStates : gradc::impl::OrderStatesBase<OrderStates> {
  void runOnOperation() override {
    llvm::StringMap<SmallVector<ReadOp>> reads;
    llvm::StringSet<> written;
    getOperation().walk([&](Operation *op) {
      if (auto read = dyn_cast<ReadOp>(op))
        reads[read.getState()].push_back(read);
      else if (auto write = dyn_cast<WriteOp>(op))
        written.insert(write.getState());
    });
    for (auto state : getOperation().getOps<StateOp>()) {
      if (written.contains(state.getSymName()))
        continue;
      ArrayRef<ReadOp> own = reads[state.getSymName()];
      if (RankedTensorType type = wantedType(state, own))
        reshape(state, type, own);
      std::optional<SmallVector<int64_t>> order = wantedOrder(own);
      if (!order)
        order = orderBehindOps(own);
      if (order)
        permute(state, *order, own);
    }
  }

  // Shape ----------------------------------------------------------------------------------------

  /// The type that every reader reshapes the state to, for products or for a transpose. Null if
  /// there is none.
  static RankedTensorType wantedType(StateOp state, ArrayRef<ReadOp> reads) {
    RankedTensorType type;
    if (state.getShard() || state.getPermutation())
      return nullptr;
    for (ReadOp read : reads)
      for (OpOperand *use : readersOf(read)) {
        auto reshape = dyn_cast<ReshapeOp>(use->getOwner());
        if (!reshape || (type && type != reshape.getType()) || !isOrdered(reshape))
          return nullptr;
        type = reshape.getType();
      }
    return type;
  }

  /// Whether all readers are products, or transposes that put elements next to others: a bias that
  /// becomes a channel of pictures stays as it is.
  static bool isOrdered(ReshapeOp reshape) {
    return llvm::all_of(readersOf(reshape.getResult()), [](OpOperand *use) {
      auto transpose = dyn_cast<TransposeOp>(use->getOwner());
      return transpose ? changesOrder(transpose) : isa<ContractionOpInterface>(use->getOwner());
    });
  }

  static bool changesOrder(TransposeOp transpose) {
    ArrayRef<int64_t> shape = cast<RankedTensorType>(transpose.getOperand().getType()).getShape();
    auto dims = llvm::to_vector(llvm::make_filter_range(transpose.getPermutation(),
                                                        [&](int64_t d) { return shape[d] != 1; }));
    return !llvm::is_sorted(dims);
  }

  static void reshape(StateOp state, RankedTensorType type, ArrayRef<ReadOp> reads) {
    if (!state.getShape())
      state.setShape(state.getLogicalType().getShape());
    state.setType(type);
    for (ReadOp read : reads) {
      SmallVector<OpOperand *> readers = readersOf(read);
      setType(read, type);
      for (OpOperand *use : readers) {
        Operation *view = use->getOwner();
        view->getResult(0).replaceAllUsesWith(use->get());
        view->erase();
      }
    }
  }

  static void setType(ReadOp read, RankedTensorType type) {
    for (Value copy : copiesOf(read))
      copy.setType(type);
  }

  // Order of dims --------------------------------------------------------------------------------

  /// The permutation that every reader applies.
  static std::optional<SmallVector<int64_t>> wantedOrder(ArrayRef<ReadOp> reads) {
    std::optional<SmallVector<int64_t>> order;
    for (ReadOp read : reads)
      for (OpOperand *use : readersOf(read)) {
        SmallVector<int64_t> applied = permutationOf(*use);
        if (applied.empty() || (order && *order != applied))
          return std::nullopt;
        order = applied;
      }
    return order;
  }

  /// The permutation by which a use transposes the state; empty if it does not. Names the
  /// transpose, because that is the op it looks for. A contraction reads any order for free, but
  /// the update of a weight walks it in the order of its gradient, so the dim of the vector lanes
  /// should be last.
  static SmallVector<int64_t> permutationOf(OpOperand &use) {
    if (auto transpose = dyn_cast<TransposeOp>(use.getOwner()))
      return llvm::to_vector(transpose.getPermutation());
    auto contraction = dyn_cast<ContractionOpInterface>(use.getOwner());
    if (!contraction || use.getOperandNumber() != 1)
      return {};
    ContractionLetters letters = contraction.getLetters();
    if (letters.result.empty() || !letters.isColumn(letters.result.back()))
      return {};
    int64_t lanes = letters.dimOf(letters.rhs, letters.result.back());
    int64_t rank = cast<RankedTensorType>(use.get().getType()).getRank();
    auto order = llvm::to_vector(llvm::seq<int64_t>(0, rank));
    order.erase(order.begin() + lanes);
    order.push_back(lanes);
    return lanes == rank - 1 ? SmallVector<int64_t>() : order;
  }

  /// The permutation by which entries transpose what they compute from a state element by element,
  /// such as a filter that is scaled and rounded before its convolution: without it, the filter and
  /// its update would be transposed in each step. Entries that return such values as they are, like
  /// an export, transpose them instead.
  static std::optional<SmallVector<int64_t>> orderBehindOps(ArrayRef<ReadOp> reads) {
    std::optional<SmallVector<int64_t>> order;
    for (ReadOp read : reads) {
      llvm::SetVector<Value> values;
      values.insert(read.getResult());
      for (size_t i = 0; i < values.size(); ++i)
        for (Operation *user : values[i].getUsers()) {
          if (auto transpose = dyn_cast<TransposeOp>(user)) {
            if (!changesOrder(transpose) ||
                (order && *order != ArrayRef(transpose.getPermutation())))
              return std::nullopt;
            order = llvm::to_vector(transpose.getPermutation());
          } else if (user->hasTrait<grad::Pointwise>()) {
            values.insert(user->result_begin(), user->result_end());
          } else if (!isa<ReductionOpInterface, func::ReturnOp>(user)) {
            return std::nullopt;
          }
        }
    }
    return order;
  }

  static void permute(StateOp state, ArrayRef<int64_t> order, ArrayRef<ReadOp> reads) {
    auto type = cast<RankedTensorType>(state.getType());
    RankedTensorType stored = type.clone(applyPermutation(type.getShape(), order));
    SmallVector<int64_t> logical(order);
    if (auto before = state.getPermutation())
      logical = applyPermutation(*before, order);
    state.setType(stored);
    state.setPermutation(logical);
    SmallVector<int64_t> back = invertPermutationVector(order);
    for (ReadOp read : reads) {
      SmallVector<OpOperand *> readers = readersOf(read);
      setType(read, stored);
      for (OpOperand *use : readers) {
        Operation *user = use->getOwner();
        if (auto contraction = dyn_cast<ContractionOpInterface>(user)) {
          bool isRead = contraction.readTransposed(use->getOperandNumber(), back);
          (void)isRead;
          assert(isRead && "the order was taken from its letters");
          continue;
        }
        if (auto transpose = dyn_cast<TransposeOp>(user);
            transpose && ArrayRef(transpose.getPermutation()) == order) {
          transpose.replaceAllUsesWith(use->get());
          transpose.erase();
          continue;
        }
        OpBuilder builder(user);
        use->set(TransposeOp::create(builder, user->getLoc(), use->get(), back));
      }
    }
  }
};

} // namespace
