// Stores states with their dims in the order that their readers need.
#include "dialects/grad/Build.h"
#include "passes/Passes.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"

namespace gradc {
#define GEN_PASS_DEF_ORDERSTATES
#include "passes/Passes.h.inc"
} // namespace gradc

using namespace mlir;
using namespace mlir::grad;

namespace {

struct OrderStates : gradc::impl::OrderStatesBase<OrderStates> {
  void runOnOperation() override {
    llvm::StringMap<SmallVector<Operation *>> users;
    getOperation().walk([&](Operation *op) {
      if (auto read = dyn_cast<ReadOp>(op))
        users[read.getState()].push_back(op);
      else if (auto write = dyn_cast<WriteOp>(op))
        users[write.getState()].push_back(op);
    });
    for (auto state : getOperation().getOps<StateOp>())
      if (std::optional<SmallVector<int64_t>> order = wantedOrder(users[state.getSymName()]))
        permute(state, *order, users[state.getSymName()]);
  }

  /// The permutation that every reader applies.
  static std::optional<SmallVector<int64_t>> wantedOrder(ArrayRef<Operation *> users) {
    std::optional<SmallVector<int64_t>> order;
    for (Operation *op : users) {
      auto read = dyn_cast<ReadOp>(op);
      if (!read)
        return std::nullopt;
      for (OpOperand &use : read->getUses()) {
        SmallVector<int64_t> applied = permutationOf(use);
        if (applied.empty() || (order && *order != applied))
          return std::nullopt;
        order = applied;
      }
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

  static void permute(StateOp state, ArrayRef<int64_t> order, ArrayRef<Operation *> users) {
    auto type = cast<RankedTensorType>(state.getType());
    RankedTensorType stored = type.clone(applyPermutation(type.getShape(), order));
    SmallVector<int64_t> logical(order);
    if (auto before = state.getPermutation())
      logical = applyPermutation(*before, order);
    state.setType(stored);
    state.setPermutation(logical);
    for (Operation *op : users) {
      auto read = cast<ReadOp>(op);
      read.getResult().setType(stored);
      SmallVector<int64_t> back = invertPermutationVector(order);
      for (OpOperand &use : llvm::make_early_inc_range(read->getUses())) {
        Operation *user = use.getOwner();
        if (auto contraction = dyn_cast<ContractionOpInterface>(user)) {
          bool reads = contraction.readTransposed(use.getOperandNumber(), back);
          (void)reads;
          assert(reads && "the order was taken from its letters");
          continue;
        }
        user->getResult(0).replaceAllUsesWith(read.getResult());
        user->erase();
      }
    }
  }
};

} // namespace
