// Keeps the memory of each entry within a budget by recomputing results.
#include "dialects/exec/Exec.h"
#include "passes/Passes.h"
#include "passes/entry/Functions.h"
#include "passes/entry/ModuleLevel.h"
#include "passes/memory/Placement.h"
#include "passes/memory/Recomputation.h"

using namespace mlir;

namespace gradc {
#define GEN_PASS_DEF_REMATERIALIZE
#include "passes/Passes.h.inc"

namespace {

/// The estimate counts a result and the operand that it overwrites as both live, and assumes no
/// gaps; so the target is corrected by the actual arena size.
constexpr int maxRounds = 8;

struct Rematerialize : impl::RematerializeBase<Rematerialize> {
  using RematerializeBase::RematerializeBase;

  void runOnOperation() override {
    if (budget == 0)
      return;
    ModuleOp module = getOperation();
    const exec::Level *level = levelOrNative(module);
    if (!level)
      return signalPassFailure();
    int64_t left = budget;
    for (auto buffer : module.getOps<exec::BufferOp>())
      left -= int64_t(buffer.getBytes());
    SymbolTable symbols(module);
    CostModel costs(*level);
    for (auto function : functionsOf(module))
      if (failed(reduce(function, std::max<int64_t>(0, left), symbols, costs)))
        return signalPassFailure();
  }

  LogicalResult reduce(func::FuncOp function, int64_t wanted, const SymbolTable &symbols,
                       const CostModel &costs) {
    FailureOr<int64_t> before = arenaBytes(function, symbols), now = before;
    for (int round = 0; round < maxRounds && succeeded(now) && *now > wanted; ++round) {
      OwningOpRef<func::FuncOp> last = function.clone();
      Recomputation block(function.front(), symbols, costs);
      block.reduceTo(std::max<int64_t>(0, block.peakBytes() - (*now - wanted)));
      FailureOr<int64_t> next = arenaBytes(function, symbols);
      if (succeeded(next) && *next >= *now) { // recomputation without gain
        function.getBody().takeBody(last->getBody());
        break;
      }
      now = next;
    }
    if (succeeded(now) && *now < *before)
      report(function, *before, *now, symbols, costs);
    return now;
  }

  static FailureOr<int64_t> arenaBytes(func::FuncOp function, const SymbolTable &symbols) {
    Placement placement(symbols, function);
    if (failed(placement.run()))
      return failure();
    return placement.getArenaBytes();
  }

  void report(func::FuncOp function, int64_t before, int64_t now, const SymbolTable &symbols,
              const CostModel &costs) {
    int64_t again = 0;
    double all = 0, more = 0;
    function.walk([&](exec::LaunchOp launch) {
      Cost cost = costs.kernel(symbols.lookup<exec::KernelOp>(launch.getKernel()));
      all += cost.arithmetic + cost.traffic;
      if (launch->hasAttr(recomputedName)) {
        ++again;
        more += cost.arithmetic + cost.traffic;
      }
    });
    function.emitRemark() << "entry \"" << function.getSymName() << "\" computes the results of "
                          << again << " launches twice, about "
                          << int64_t(std::lround(100 * more / (all - more)))
                          << llvm::formatv(" % more work, and takes {0:f1} MiB instead of {1:f1}",
                                           double(now) / (1 << 20), double(before) / (1 << 20))
                                 .str();
  }
};

} // namespace
} // namespace gradc
