// Shards products over ranks by columns and rows in turn.
#include "passes/Passes.h"
#include "passes/distribution/ShardPlan.h"

namespace gradc {
#define GEN_PASS_DEF_SHARDPRODUCTS
#include "passes/Passes.h.inc"
} // namespace gradc

using namespace mlir;
using namespace mlir::grad;
using gradc::Shard;
using gradc::ShardPlan;

namespace {

/// For each parameter, in order, that is not in a chain yet:
/// 1. Grows a chain for each of its dims. A dim that is taken apart, as queries, keys and values
///    are, is sharded in runs.
/// 2. Takes the chain that saves the most work, if that is worth its sums over ranks.
/// 3. Applies it.
struct ShardProducts : gradc::impl::ShardProductsBase<ShardProducts> {
  using ShardProductsBase::ShardProductsBase;
  void runOnOperation() override;

private:
  struct Best {
    std::optional<ShardPlan> plan;
    Operation *at = nullptr; ///< why there is none: first where, then the reason
    std::string why;
  };
  Best findChain(StateOp state, int64_t ranks);
  void remark(StateOp state, ShardPlan &plan) const;
};

} // namespace

/// Whether a product reads the state, through ops that only move its elements.
static bool isFactor(ModuleOp module, StateOp state) {
  SmallVector<Operation *> users;
  module.walk([&](ReadOp read) {
    if (read.getState() == state.getSymName())
      llvm::append_range(users, read->getUsers());
  });
  while (!users.empty()) {
    Operation *user = users.pop_back_val();
    if (isa<ContractionOpInterface>(user))
      return true;
    auto loops = dyn_cast<LoopsOpInterface>(user);
    if (isa<MovementOpInterface>(user) || (loops && loops.getLoopKind() == LoopKind::view))
      llvm::append_range(users, user->getUsers());
  }
  return false;
}

ShardProducts::Best ShardProducts::findChain(StateOp state, int64_t ranks) {
  constexpr int64_t mostRuns = 3; // queries, keys and values; a gate and what it gates
  Best best;
  auto type = cast<RankedTensorType>(state.getType());
  for (int64_t dim = type.getRank(); dim-- > 0;)
    for (int64_t runs = 1; runs <= mostRuns; ++runs) {
      ShardPlan plan(getOperation(), ranks);
      if (failed(plan.grow(state, {dim, runs}))) {
        if (!best.at) {
          best.at = plan.failedAt();
          best.why = plan.why().str();
        }
        continue;
      }
      if (plan.savedFlops() < leastFlopsPerByte * plan.summedBytes()) {
        best.at = state;
        best.why = "its products are too small to be worth the sums over ranks";
      } else if (!best.plan || plan.savedFlops() > best.plan->savedFlops()) {
        best.plan = std::move(plan);
      }
      break;
    }
  return best;
}

void ShardProducts::remark(StateOp state, ShardPlan &plan) const {
  InFlightDiagnostic remark = state.emitRemark("ranks shard ");
  bool isFirst = true;
  for (auto &[op, shard] : plan.states()) {
    remark << (isFirst ? "" : ", ") << '"' << cast<StateOp>(op).getSymName() << "\" along dim "
           << shard.dim;
    isFirst = false;
  }
}

void ShardProducts::runOnOperation() {
  ModuleOp module = getOperation();
  auto ranks = module->getAttrOfType<IntegerAttr>(gradc::shardsName);
  if (!ranks || ranks.getInt() < 2)
    return;
  for (auto state : module.getOps<StateOp>()) {
    if (state.getKind() != StateKind::parameter || state.getShard() || !isFactor(module, state))
      continue;
    Best best = findChain(state, ranks.getInt());
    if (best.plan) {
      remark(state, *best.plan);
      best.plan->apply();
      continue;
    }
    InFlightDiagnostic whole = state.emitRemark("each rank has all of \"")
                               << state.getSymName() << "\": " << best.why;
    if (best.at && best.at != state)
      whole.attachNote(best.at->getLoc()) << "at " << best.at->getName();
  }
}
