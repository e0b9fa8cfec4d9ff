// The extent of every dim that a run uses: the whole dim, or a multiple of the run's rows.
#ifndef PASSES_ENTRY_EXTENTS_H
#define PASSES_ENTRY_EXTENTS_H

#include "dialects/exec/Exec.h"
#include "dialects/grad/Grad.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace gradc {

/// A dim's extent in a run of n rows. Types are those of the largest run.
///   whole: the dim's size, independent of n
///   k > 0: the first k * n elements; the dim's size is k times the largest n
///   free:  repeated or constant along the dim, so any extent that the reader needs
///   numbered: the same, but each element is computed from its number along the dim
///   perRow: free, and the run has as many elements as rows (or a multiple), whatever else repeats
/// An analysis that follows inner rows has one more:
///   inner(outer, k): the dim is [outer, n, k], such as steps and rows that a reshape has joined
namespace extent {
constexpr int64_t whole = 0, free = -1, numbered = -2, perRow = -3;
inline bool isFree(int64_t extent) { return extent < 0; }
/// `inner(1, k)` is k.
inline int64_t inner(int64_t outer, int64_t k) { return (outer - 1) << 32 | k; }
inline int64_t outerOf(int64_t rows) { return (rows >> 32) + 1; }
inline int64_t perRowOf(int64_t rows) { return rows & 0xffffffff; }
} // namespace extent
using Extents = llvm::SmallVector<int64_t>;

/// Computes extents of the values of a block, op by op in order. It uses indexing maps: those of an
/// op's loops, or of a composite's decomposition.
class ExtentAnalysis {
public:
  /// `rows`: of the largest run.
  explicit ExtentAnalysis(int64_t rows) : rows(rows) {}
  /// Also accepts rows that are not the outermost part of a dim. Extents then only tell which
  /// values hold rows: no run with fewer rows uses a beginning of such a dim.
  void followInnerRows() { isInnerFollowed = true; }

  /// A callback that is tried first for every op, also in regions; if it returns a result, that
  /// result is used.
  using Other = std::function<std::optional<mlir::LogicalResult>(mlir::Operation *)>;
  void setOther(Other ask) { other = std::move(ask); }

  void set(mlir::Value value, Extents extents) { known[value] = std::move(extents); }
  /// Sets the extents of a function's arguments; batches have their rows outermost.
  void setArguments(mlir::func::FuncOp function);
  /// Null: not known.
  const Extents *find(mlir::Value value) const;
  /// The extents of values that are all known, with `free` in place of `numbered` and `perRow`.
  llvm::SmallVector<Extents> of(mlir::ValueRange values) const;
  /// Whether a dim's extent depends on the rows.
  bool isBatched(mlir::Value value) const;
  /// Whether calls of other rows would take other parts of a value than its first ones: rows are
  /// not its outermost dim.
  bool holdsRowsInside(mlir::Value value) const;

  /// Computes the extents of the op's results from those of its operands. Fails, without a
  /// diagnostic, if the results have no extents; `why` then returns the reason.
  mlir::LogicalResult visit(mlir::Operation *op);
  mlir::LogicalResult visit(mlir::Block &block);
  /// Visits the dims that a count is the size of, or that a count of a visited value sizes. Where
  /// it counts rows, such a dim holds rows or what is repeated for each row; fails at a whole dim,
  /// which fits the largest batch alone.
  mlir::LogicalResult visitSizes(mlir::grad::CountOp count);
  /// Names the node that is compiled for the number of rows that the count has in the largest
  /// batch.
  mlir::LogicalResult failAtReader(mlir::grad::CountOp count);
  mlir::LogicalResult fail(const llvm::Twine &why);
  llvm::StringRef why() const { return reason; }

  /// Whether an op visited so far couples rows: it sums over them, or pairs them with each other.
  bool couplesRows() const { return couples; }
  /// The same for the ops visited since the last call.
  bool takeCoupling() { return std::exchange(couples, false); }

  /// Whether an op visited so far combines rows with their numbers in the batch.
  bool numbersRows() const { return numbers; }
  /// Whether an op visited so far needs the order of the elements of a dim with inner rows: it
  /// numbers them, or reshapes the dim on its own.
  bool needsOrder() const { return order; }

  /// The extents of an op's loops; the extents of its operands must be known.
  mlir::FailureOr<Extents> loopsOf(mlir::linalg::GenericOp op);

private:
  mlir::LogicalResult visitGeneric(mlir::linalg::GenericOp op);
  void setConstant(mlir::Value value);
  mlir::LogicalResult visitCollective(mlir::Operation *op);
  mlir::LogicalResult visitIf(mlir::grad::IfOp op);
  mlir::LogicalResult visitScan(mlir::grad::ScanOp op);
  /// The extent of a dim with two sources; none: they differ.
  std::optional<int64_t> join(int64_t a, int64_t b);
  /// The extents of a value with two sources.
  mlir::FailureOr<Extents> join(const Extents &a, const Extents &b);
  mlir::LogicalResult visitReshape(mlir::Value from, mlir::Value to);
  /// Visits the ops that `build` creates over placeholders for the op's operands, and uses the
  /// extents of the values that `build` returns.
  using Build =
      llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::OpBuilder &, mlir::ValueRange)>;
  mlir::LogicalResult visitExpansion(mlir::Operation *op, bool signless, Build build);
  void setAll(mlir::Value value, int64_t extent);
  bool mayHoldRows(int64_t size) const { return rows > 1 && size > 0 && size % rows == 0; }
  /// Whether what a dim repeats may be for each row, such as the same keys: merged with dims behind
  /// it, the elements of n rows are the first ones. A kernel's values tell only that they repeat.
  bool mayRepeatPerRow(int64_t extent, int64_t size) const {
    return extent::isFree(extent) && (rows <= 1 || mayHoldRows(size));
  }

  int64_t rows;
  Other other;
  llvm::DenseMap<mlir::Value, Extents> known;
  std::string reason;
  llvm::DenseSet<int64_t> sizedByRows; ///< the dims whose sizes follow counts of rows
  bool couples = false, numbers = false, order = false, isInnerFollowed = false;
  bool isExpanding = false; ///< visits what an op expands to
};

/// For `setOther`, before the counts of an entry have values: a count is a number without dims, and
/// a write of a state has no results. None for other ops.
std::optional<mlir::LogicalResult> visitCountOrWrite(mlir::Operation *op, ExtentAnalysis &analysis);

/// The extents of an entry's values, up to an op that has none: such an entry takes one number of
/// rows. Writes of states, which have no results, are passed over.
ExtentAnalysis analyzeFunction(mlir::func::FuncOp function);

/// The extents of a kernel's values from those of its operands, one list per operand.
mlir::FailureOr<ExtentAnalysis> analyzeKernel(mlir::exec::KernelOp kernel,
                                              llvm::ArrayRef<Extents> operands);
/// The same from the kernel's attribute `extents`; without it all extents are whole.
mlir::FailureOr<ExtentAnalysis> analyzeKernel(mlir::exec::KernelOp kernel);

/// The extents of all values of an entry whose ops are launches. Reports a value without extents as
/// a compiler bug.
mlir::FailureOr<ExtentAnalysis> analyzeEntry(mlir::func::FuncOp entry,
                                             const mlir::SymbolTable &symbols);

/// The elements per row of the run along each dim of `root`, the type of the largest of some
/// results; 0: all of the dim.
Extents rowsOf(mlir::RankedTensorType root, mlir::ValueRange results,
               const ExtentAnalysis &analysis);

/// Sets the extents of a kernel's operands and the rows of its root, or neither if no operand holds
/// rows.
mlir::LogicalResult setExtents(mlir::exec::KernelOp kernel, llvm::ArrayRef<Extents> operands);

} // namespace gradc

#endif
