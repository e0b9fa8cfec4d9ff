// How much of every dim a run uses: all of it, or a multiple of the run's rows.
#ifndef PASSES_SUPPORT_EXTENTS_H
#define PASSES_SUPPORT_EXTENTS_H

#include "dialects/exec/Exec.h"
#include "dialects/grad/Grad.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace gradc {

/// A dim's extent in a run of n rows. Types are those of the largest run.
///   whole: the dim's size, whatever n is
///   k > 0: k * n elements, the first ones; the dim's size is k times the largest n
///   free:  repeated or constant along the dim, so as long as its reader wants
namespace extent {
constexpr int64_t whole = 0, free = -1;
}
using Extents = llvm::SmallVector<int64_t>;

/// Extents of the values of a block, op by op in order. It reads indexing maps: an op answers
/// through its loops, a composite through its decomposition.
class ExtentAnalysis {
public:
  /// `rows`: of the largest run.
  explicit ExtentAnalysis(int64_t rows) : rows(rows) {}

  /// Asked first of every op, also in regions: what it says of an op counts, if it says anything.
  using Other = std::function<std::optional<mlir::LogicalResult>(mlir::Operation *)>;
  void setOther(Other ask) { other = std::move(ask); }

  void set(mlir::Value value, Extents extents) { known[value] = std::move(extents); }
  /// Arguments that are batches have their rows outermost.
  void setArguments(mlir::func::FuncOp function);
  /// Null: not known.
  const Extents *find(mlir::Value value) const;
  /// Whether a dim's extent depends on the rows.
  bool isBatched(mlir::Value value) const;

  /// Finds the extents of the op's results from those of its operands. The failure, with nothing
  /// emitted: the results have none, `why` says for what reason.
  mlir::LogicalResult visit(mlir::Operation *op);
  mlir::LogicalResult visit(mlir::Block &block);
  mlir::LogicalResult fail(const llvm::Twine &why);
  llvm::StringRef why() const { return reason; }

  /// Whether an op visited so far couples rows: it sums over them, or pairs them with each other.
  bool couplesRows() const { return couples; }
  /// The same of the ops since the last call.
  bool takeCoupling() { return std::exchange(couples, false); }

  /// Of the loops of an op whose operands are known.
  mlir::FailureOr<Extents> loopsOf(mlir::linalg::GenericOp op);

private:
  mlir::LogicalResult visitGeneric(mlir::linalg::GenericOp op);
  mlir::LogicalResult visitCollective(mlir::Operation *op);
  mlir::LogicalResult visitIf(mlir::grad::IfOp op);
  mlir::LogicalResult visitScan(mlir::grad::ScanOp op);
  /// The extents of a value that comes from two places.
  mlir::FailureOr<Extents> join(const Extents &a, const Extents &b);
  mlir::LogicalResult visitReshape(mlir::Value from, mlir::Value to);
  /// Visits what `build` makes of stand-ins for the op's operands, and takes the extents of the
  /// values it returns.
  using Build =
      llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::OpBuilder &, mlir::ValueRange)>;
  mlir::LogicalResult visitExpansion(mlir::Operation *op, bool signless, Build build);
  void setAll(mlir::Value value, int64_t extent);
  bool mayHoldRows(int64_t size) const { return rows > 1 && size > 0 && size % rows == 0; }

  int64_t rows;
  Other other;
  llvm::DenseMap<mlir::Value, Extents> known;
  std::string reason;
  bool couples = false;
};

/// The extents of a kernel's values from those of its operands, one list an operand.
mlir::FailureOr<ExtentAnalysis> analyzeKernel(mlir::exec::KernelOp kernel,
                                              llvm::ArrayRef<Extents> operands);
/// The same from `extents` of the kernel, where all are whole without it.
mlir::FailureOr<ExtentAnalysis> analyzeKernel(mlir::exec::KernelOp kernel);

/// The elements per row of the run along each dim of `root`, the type of the largest of some
/// results; 0: all of the dim.
Extents rowsOf(mlir::RankedTensorType root, mlir::ValueRange results,
               const ExtentAnalysis &analysis);

/// Sets the extents of a kernel's operands and the rows of its root, or neither where no operand
/// holds rows.
mlir::LogicalResult setExtents(mlir::exec::KernelOp kernel, llvm::ArrayRef<Extents> operands);

} // namespace gradc

#endif
