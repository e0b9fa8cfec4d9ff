// Each step consumes two elements, by vdpbf16ps if the level has it, or by AMX.
#include "compiler/codegen/tile/TileEmitter.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace gradc::tile;

static constexpr StringLiteral dotName = "llvm.x86.avx512bf16.dpbf16ps.512";
static constexpr int64_t dotLanes = 16;

namespace {
/// Pairs of 16-bit floats in each lane: in the instruction's format, or as two vectors of f32 if
/// the level lacks the instruction.
struct Factor {
  Factor() = default;
  Factor(LoopNest &nest, Value words);

  Value pairs, first, second;
};
} // namespace

static bool hasInstruction(const LoopNest &nest) {
  return nest.level.bf16Dots && nest.lanes == dotLanes;
}

Factor::Factor(LoopNest &nest, Value words) {
  OpBuilder &b = nest.builder;
  Location at = nest.location;
  if (hasInstruction(nest)) {
    pairs = LLVM::BitcastOp::create(b, at, VectorType::get({2 * dotLanes}, b.getBF16Type()), words);
    return;
  }
  auto splat = [&](int64_t bits) {
    return nest.splat(arith::ConstantIntOp::create(b, at, bits, 32));
  };
  auto floats = nest.vectorOf(b.getF32Type());
  Value low = arith::ShLIOp::create(b, at, words, splat(16));
  Value high = arith::AndIOp::create(b, at, words, splat(int32_t(0xffff0000)));
  first = arith::BitcastOp::create(b, at, floats, low);
  second = arith::BitcastOp::create(b, at, floats, high);
}

/// acc + the products of both elements of the pairs.
static Value dot(LoopNest &nest, Value acc, const Factor &row, const Factor &column) {
  OpBuilder &b = nest.builder;
  Location at = nest.location;
  if (hasInstruction(nest))
    return LLVM::CallIntrinsicOp::create(b, at, acc.getType(), b.getStringAttr(dotName),
                                         ValueRange{acc, row.pairs, column.pairs})
        .getResults();
  // The same order as the instruction.
  acc = math::FmaOp::create(b, at, row.second, column.second, acc);
  return math::FmaOp::create(b, at, row.first, column.first, acc);
}

/// Whether the op sums f32(a) * f32(b) in f32, for two bf16 operands.
static bool isDot(linalg::GenericOp op) {
  if (op.getNumReductionLoops() == 0 || op.getNumDpsInputs() != 2 || op.getNumResults() != 1)
    return false;
  Block *body = op.getBody();
  auto sum = body->getTerminator()->getOperand(0).getDefiningOp<arith::AddFOp>();
  auto product = sum ? sum.getRhs().getDefiningOp<arith::MulFOp>() : arith::MulFOp();
  if (!product || sum.getLhs() != body->getArgument(2) || !sum.getType().isF32())
    return false;
  return llvm::all_of(llvm::enumerate(product->getOperands()), [&](auto it) {
    auto wide = it.value().template getDefiningOp<arith::ExtFOp>();
    return wide && wide.getIn() == body->getArgument(it.index()) && wide.getIn().getType().isBF16();
  });
}

std::optional<PairProducts::Stored> PairProducts::storedAt(Value value, const Point &point) {
  if (auto memory = tiles.memories.find(value); memory != tiles.memories.end())
    return Stored{&memory->second, point};
  auto op = value.getDefiningOp<linalg::GenericOp>();
  if (!op || op.getNumReductionLoops() > 0 || op.getNumDpsInputs() != 1 || isAssembly(op) ||
      op.getBody()->getTerminator()->getOperand(0) != op.getBody()->getArgument(0))
    return std::nullopt;
  OpOperand &moved = *op.getDpsInputOperand(0);
  auto domain = tiles.domainOf(cast<OpResult>(value), point);
  auto at = domain ? tiles.operandPoint(op, moved, *domain, point.valid) : std::optional<Point>();
  return at ? storedAt(moved.get(), *at) : std::nullopt;
}

bool PairProducts::arePairs(linalg::GenericOp op, OpResult result, unsigned dim,
                            ArrayRef<Point> points) {
  LoopNest &nest = tiles.nest;
  OpOperand &lhs = op->getOpOperand(0), &rhs = op->getOpOperand(1);
  LinearExpr begin = tiles.firstStep(op, dim);
  if (begin.stride() % 2 != 0 || begin.constant % 2 != 0)
    return false;
  for (const Point &p : points) {
    auto domain = *tiles.domainOf(result, p);
    auto row = tiles.operandPoint(op, lhs, domain, p.valid);
    auto pairsAt = [&](int64_t step) -> std::optional<LinearExpr> {
      domain[dim] = LinearExpr(step);
      auto column = tiles.operandPoint(op, rhs, domain, p.valid);
      auto stored = column ? storedAt(rhs.get(), *column) : std::nullopt;
      return stored ? stored->memory->pairsOffset(nest, stored->at) : std::nullopt;
    };
    auto first = pairsAt(0), second = pairsAt(1);
    if (!row || row->hasLanes() || !first || !second || !(*second == *first + LinearExpr(1)))
      return false;
  }
  return true;
}

SmallVector<Value> PairProducts::loop(linalg::GenericOp op, unsigned dim, ValueRange carried,
                                      PairStep step) {
  LoopNest &nest = tiles.nest;
  OpBuilder &b = nest.builder;
  LinearExpr first = tiles.firstStep(op, dim);
  Value two = nest.constant(2), last = tiles.lastStep(op, dim);
  Value from = arith::DivUIOp::create(b, nest.location, nest.index(first), two);
  Value to = arith::DivUIOp::create(b, nest.location, last, two);
  SmallVector<Value> sums = nest.loop(from, to, carried, [&](LinearExpr i, ValueRange values) {
    return step(i * 2, /*both=*/true, values);
  });
  int64_t size = op.getStaticLoopRanges()[dim];
  if (!tiles.perRow(op, dim) && size % 2 == 0) // blocks begin at even steps
    return sums;
  return nest.loop(
      arith::MulIOp::create(b, nest.location, to, two), last, sums,
      [&](LinearExpr k, ValueRange values) { return step(k, /*both=*/false, values); });
}

/// Two elements, or (without `both`) the first one, as 32 bits.
static Value loadPair(LoopNest &nest, const Memory &memory, const Point &first, const Point &second,
                      bool both) {
  OpBuilder &b = nest.builder;
  Location at = nest.location;
  if (both && *memory.offset(nest, second) == *memory.offset(nest, first) + LinearExpr(1))
    return memory.loadBits(nest, first, 2);
  auto bits = b.getI32Type();
  Value low = arith::ExtUIOp::create(b, at, bits, memory.loadBits(nest, first, 1));
  if (!both)
    return low;
  Value high = arith::ExtUIOp::create(b, at, bits, memory.loadBits(nest, second, 1));
  Value sixteen = arith::ConstantIntOp::create(b, at, 16, 32);
  return arith::OrIOp::create(b, at, low, arith::ShLIOp::create(b, at, high, sixteen));
}

Point PairProducts::rowOf(Sum &sum, const WindowReads &windows, size_t point,
                          const LinearExpr &step) {
  OpOperand &lhs = sum.op->getOpOperand(0);
  SmallVector<LinearExpr> &domain = sum.domains[point];
  domain[sum.dim] = step;
  return windows.has(lhs) ? windows.read(lhs, point, domain, 0).second
                          : *tiles.operandPoint(sum.op, lhs, domain, 0);
}

SmallVector<Value> PairProducts::multiply(Sum &sum, const WindowReads &windows, const Memory &lhs,
                                          const LinearExpr &step, bool both, ValueRange sums) {
  LoopNest &nest = tiles.nest;
  OpBuilder &b = nest.builder;
  Location at = nest.location;
  OpOperand &rhs = sum.op->getOpOperand(1);
  std::map<Point, Factor> rows, columns;
  SmallVector<Value> next;
  for (auto [i, p, acc] : llvm::enumerate(sum.points, sums)) {
    Point row = rowOf(sum, windows, i, step);
    Stored column = *storedAt(rhs.get(), *tiles.operandPoint(sum.op, rhs, sum.domains[i], p.valid));
    auto [right, isNewColumn] = columns.try_emplace(column.at);
    if (isNewColumn) {
      Value pairs = column.memory->loadPairs(nest, column.at);
      if (!both) { // the second half of the last pair is past the sum's end
        Value lowHalf = nest.splat(arith::ConstantIntOp::create(b, at, 0xffff, 32));
        pairs = arith::AndIOp::create(b, at, pairs, lowHalf);
      }
      right->second = Factor(nest, pairs);
    }
    auto [left, isNewRow] = rows.try_emplace(row);
    if (isNewRow) {
      Point second = rowOf(sum, windows, i, step + LinearExpr(1));
      Value pair = loadPair(nest, lhs, row, second, both);
      left->second =
          Factor(nest, vector::BroadcastOp::create(b, at, nest.vectorOf(pair.getType()), pair));
    }
    Value value = dot(nest, acc, left->second, right->second);
    Value inside = windows.isInside(i);
    next.push_back(inside ? nest.select(inside, value, acc) : value);
  }
  return next;
}

bool PairProducts::reduce(linalg::GenericOp op, OpResult result, ArrayRef<Point> points) {
  LoopNest &nest = tiles.nest;
  if (!isDot(op))
    return false;
  OpOperand &lhs = op->getOpOperand(0);
  SmallVector<unsigned> dims = reducedDims(op);
  Sum sum{op, 0, {}, points, {}};
  for (const Point &p : points)
    sum.domains.push_back(*tiles.domainOf(result, p));
  WindowReads windows(nest, op, sum.domains);
  auto *paired = llvm::find_if(
      dims, [&](unsigned d) { return !windows.walks(d) && arePairs(op, result, d, points); });
  auto rows = tiles.memories.find(windows.has(lhs) ? windows.source(lhs) : lhs.get());
  if (paired == dims.end() || rows == tiles.memories.end())
    return false;
  sum.dim = *paired;
  dims.erase(paired);
  sum.outer = dims;
  if (sumBlocks(sum, result))
    return true;

  auto step = [&](LinearExpr k, bool both, ValueRange carried) {
    return multiply(sum, windows, rows->second, k, both, carried);
  };
  auto loops = [&](auto &&self, size_t depth, ValueRange carried) -> SmallVector<Value> {
    if (depth == dims.size())
      return loop(op, sum.dim, carried, step);
    unsigned dim = dims[depth];
    auto body = [&](LinearExpr i, ValueRange values) {
      for (auto &domain : sum.domains)
        domain[dim] = i;
      return self(self, depth + 1, values);
    };
    auto [begin, end] = tiles.stepsOf(op, dim);
    if (windows.walks(dim))
      return windows.loop(dim, begin, end, carried, body);
    return nest.loop(nest.index(begin), tiles.lastStep(op, dim), carried, body);
  };
  SmallVector<Value> sums =
      llvm::map_to_vector(points, [&](const Point &p) { return tiles.initial(op, 0, p); });
  for (auto [p, value] : llvm::zip(points, loops(loops, 0, sums)))
    nest.known(result, p) = value;
  return true;
}
