// Finds rows that are read several times by comparing all pairs of indices, which takes no memory
// of the table's size, or, of many indices, by a list of the first position of each row. No order
// of threads can change either.
#include "passes/training/RowUpdates.h"

#include "dialects/grad/training/Optimizer.h"
#include "passes/training/StepAttributes.h"
#include "passes/training/TrainedStates.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

RowReads RowReads::of(ReadOp parameter) {
  RowReads reads;
  SetVector<Operation *> found(parameter->user_begin(), parameter->user_end());
  SmallVector<Operation *> users = found.takeVector();
  llvm::sort(users, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  for (Operation *op : users) {
    auto rows = dyn_cast<RowsOpInterface>(op);
    bool isRead =
        rows && !rows.getNewRows() && rows.getRows() && op->getOperand(0) == parameter.getResult();
    if (!isRead) {
      reads.other = op;
      continue;
    }
    reads.ops.push_back(rows);
    reads.count += cast<RankedTensorType>(rows.getRows().getType()).getNumElements();
  }
  return reads;
}

namespace {

/// The indices of one read.
struct Indices {
  Expr rows;     ///< of the table, counted from the front, as i32
  int64_t first; ///< the position of the first of them in the list of all reads

  ArrayRef<int64_t> shape() const { return rows.shape(); }
  /// The position of each index: row-major.
  Expr positions() const {
    OpBuilder &b = rows.getBuilder();
    Expr position = rows.splat(double(first));
    for (int64_t d = 0; d < int64_t(shape().size()); ++d) {
      int64_t stride = llvm::product_of(shape().drop_front(d + 1));
      Expr along = rows.with(IotaOp::create(b, rows.getLoc(), rows.type(), d));
      position = position + along * double(stride);
    }
    return position;
  }
};

} // namespace

/// `count`: rows of the table.
static Indices indicesOf(Expr given, int64_t count, int64_t first) {
  Expr rows = given.cast(given.getBuilder().getI32Type());
  Expr isFromEnd = rows.compare(ComparePredicate::lt, rows.splat(0));
  return {isFromEnd.select(rows + double(count), rows), first};
}

/// The first position of all reads with the same row, for each index of `own`.
static Expr firstPositions(const Indices &own, ArrayRef<Indices> all, int64_t count) {
  std::optional<Expr> first;
  int64_t rank = own.shape().size();
  auto ownDims = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  for (const Indices &other : all) {
    if (other.rows.type().getNumElements() == 0)
      continue; // it has no index that may be the first
    SmallVector<int64_t> pairs(own.shape());
    llvm::append_range(pairs, other.shape());
    auto reduced = llvm::to_vector(llvm::seq<int64_t>(rank, pairs.size()));
    RankedTensorType type = own.rows.type().clone(pairs);
    Expr isSame = own.rows.broadcast(type, ownDims)
                      .compare(ComparePredicate::eq, other.rows.broadcast(type, reduced));
    Expr at = other.positions().broadcast(type, reduced);
    Expr least = isSame.select(at, at.splat(double(count)));
    if (!reduced.empty())
      least = least.with(ReduceMinOp::create(least.getBuilder(), least.getLoc(), least, reduced));
    first = first ? first->apply<MinOp>(least) : least;
  }
  return first ? *first : own.positions();
}

/// Whether comparing all pairs of `count` indices takes longer than filling a list that has an
/// element for each row of the table.
static bool hasManyPairs(int64_t count, int64_t tableRows) {
  constexpr int64_t fewPairs = int64_t(1) << 20, pairsPerRow = 8;
  return count * count > std::max(fewPairs, pairsPerRow * tableRows);
}

/// The same, for the indices of each read, through the first position of each row of the table.
static SmallVector<Expr> firstPositionsOfRows(ArrayRef<Indices> all, int64_t count,
                                              int64_t tableRows) {
  OpBuilder &b = all.front().rows.getBuilder();
  Location loc = all.front().rows.getLoc();
  Value none = splat(b, loc, RankedTensorType::get({tableRows}, b.getI32Type()), double(count));
  auto dimsOf = [](const Indices &read) {
    return llvm::to_vector(llvm::seq<int64_t>(0, read.shape().size()));
  };
  std::optional<Expr> list;
  for (const Indices &read : all) {
    Expr own = read.rows.with(ScatterOp::create(b, loc, none.getType(), none, read.rows.get(),
                                                read.positions().get(), ScatterReduction::min,
                                                ArrayRef<int64_t>{-1}, dimsOf(read)));
    list = list ? list->apply<MinOp>(own) : own;
  }
  SmallVector<Expr> first;
  for (const Indices &read : all) {
    Expr rows = read.rows, own = read.positions();
    Expr inList = rows.with(
        GatherOp::create(b, loc, list->get(), rows.get(), ArrayRef<int64_t>{-1}, dimsOf(read)));
    // The list has no element for a row out of range.
    Expr isBefore = rows.compare(ComparePredicate::lt, rows.splat(0));
    Expr isBehind = rows.compare(ComparePredicate::ge, rows.splat(double(tableRows)));
    first.push_back(isBefore.select(own, isBehind.select(own, inList)));
  }
  return first;
}

/// `values`, which are whole rows at the positions of `first`, combined into those of `into`.
static Value scatterRows(OpBuilder &b, Value into, Expr first, Value values, ScatterReduction how) {
  int64_t rank = first.type().getRank();
  int64_t rest = cast<RankedTensorType>(into.getType()).getRank() - 1;
  SmallVector<int64_t> dims = {-1};
  llvm::append_range(dims, llvm::seq<int64_t>(rank, rank + rest));
  auto positions = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  return ScatterOp::create(b, first.getLoc(), into.getType(), into, first.get(), values, how, dims,
                           positions);
}

RowGradient RowGradient::unite(OpBuilder &b, Value table, ArrayRef<Value> rows,
                               ArrayRef<Value> gradients, bool forCuda) {
  Location loc = table.getLoc();
  auto type = cast<RankedTensorType>(table.getType());
  SmallVector<Indices> all;
  int64_t count = 0;
  for (Value read : rows) {
    all.push_back(indicesOf(Expr(b, loc, read), type.getDimSize(0), count));
    count += cast<RankedTensorType>(read.getType()).getNumElements();
  }
  SmallVector<int64_t> shape(type.getShape());
  shape[0] = count;
  RankedTensorType list = RankedTensorType::get({count}, b.getI32Type());
  RowGradient united{splat(b, loc, list, double(type.getDimSize(0))), Value()};
  Value zeros = splat(b, loc, type.clone(shape, accumulatorOf(type.getElementType())), 0);
  SmallVector<Expr> firsts;
  if (!forCuda && hasManyPairs(count, type.getDimSize(0)))
    firsts = firstPositionsOfRows(all, count, type.getDimSize(0));
  else
    for (const Indices &own : all)
      firsts.push_back(firstPositions(own, all, count));
  // The last read's first, as the gradients of the table would be added.
  for (size_t i = all.size(); i-- > 0;) {
    Expr first = firsts[i];
    united.rows = scatterRows(b, united.rows, first, all[i].rows, ScatterReduction::replace);
    Expr sum = first.with(
        scatterRows(b, zeros, first, first.with(gradients[i]).wide(), ScatterReduction::add));
    united.values = united.values ? (sum.with(united.values) + sum).get() : sum.get();
  }
  return united;
}

Value RowGradient::readFrom(OpBuilder &b, Value table) const {
  SmallVector<int64_t> dims =
      llvm::to_vector(llvm::seq<int64_t>(0, cast<RankedTensorType>(table.getType()).getRank()));
  dims[0] = -1;
  return GatherOp::create(b, values.getLoc(), table, rows, dims, ArrayRef<int64_t>{0});
}

Value RowGradient::writeTo(OpBuilder &b, Value table, Value newRows) const {
  return SetRowsOp::create(b, values.getLoc(), table.getType(), table, rows, newRows);
}

/// Why a step has to update all rows of a parameter; empty: it does not have to.
static std::string needsAllRows(func::FuncOp function, const UpdateRule &rule) {
  if (hasDecay(rule.hyperparameters))
    return "l2 and weight_decay change all rows";
  if (!rule.rule().isElementwise())
    return (rule.op.stripDialect() + " computes with the whole parameter").str();
  if (function->hasAttr("grad.average"))
    return "its average changes in all rows";
  if (function->hasAttr(ranksName))
    return "ranks add up gradients of all rows";
  if (function->hasAttr(stagesName))
    return "stages of a pipeline update all rows";
  return "";
}

FailureOr<bool> gradc::updatesByRows(func::FuncOp function, StateOp owner, const UpdateRule &rule,
                                     const RowReads &reads, bool forCuda) {
  bool isRead = !reads.other && !reads.ops.empty();
  std::string why = needsAllRows(function, rule);
  if (owner->hasAttr(lazyName)) {
    if (!isRead) {
      auto error = owner.emitError("expected the steps to read only rows of \"")
                   << owner.getSymName() << "\", which is lazy";
      if (reads.other)
        error.attachNote(reads.other->getLoc()) << "this " << reads.other->getName() << " reads it";
      return failure();
    }
    if (why.empty())
      return true;
    owner.emitError("\"") << owner.getSymName() << "\" cannot be lazy: " << why;
    return failure();
  }
  // Reading half of the rows, writing them and adding up their gradients takes as long as updating
  // all. Micro-batches would add in another order. On GPUs rows are not written in place.
  return isRead && why.empty() && !forCuda && !function->hasAttr(microBatchesName) &&
         rule.rule().keepsWithoutGradient(rule.hyperparameters) &&
         2 * reads.count <= cast<RankedTensorType>(owner.getType()).getDimSize(0);
}
