// Estimates for each entry with a bucket for one row whether its rows are faster one by one.
#include "dialects/grad/Control.h"
#include "passes/Passes.h"
#include "passes/support/Extents.h"
#include "passes/support/ModuleLevel.h"
#include "passes/support/PlannedEntry.h"
#include "passes/support/Ports.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mlir::grad;

namespace gradc {
#define GEN_PASS_DEF_SEPARATEROWS
#include "passes/Passes.h.inc"

namespace {

/// What running rows one by one saves and costs, in seconds per row.
class RowCosts {
public:
  RowCosts(const SymbolTable &symbols, const exec::Level &level, int64_t rows)
      : symbols(symbols), level(level), rows(rows) {}

  /// Whether keeping the values of a row in the cache saves more than it costs to read the weights,
  /// and compute what all rows share, for every row. `oneRow`: the entry for one row.
  bool areLower(func::FuncOp oneRow, ArrayRef<bool> isBatched) {
    for (auto [argument, holdsRow] : llvm::zip_equal(oneRow.getArguments(), isBatched))
      if (holdsRow)
        ofRow.insert(argument);
    oneRow.walk<WalkOrder::PreOrder>([&](Operation *op) {
      follow(op);
      if (auto launch = dyn_cast<exec::LaunchOp>(op))
        add(launch);
    });
    return saved > lost;
  }

private:
  static int64_t bytesOf(Value v) {
    return exec::layoutBytes(cast<RankedTensorType>(v.getType()), /*layout=*/nullptr);
  }
  static double tripsAround(Operation *op) {
    double trips = 1;
    for (auto scan = op->getParentOfType<ScanOp>(); scan; scan = scan->getParentOfType<ScanOp>())
      trips *= double(scan.getTrips());
    return trips;
  }

  /// Results depend on the row if an operand does, and so do the arguments of regions, except for
  /// what a loop does not change.
  void follow(Operation *op) {
    if (llvm::none_of(op->getOperands(), [&](Value v) { return ofRow.contains(v); }))
      return;
    ofRow.insert(op->result_begin(), op->result_end());
    auto pass = [&](ValueRange operands, ValueRange arguments) {
      for (auto [argument, operand] : llvm::zip_equal(arguments, operands))
        if (ofRow.contains(operand))
          ofRow.insert(argument);
    };
    if (auto branch = dyn_cast<grad::IfOp>(op))
      for (Region *region : branch.getRegions())
        pass(branch.getInputs(), region->getArguments());
    if (auto scan = dyn_cast<ScanOp>(op)) {
      ofRow.insert(scan.getCarried().begin(), scan.getCarried().end());
      pass(scan.getStacks(), scan.getSteps());
      pass(scan.getInvariants(), scan.getInvariantArguments());
    }
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
    double seconds = double(kernel.getFlops().value_or(0)) / level.f32Flops;
    int64_t values = 0, passedOn = 0, shared = 0, computed = 0;
    for (Value v : launch.getResults()) {
      computed += bytesOf(v);
      passedOn += isOutput(v) ? 0 : bytesOf(v);
    }
    // Except for products, as much of a shared operand is used as is computed: some rows of a
    // table.
    bool isProduct = !kernel.getBlock().getOps<ContractionOpInterface>().empty();
    int64_t most = isProduct ? std::numeric_limits<int64_t>::max() : computed;
    for (Value v : launch.getOperands()) {
      if (!ofRow.contains(v)) {
        shared += std::min(bytesOf(v), most);
        continue;
      }
      values += bytesOf(v);
      passedOn += isInput(v) ? 0 : bytesOf(v);
    }
    bool isShared = values == 0; // it depends on no row
    values += computed;
    double reading = double(shared) / level.memoryBandwidth, trips = tripsAround(launch);
    if (isShared) {
      lost += trips * std::max(reading + double(computed) / level.memoryBandwidth, seconds);
      return;
    }
    lost += trips * std::max(reading - seconds, 0.0);
    if (values <= level.sharedCacheBytes() && values * rows > level.sharedCacheBytes())
      saved += trips * double(passedOn) / level.memoryBandwidth;
  }

  const SymbolTable &symbols;
  const exec::Level &level;
  int64_t rows;
  llvm::DenseSet<Value> ofRow; ///< values that depend on the row
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
    for (auto function : llvm::to_vector(getOperation().getOps<func::FuncOp>())) {
      std::string name = (function.getSymName() + bucketInfix + "1").str();
      auto oneRow = symbols.lookup<func::FuncOp>(name);
      if (!oneRow || !processesRows(function, symbols))
        continue;
      SmallVector<bool> isBatched;
      for (unsigned i = 0; i < function.getNumArguments(); ++i)
        isBatched.push_back(function.getArgAttr(i, "grad.batched") != nullptr);
      if (RowCosts(symbols, *level, *batchOf(function)).areLower(oneRow, isBatched))
        replace(function, oneRow);
    }
  }

private:
  /// Whether all that a run does is done for each of its rows, without regard to the others.
  bool processesRows(func::FuncOp function, const SymbolTable &symbols) {
    if (!function->hasAttr("grad.rows") || function->hasAttr("grad.coupling_node") ||
        function->hasAttr("grad.numbers_rows") || function->hasAttr("grad.least_rows"))
      return false;
    if (function.walk([](WriteOp) { return WalkResult::interrupt(); }).wasInterrupted())
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
    llvm::StringSet<> launched;
    getOperation().walk([&](exec::LaunchOp launch) { launched.insert(launch.getKernel()); });
    for (auto kernel : llvm::to_vector(getOperation().getOps<exec::KernelOp>()))
      if (!launched.contains(kernel.getSymName()))
        kernel.erase();
  }
};

} // namespace
} // namespace gradc
