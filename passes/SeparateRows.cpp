// Estimates for each entry with a bucket for one row whether its rows are faster one by one.
#include "dialects/grad/control/Control.h"
#include "passes/Passes.h"
#include "passes/entry/Extents.h"
#include "passes/entry/Functions.h"
#include "passes/entry/ModuleLevel.h"
#include "passes/entry/PlannedEntry.h"
#include "passes/entry/Ports.h"
#include "passes/kernel/CostModel.h"
#include "passes/schedule/OneOpKernel.h"
#include "runtime/include/gradc/entries.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mlir::grad;

namespace gradc {
#define GEN_PASS_DEF_SEPARATEROWS
#include "passes/Passes.h.inc"

namespace {

/// The seconds per row that an entry saves, and those that it loses, if its rows run one by one.
class RowCosts {
public:
  /// `extents`: those of the entry's values, for a batch of `rows` rows.
  RowCosts(const SymbolTable &symbols, const exec::Level &level, const ExtentAnalysis &extents,
           int64_t rows)
      : symbols(symbols), level(level), costs(level), extents(extents), rows(rows) {}

  /// Whether keeping the values of a row in the cache saves more than it costs to read the weights,
  /// and compute what all rows share, for every row.
  bool areLower(func::FuncOp function) {
    function.walk([&](exec::LaunchOp launch) { add(launch); });
    return saved > lost;
  }

private:
  /// The bytes of one row of a value, or of a whole value that all rows share.
  int64_t bytesPerRow(Value v) const {
    int64_t bytes = bytesOf(v);
    return extents.isBatched(v) ? bytes / rows : bytes;
  }
  static double tripsAround(Operation *op) {
    double trips = 1;
    for (auto scan = op->getParentOfType<ScanOp>(); scan; scan = scan->getParentOfType<ScanOp>())
      trips *= double(scan.getTrips());
    return trips;
  }

  /// Whether a value, or what it is a view of, is an input of the entry.
  static bool isInput(Value v) {
    while (auto view = v.getDefiningOp<ReshapeOp>())
      v = view.getOperand();
    return isa<BlockArgument>(v) && isa<func::FuncOp>(v.getParentBlock()->getParentOp());
  }
  /// Whether only the caller reads a value, perhaps through views.
  static bool isOutput(Value v) {
    return llvm::all_of(v.getUsers(), [](Operation *user) {
      return isa<func::ReturnOp>(user) || (isa<ReshapeOp>(user) && isOutput(user->getResult(0)));
    });
  }

  void add(exec::LaunchOp launch) {
    auto kernel = symbols.lookup<exec::KernelOp>(launch.getKernel());
    int64_t values = 0, passedOn = 0, shared = 0, computed = 0;
    for (Value v : launch.getResults()) {
      computed += bytesPerRow(v);
      passedOn += isOutput(v) ? 0 : bytesPerRow(v);
    }
    // Except for products, as much of a shared operand is used as is computed: some rows of a
    // table.
    bool isProduct = !kernel.getBlock().getOps<ContractionOpInterface>().empty();
    int64_t most = isProduct ? std::numeric_limits<int64_t>::max() : computed;
    for (Value v : launch.getOperands()) {
      if (!extents.isBatched(v)) {
        shared += std::min(bytesPerRow(v), most);
        continue;
      }
      values += bytesPerRow(v);
      passedOn += isInput(v) ? 0 : bytesPerRow(v);
    }
    bool isShared = values == 0; // it depends on no row
    values += computed;
    double reading = costs.floor(0, shared), trips = tripsAround(launch);
    double seconds = costs.floor(int64_t(kernel.getFlops().value_or(0)), 0);
    seconds /= isShared ? 1 : double(rows);
    if (isShared) {
      lost += trips * std::max(reading + costs.floor(0, computed), seconds);
      return;
    }
    lost += trips * std::max(reading - seconds, 0.0);
    if (const OneOpKernel *whole = oneOpKernel(kernel); whole && whole->secondsAlone)
      lost += trips * whole->secondsAlone(kernel, rows, level);
    if (values <= level.sharedCacheBytes() && values * rows > level.sharedCacheBytes())
      saved += trips * costs.floor(0, passedOn);
  }

  const SymbolTable &symbols;
  const exec::Level &level;
  CostModel costs;
  const ExtentAnalysis &extents;
  int64_t rows;
  double saved = 0;
  double lost = 2e-6; ///< inputs and outputs of a run are bound and copied in about 1 us
};

struct SeparateRows : impl::SeparateRowsBase<SeparateRows> {
  void runOnOperation() override {
    const exec::Level *level = levelOrNative(getOperation());
    if (!level)
      return signalPassFailure();
    if (level->isCuda())
      return;
    SymbolTable symbols(getOperation());
    for (auto function : llvm::to_vector(functionsOf(getOperation()))) {
      std::string name = (function.getSymName() + GRADC_ROWS_INFIX "1").str();
      func::FuncOp oneRow = withBody(symbols.lookup<func::FuncOp>(name));
      if (!oneRow || !keepsRowsApart(function))
        continue;
      FailureOr<ExtentAnalysis> extents = analyzeEntry(function, symbols);
      if (succeeded(extents) && returnsRows(function, *extents) &&
          RowCosts(symbols, *level, *extents, *batchOf(function)).areLower(function))
        replace(function, oneRow);
    }
  }

private:
  /// Whether a run does the same for each of its rows, without regard to the others.
  static bool keepsRowsApart(func::FuncOp function) {
    if (!function->hasAttr(rowsName) || function->hasAttr("grad.coupling_node") ||
        function->hasAttr("grad.numbers_rows") || function->hasAttr("grad.least_rows"))
      return false;
    if (function.walk([](WriteOp) { return WalkResult::interrupt(); }).wasInterrupted())
      return false;
    for (BlockArgument argument : function.getArguments()) // such as the number of rows
      if (roleOfArgument(function, argument.getArgNumber()) != gradc_role_name(GRADC_ROLE_DATA) &&
          !argument.use_empty())
        return false;
    return true;
  }

  /// Whether all outputs are rows; marks them.
  bool returnsRows(func::FuncOp function, const ExtentAnalysis &extents) {
    for (auto [i, v] : llvm::enumerate(function.front().getTerminator()->getOperands())) {
      StringRef role = roleOfResult(function, unsigned(i));
      if (role == gradc_role_name(GRADC_ROLE_INDICES)) // their largest is checked row by row
        continue;
      if (role != gradc_role_name(GRADC_ROLE_OUTPUT) || !extents.isBatched(v))
        return false;
      function.setResultAttr(unsigned(i), batchedName, UnitAttr::get(&getContext()));
    }
    return true;
  }

  void replace(func::FuncOp function, func::FuncOp oneRow) {
    OpBuilder builder(function);
    exec::EntryOp entry = createEntry(builder, function, /*arena=*/0);
    entry.setEachRowAttr(FlatSymbolRefAttr::get(oneRow));
    function.erase();
    llvm::StringSet<> launched;
    getOperation().walk([&](exec::LaunchOp launch) { launched.insert(launch.getKernel()); });
    for (auto kernel : llvm::to_vector(getOperation().getOps<exec::KernelOp>()))
      if (!launched.contains(kernel.getSymName()))
        kernel.erase();
  }
};

} // namespace
} // namespace gradc
