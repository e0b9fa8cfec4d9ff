// Estimates for each entry with a bucket for one row whether its rows are faster one by one.
#include "dialects/grad/Control.h"
#include "passes/Passes.h"
#include "passes/support/Extents.h"
#include "passes/support/ModuleLevel.h"
#include "passes/support/PlannedEntry.h"
#include "passes/support/Ports.h"

using namespace mlir;
using namespace mlir::grad;

namespace gradc {
#define GEN_PASS_DEF_SEPARATEROWS
#include "passes/Passes.h.inc"

namespace {

/// Compares the time of one row's launches, alone, with their share of a run of `rows` rows.
class RowTime {
public:
  RowTime(const SymbolTable &symbols, const exec::Level &level, int64_t rows)
      : symbols(symbols), level(level), rows(rows) {}

  /// Whether keeping values in the cache saves more than reading the weights for every row costs.
  bool isShorterAlone(func::FuncOp oneRow) {
    oneRow.walk([&](exec::LaunchOp launch) { add(launch); });
    return saved > lost;
  }

private:
  static int64_t bytesOf(Value v) {
    return exec::layoutBytes(cast<RankedTensorType>(v.getType()), /*layout=*/nullptr);
  }

  /// Whether a value is a state, perhaps one that a loop around it reads in every iteration.
  static bool isState(Value v) {
    while (auto argument = dyn_cast<BlockArgument>(v)) {
      auto scan = dyn_cast<ScanOp>(argument.getOwner()->getParentOp());
      if (!scan || !llvm::is_contained(scan.getInvariantArguments(), argument))
        return false;
      v = scan.getInvariants()[argument.getArgNumber() -
                               scan.getInvariantArguments().front().getArgNumber()];
    }
    return v.getDefiningOp<ReadOp>();
  }

  void add(exec::LaunchOp launch) {
    auto kernel = symbols.lookup<exec::KernelOp>(launch.getKernel());
    double trips = 1;
    for (auto scan = launch->getParentOfType<ScanOp>(); scan;
         scan = scan->getParentOfType<ScanOp>())
      trips *= double(scan.getTrips());
    int64_t values = 0, weights = 0;
    for (Value v : launch.getResults())
      values += bytesOf(v);
    // Except for products, as much of a state is used as is computed: some rows of a table.
    bool isProduct = !kernel.getBlock().getOps<ContractionOpInterface>().empty();
    int64_t most = isProduct ? std::numeric_limits<int64_t>::max() : values;
    for (Value v : launch.getOperands())
      isState(v) ? weights += std::min(bytesOf(v), most) : values += bytesOf(v);
    double seconds = double(kernel.getFlops().value_or(0)) / level.f32Flops;
    lost += trips * std::max(double(weights) / level.memoryBandwidth - seconds, 0.0);
    if (values * rows > level.l2Bytes)
      saved += trips * double(values) / level.memoryBandwidth;
  }

  const SymbolTable &symbols;
  const exec::Level &level;
  int64_t rows;
  double saved = 0, lost = 0; ///< seconds per row
};

struct SeparateRows : impl::SeparateRowsBase<SeparateRows> {
  void runOnOperation() override {
    const exec::Level *level = levelOrNative(getOperation());
    if (!level)
      return signalPassFailure();
    if (level->isCuda())
      return;
    SymbolTable symbols(getOperation());
    for (auto function : llvm::to_vector(getOperation().getOps<func::FuncOp>())) {
      std::string name = (function.getSymName() + bucketInfix + "1").str();
      auto oneRow = symbols.lookup<func::FuncOp>(name);
      if (oneRow && processesRows(function, symbols) &&
          RowTime(symbols, *level, *batchOf(function)).isShorterAlone(oneRow))
        replace(function, oneRow);
    }
  }

private:
  /// Whether all that a run does is done for each of its rows, without regard to the others.
  bool processesRows(func::FuncOp function, const SymbolTable &symbols) {
    if (!function->hasAttr("grad.rows") || function->hasAttr("grad.coupling_node") ||
        function->hasAttr("grad.least_rows") || !function.getOps<WriteOp>().empty())
      return false;
    for (BlockArgument argument : function.getArguments()) // such as the number of rows
      if (roleOfArgument(function, argument.getArgNumber()) != gradc_role_name(GRADC_ROLE_DATA) &&
          !argument.use_empty())
        return false;
    FailureOr<ExtentAnalysis> analysis = analyzeEntry(function, symbols);
    if (failed(analysis))
      return false;
    for (auto [i, v] : llvm::enumerate(function.front().getTerminator()->getOperands())) {
      StringRef role = roleOfResult(function, unsigned(i));
      if (role == gradc_role_name(GRADC_ROLE_INDICES)) // their largest is checked row by row
        continue;
      if (role != gradc_role_name(GRADC_ROLE_OUTPUT) || !analysis->isBatched(v))
        return false;
      function.setResultAttr(unsigned(i), "grad.batched", UnitAttr::get(&getContext()));
    }
    return true;
  }

  void replace(func::FuncOp function, func::FuncOp oneRow) {
    OpBuilder builder(function);
    exec::EntryOp entry = createEntry(builder, function, /*arena=*/0);
    entry.setEachRowAttr(FlatSymbolRefAttr::get(oneRow));
    function.erase();
    for (auto kernel : llvm::to_vector(getOperation().getOps<exec::KernelOp>()))
      if (SymbolTable::symbolKnownUseEmpty(kernel, getOperation()))
        kernel.erase();
  }
};

} // namespace
} // namespace gradc
