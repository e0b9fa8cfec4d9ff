// For each slab, all threads of a block copy both operands' slabs into shared memory, wait, and
// multiply from there.
#include "compiler/codegen/cuda/SharedMemoryContraction.h"

#include "dialects/exec/Blocks.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace gradc::tile;
using gradc::cuda::SharedMemoryContraction;

/// Distance in elements between two steps of the row slab. It is four more than the rows, so writes
/// down a column go to different banks.
static int64_t rowStride(int64_t blockRows) { return blockRows + 4; }

SharedMemoryContraction::SharedMemoryContraction(exec::KernelOp kernel, LoopNest &nest,
                                                 TileEmitter &tiles, SharedMemory &shared)
    : kernel(kernel), nest(nest), tiles(tiles), shared(shared) {
  exec::ScheduleAttr schedule = kernel.getScheduleAttr();
  tileColumns = schedule.getTile().back();
  tileRows = schedule.getTile().drop_back().back();
  std::tie(blockRows, blockColumns) = exec::blockTile(kernel);
  slabDepth = schedule.getBlock().front();
}

/// Whether the body is acc + a * b, with both operands read at plain sums of dims.
static bool multipliesAndAdds(linalg::GenericOp op) {
  Block *body = op.getBody();
  auto sum = body->getTerminator()->getOperand(0).getDefiningOp<arith::AddFOp>();
  if (!sum || op.getNumDpsInputs() != 2 || op.getNumResults() != 1)
    return false;
  Value acc = body->getArgument(2);
  Value other = sum.getLhs() == acc ? sum.getRhs() : sum.getRhs() == acc ? sum.getLhs() : Value();
  auto product = other ? other.getDefiningOp<arith::MulFOp>() : arith::MulFOp();
  return product && product.getLhs() == body->getArgument(0) &&
         product.getRhs() == body->getArgument(1);
}

LogicalResult SharedMemoryContraction::findOperands() {
  for (auto generic : kernel.getBlock().getOps<linalg::GenericOp>())
    if (generic.getNumReductionLoops() > 0)
      op = generic;
  auto wrong = [&] {
    return kernel.emitOpError(
        "expected a contraction of rows by columns to pass through shared memory");
  };
  if (!op || !multipliesAndAdds(op))
    return wrong();
  ranges = op.getStaticLoopRanges();
  AffineMap lhs = op.getMatchingIndexingMap(op.getDpsInputOperand(0));
  AffineMap rhs = op.getMatchingIndexingMap(op.getDpsInputOperand(1));
  AffineMap result = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  for (auto [i, expr] : llvm::enumerate(result.getResults())) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    bool isColumn = i + 1 == result.getNumResults();
    if (!dim || (isColumn ? lhs : rhs).isFunctionOfDim(dim.getPosition()))
      return wrong();
    if (isColumn)
      columnDim = dim.getPosition();
    else
      rowDims.push_back(dim.getPosition());
  }
  reducedDims = gradc::tile::reducedDims(op);
  // The dim with rows of the run comes first, so that the sum's valid steps are its first ones.
  auto first = llvm::find_if(reducedDims, [&](unsigned d) { return tiles.perRow(op, d) > 0; });
  if (first != reducedDims.end())
    std::rotate(reducedDims.begin(), first, first + 1);
  for (unsigned d : rowDims)
    rows *= ranges[d];
  for (unsigned d : reducedDims)
    depth *= ranges[d];
  columns = ranges[columnDim];
  rowsAreContiguous = !rowDims.empty() &&
                      lhs.getResults().back() == getAffineDimExpr(rowDims.back(), lhs.getContext());
  return columns % tileColumns == 0 ? success() : wrong();
}

SharedMemoryContraction::Expr SharedMemoryContraction::limited(Expr position, int64_t size) {
  Value last = nest.constant(size - 1);
  return nest.variable(
      arith::MinSIOp::create(nest.builder, nest.location, nest.index(position), last));
}

Value SharedMemoryContraction::below(Expr position, Value end) {
  return arith::CmpIOp::create(nest.builder, nest.location, arith::CmpIPredicate::slt,
                               nest.index(position), end);
}

/// Splits a position in the combined range of dims into one coordinate per dim; the last dim is
/// fastest.
SmallVector<LinearExpr> SharedMemoryContraction::split(Expr position, ArrayRef<unsigned> dims) {
  SmallVector<Expr> coordinates(dims.size());
  for (size_t i = dims.size(); i-- > 0;) {
    coordinates[i] = position;
    if (i != 0)
      std::tie(position, coordinates[i]) = nest.divide(position, ranges[dims[i]]);
  }
  return coordinates;
}

void SharedMemoryContraction::enterTile(Value block, Value thread) {
  auto [y, x] = nest.divide(nest.variable(thread), blockColumns / tileColumns);
  threadRow = y * tileRows;
  threadColumn = x * tileColumns;
  auto [down, across] = nest.divide(nest.variable(block), llvm::divideCeil(columns, blockColumns));
  blockRow = down * blockRows;
  blockColumn = across * blockColumns;
  row = blockRow + threadRow;
  column = blockColumn + threadColumn;
  // Threads past the last row or column compute the last ones again and do not store them.
  Expr lane = columns % blockColumns == 0 ? column : limited(column, columns - tileColumns + 1);
  if (columns % blockColumns != 0) // a multiple of the tile's columns, like the limit
    lane = nest.divide(lane, tileColumns).first * tileColumns;
  lane.lane = 1;
  for (int64_t r = 0; r < tileRows; ++r) {
    Expr position = row + Expr(r);
    Point p;
    for (const Expr &e : split(rows % blockRows == 0 ? position : limited(position, rows), rowDims))
      p.coordinates.push_back(e);
    p.coordinates.push_back(lane);
    p.valid = tileColumns;
    tilePoints.push_back(p);
  }
}

Value SharedMemoryContraction::holds(size_t r) {
  Value inRows = below(row + Expr(int64_t(r)), nest.constant(rows)),
        inColumns = below(column, nest.constant(columns));
  return arith::AndIOp::create(nest.builder, nest.location, inRows, inColumns);
}

Value SharedMemoryContraction::zeroUnless(Value condition, Value value) {
  Value zero = arith::ConstantOp::create(nest.builder, nest.location,
                                         nest.builder.getZeroAttr(value.getType()));
  return arith::SelectOp::create(nest.builder, nest.location, condition, value, zero);
}

/// Sets the coordinates of a step of the sum. In a partial slab, a step past the end reads the last
/// one.
SmallVector<LinearExpr> SharedMemoryContraction::enterStep(Expr step, bool isPartial) {
  SmallVector<Expr> domain(ranges.size());
  for (auto [d, e] :
       llvm::zip(reducedDims, split(isPartial ? limited(step, depth) : step, reducedDims)))
    domain[d] = e;
  return domain;
}

/// The value, or 0 if the step is not part of the sum: past its end, or past the rows of the run in
/// a dim other than the first.
Value SharedMemoryContraction::inSum(Expr step, bool isPartial, ArrayRef<Expr> domain,
                                     Value value) {
  if (isPartial)
    value = zeroUnless(below(step, end), value);
  for (unsigned d : ArrayRef(reducedDims).drop_front())
    if (int64_t each = tiles.perRow(op, d))
      value = zeroUnless(below(domain[d], nest.extent(ranges[d], each)), value);
  return value;
}

/// Loads the slab of rows, [step][row], as scalars; adjacent threads access adjacent elements.
void SharedMemoryContraction::loadRows(Expr first, Value thread, bool isPartial) {
  int64_t threads = kernel.getBlocksAttr().getThreads();
  for (int64_t i = 0; i < blockRows * slabDepth / threads; ++i) {
    Expr number = nest.variable(thread) + Expr(i * threads);
    auto [high, low] = nest.divide(number, rowsAreContiguous ? blockRows : slabDepth);
    Expr k = rowsAreContiguous ? high : low, r = rowsAreContiguous ? low : high;
    Expr step = first + k, position = blockRow + r;
    SmallVector<Expr> domain = enterStep(step, isPartial);
    for (auto [d, e] :
         llvm::zip(rowDims, split(rows % blockRows ? limited(position, rows) : position, rowDims)))
      domain[d] = e;
    OpOperand *operand = op.getDpsInputOperand(0);
    Value value =
        tiles.pull(operand->get(), *evaluate(op.getMatchingIndexingMap(operand), domain, 0));
    value = inSum(step, isPartial, domain, value);
    shared.store(nest, value, nest.index(k * rowStride(blockRows) + r));
  }
}

/// Loads the slab of columns, [step][column], as one vector per thread.
void SharedMemoryContraction::loadColumns(Expr first, Value thread, bool isPartial) {
  int64_t threads = kernel.getBlocksAttr().getThreads(), vectors = blockColumns / tileColumns;
  for (int64_t i = 0; i * threads < slabDepth * vectors; ++i) {
    auto [k, v] = nest.divide(nest.variable(thread) + Expr(i * threads), vectors);
    auto load = [&, k = k, v = v] {
      Expr step = first + k, position = blockColumn + v * tileColumns;
      if (columns % blockColumns)
        position = nest.divide(limited(position, columns - tileColumns + 1), tileColumns).first *
                   tileColumns;
      position.lane = 1;
      SmallVector<Expr> domain = enterStep(step, isPartial);
      domain[columnDim] = position;
      OpOperand *operand = op.getDpsInputOperand(1);
      Value value = nest.splat(tiles.pull(
          operand->get(), *evaluate(op.getMatchingIndexingMap(operand), domain, tileColumns)));
      value = inSum(step, isPartial, domain, value);
      Expr slot = k * vectors + v + Expr(slabDepth * rowStride(blockRows) / tileColumns);
      shared.store(nest, value, nest.index(slot));
    };
    if ((i + 1) * threads <= slabDepth * vectors)
      load();
    else
      nest.when(below(k, nest.constant(slabDepth)), load);
  }
}

/// Adds the slabs [from, to) to the sums.
SmallVector<Value> SharedMemoryContraction::addSlabs(Value from, Value to, Value thread,
                                                     bool isPartial, ValueRange sums) {
  OpBuilder &b = nest.builder;
  Type element = kernel.getRoot().getElementType();
  VectorType vector = nest.vectorOf(element);
  return nest.loop(from, to, sums, [&](LinearExpr s, ValueRange carried) {
    loadRows(s * slabDepth, thread, isPartial);
    loadColumns(s * slabDepth, thread, isPartial);
    NVVM::Barrier0Op::create(b, nest.location);
    auto next = nest.loop(
        nest.constant(0), nest.constant(slabDepth), carried, [&](LinearExpr k, ValueRange acc) {
          int64_t vectors = blockColumns / tileColumns;
          Value left = shared.load(nest, VectorType::get({tileRows}, element),
                                   nest.index(nest.divide(threadRow, tileRows).first +
                                              k * (rowStride(blockRows) / tileRows)));
          Expr slot = nest.divide(threadColumn, tileColumns).first + k * vectors +
                      Expr(slabDepth * rowStride(blockRows) / tileColumns);
          Value right = shared.load(nest, vector, nest.index(slot));
          SmallVector<Value> values;
          for (int64_t r = 0; r < tileRows; ++r) {
            Value one = vector::ExtractOp::create(b, nest.location, left, r);
            Value all = vector::BroadcastOp::create(b, nest.location, vector, one);
            values.push_back(vector::FMAOp::create(b, nest.location, all, right, acc[r]));
          }
          return values;
        });
    NVVM::Barrier0Op::create(b, nest.location); // the next slab overwrites this one
    return next;
  });
}

/// Adds all slabs. In a sum over the rows of the run, whole slabs are not checked against the end,
/// so a largest batch of whole slabs is as fast as a sum of constant size.
SmallVector<Value> SharedMemoryContraction::addAll(Value thread, ValueRange sums) {
  OpBuilder &b = nest.builder;
  int64_t first = tiles.perRow(op, reducedDims.front());
  end = nest.constant(depth);
  if (first == 0)
    return addSlabs(nest.constant(0), nest.constant(llvm::divideCeil(depth, slabDepth)), thread,
                    depth % slabDepth != 0, sums);
  int64_t each = first * (depth / ranges[reducedDims.front()]);
  end = nest.extent(depth, each);
  Value slab = nest.constant(slabDepth);
  Value whole = arith::DivUIOp::create(b, nest.location, end, slab);
  SmallVector<Value> result = addSlabs(nest.constant(0), whole, thread, /*isPartial=*/false, sums);
  if (each % slabDepth == 0)
    return result;
  Value all = arith::CeilDivUIOp::create(b, nest.location, end, slab);
  return addSlabs(whole, all, thread, /*isPartial=*/true, result);
}

LogicalResult SharedMemoryContraction::emit(Value block, Value thread) {
  if (failed(findOperands()))
    return failure();
  enterTile(block, thread);
  Type element = kernel.getRoot().getElementType();
  shared.reserve(element, slabDepth * (rowStride(blockRows) + blockColumns));
  Value zero = arith::ConstantOp::create(nest.builder, nest.location,
                                         nest.builder.getZeroAttr(nest.vectorOf(element)));
  SmallVector<Value> sums = addAll(thread, SmallVector<Value>(tileRows, zero));
  for (auto [p, sum] : llvm::zip(tilePoints, sums))
    nest.known(op.getResult(0), p) = sum;
  return success(!tiles.hasFailed());
}
