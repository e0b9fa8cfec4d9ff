// Plans the transposes of all reshapes, and builds them if every reshape has one.
#include "passes/entry/RowOrder.h"

#include "dialects/grad/Build.h"
#include "dialects/grad/TensorTypes.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;
using namespace mlir::grad;

namespace {

/// One side of a reshape in the new order: [dims before.., rows, outer, perRow, dims behind..].
struct Side {
  ArrayRef<int64_t> shape;
  int64_t dim, outer, perRow; ///< the dim that holds the rows, and what it merges with them

  int64_t before() const { return llvm::product_of(shape.take_front(dim)); }
};

/// A reshape whose rows move: on the side with more elements before its rows, from `from` to `to`.
struct Move {
  ReshapeOp op;
  SmallVector<int64_t> split; ///< the dims of that side, with the rows as a dim of their own
  int64_t from = 0, to = 0;   ///< positions among `split`
  bool isOfOperand = false;   ///< whether that side is the operand
};

} // namespace

static SmallVector<int64_t> dimsWithRows(const gradc::Extents &extents) {
  SmallVector<int64_t> dims;
  for (auto [d, extent] : llvm::enumerate(extents))
    if (extent > 0)
      dims.push_back(int64_t(d));
  return dims;
}

static bool hasInnerRows(const gradc::Extents &extents) {
  return llvm::any_of(extents, [](int64_t e) { return gradc::extent::outerOf(e) > 1; });
}

/// Adds the reshape's move, if it has one. Fails if no single transpose does it.
static LogicalResult plan(ReshapeOp op, const gradc::ExtentAnalysis &analysis,
                          SmallVectorImpl<Move> &moves) {
  const gradc::Extents *from = analysis.find(op.getOperand()), *to = analysis.find(op.getResult());
  if (!from || !to)
    return failure();
  if (!hasInnerRows(*from) && !hasInnerRows(*to))
    return success();
  auto sideOf = [](Value value, const gradc::Extents &extents) {
    int64_t dim = dimsWithRows(extents).front();
    return Side{shapeOf(value), dim, gradc::extent::outerOf(extents[dim]),
                gradc::extent::perRowOf(extents[dim])};
  };
  if (dimsWithRows(*from).size() != 1 || dimsWithRows(*to).size() != 1)
    return failure();
  Side operand = sideOf(op.getOperand(), *from), result = sideOf(op.getResult(), *to);
  assert(operand.before() * operand.outer == result.before() * result.outer && "of one value");
  if (operand.before() == result.before())
    return success();
  Move move{op, {}};
  move.isOfOperand = operand.before() > result.before();
  const Side &more = move.isOfOperand ? operand : result;
  int64_t before = std::min(operand.before(), result.before()), elements = 1;
  move.split.assign(more.shape.begin(), more.shape.begin() + more.dim);
  while (elements < before)
    elements *= move.split[move.to++];
  if (elements > before) { // the rows move into a dim
    int64_t behind = elements / before, &divided = move.split[move.to - 1];
    if (elements % before != 0 || divided % behind != 0)
      return failure();
    divided /= behind;
    move.split.insert(move.split.begin() + move.to, behind);
  }
  move.from = int64_t(move.split.size());
  move.split.push_back(more.shape[more.dim] / (more.outer * more.perRow));
  for (int64_t merged : {more.outer, more.perRow})
    if (merged > 1)
      move.split.push_back(merged);
  llvm::append_range(move.split, more.shape.drop_front(more.dim + 1));
  moves.push_back(std::move(move));
  return success();
}

static void apply(const Move &move) {
  auto order = llvm::to_vector(llvm::seq<int64_t>(0, move.split.size()));
  std::rotate(order.begin() + move.to, order.begin() + move.from, order.begin() + move.from + 1);
  ReshapeOp op = move.op;
  OpBuilder b(op);
  Expr x(b, op.getLoc(), op.getOperand());
  Expr moved = move.isOfOperand ? x.reshape(move.split).transpose(order)
                                : x.reshape(applyPermutation(move.split, order))
                                      .transpose(invertPermutationVector(order));
  op.replaceAllUsesWith(moved.reshape(shapeOf(op)).get());
  op.erase();
}

void gradc::putRowsFirst(func::FuncOp function, const ExtentAnalysis &analysis) {
  if (analysis.needsOrder())
    return;
  SmallVector<Move> moves;
  WalkResult planned = function.walk([&](ReshapeOp op) {
    return failed(plan(op, analysis, moves)) ? WalkResult::interrupt() : WalkResult::advance();
  });
  if (!planned.wasInterrupted())
    llvm::for_each(moves, apply);
}
