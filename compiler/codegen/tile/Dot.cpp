// Contractions of bf16 whose rhs stores pairs along a summed dim. Each step consumes two elements,
// by vdpbf16ps if the level has it, or by AMX.
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

bool TileEmitter::arePairs(linalg::GenericOp op, OpResult result, unsigned dim,
                           ArrayRef<Point> points) {
  OpOperand &lhs = op->getOpOperand(0), &rhs = op->getOpOperand(1);
  const Memory &memory = memories.find(rhs.get())->second;
  LinearExpr begin = firstStep(op, dim);
  if (begin.stride() % 2 != 0 || begin.constant % 2 != 0)
    return false;
  for (const Point &p : points) {
    auto domain = *domainOf(result, p), next = domain;
    next[dim] = LinearExpr(1);
    auto row = operandPoint(op, lhs, domain, p.valid);
    auto column = operandPoint(op, rhs, domain, p.valid),
         neighbour = operandPoint(op, rhs, next, p.valid);
    if (!row || row->hasLanes() || !column || !neighbour)
      return false;
    auto first = memory.pairsOffset(nest, *column), second = memory.pairsOffset(nest, *neighbour);
    if (!first || !second || !(*second == *first + LinearExpr(1)))
      return false;
  }
  return true;
}

LinearExpr TileEmitter::firstStep(linalg::GenericOp op, unsigned dim) {
  SmallVector<unsigned> dims = reducedDims(op);
  size_t depth = llvm::find(dims, dim) - dims.begin();
  bool isBlock = op == accumulation.op && depth < accumulation.block.size();
  return isBlock ? accumulation.block[depth].first : LinearExpr(0);
}

Value TileEmitter::lastStep(linalg::GenericOp op, unsigned dim) {
  SmallVector<unsigned> dims = reducedDims(op);
  size_t depth = llvm::find(dims, dim) - dims.begin();
  if (op == accumulation.op && depth < accumulation.block.size())
    return nest.index(accumulation.block[depth].second);
  return nest.extent(op.getStaticLoopRanges()[dim], perRow(op, dim));
}

SmallVector<Value> TileEmitter::loopPairs(linalg::GenericOp op, unsigned dim, ValueRange carried,
                                          PairStep step) {
  OpBuilder &b = nest.builder;
  LinearExpr first = firstStep(op, dim);
  Value two = nest.constant(2), last = lastStep(op, dim);
  Value from = arith::DivUIOp::create(b, nest.location, nest.index(first), two);
  Value to = arith::DivUIOp::create(b, nest.location, last, two);
  SmallVector<Value> sums = nest.loop(from, to, carried, [&](LinearExpr i, ValueRange values) {
    return step(i * 2, /*both=*/true, values);
  });
  int64_t size = op.getStaticLoopRanges()[dim];
  if (!perRow(op, dim) && size % 2 == 0) // blocks begin at even steps
    return sums;
  return nest.loop(
      arith::MulIOp::create(b, nest.location, to, two), last, sums,
      [&](LinearExpr k, ValueRange values) { return step(k, /*both=*/false, values); });
}

Value TileEmitter::loadPair(linalg::GenericOp op, OpOperand &operand, unsigned dim,
                            SmallVector<LinearExpr> domain, bool both) {
  OpBuilder &b = nest.builder;
  Location at = nest.location;
  const Memory &memory = memories.find(operand.get())->second;
  Point first = *operandPoint(op, operand, domain, 0);
  domain[dim] += LinearExpr(1);
  Point second = *operandPoint(op, operand, domain, 0);
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

bool TileEmitter::reducePairs(linalg::GenericOp op, OpResult result, ArrayRef<Point> points) {
  OpOperand &lhs = op->getOpOperand(0), &rhs = op->getOpOperand(1);
  if (!isDot(op) || !memories.contains(lhs.get()) || !memories.contains(rhs.get()))
    return false;
  SmallVector<unsigned> dims = reducedDims(op);
  auto *paired = llvm::find_if(dims, [&](unsigned d) { return arePairs(op, result, d, points); });
  if (paired == dims.end())
    return false;
  const unsigned dim = *paired;
  dims.erase(paired);
  OpBuilder &b = nest.builder;
  Location at = nest.location;
  auto lowHalf = [&] { return nest.splat(arith::ConstantIntOp::create(b, at, 0xffff, 32)); };

  DotSum sum{op, dim, dims, points, {}};
  auto &domains = sum.domains;
  for (const Point &p : points)
    domains.push_back(*domainOf(result, p));
  if (sumBlocks(sum, result))
    return true;
  SmallVector<Value> sums;
  for (const Point &p : points)
    sums.push_back(initial(op, 0, p));
  auto step = [&](LinearExpr k, bool both, ValueRange carried) {
    std::map<Point, Factor> rows, columns;
    SmallVector<Value> values;
    for (auto [p, domain, acc] : llvm::zip(points, domains, carried)) {
      domain[dim] = k;
      Point column = *operandPoint(op, rhs, domain, p.valid);
      auto [right, isNewColumn] = columns.try_emplace(column);
      if (isNewColumn) {
        Value pairs = memories.find(rhs.get())->second.loadPairs(nest, column);
        if (!both) // the second half of the last pair is past the sum's end
          pairs = arith::AndIOp::create(b, at, pairs, lowHalf());
        right->second = Factor(nest, pairs);
      }
      auto [left, isNewRow] = rows.try_emplace(*operandPoint(op, lhs, domain, 0));
      if (isNewRow) {
        Value pair = loadPair(op, lhs, dim, domain, both);
        left->second =
            Factor(nest, vector::BroadcastOp::create(b, at, nest.vectorOf(pair.getType()), pair));
      }
      values.push_back(dot(nest, acc, left->second, right->second));
    }
    return values;
  };
  auto loops = [&](auto &&self, size_t depth, ValueRange carried) -> SmallVector<Value> {
    if (depth == dims.size())
      return loopPairs(op, dim, carried, step);
    Value from = nest.index(firstStep(op, dims[depth])), to = lastStep(op, dims[depth]);
    return nest.loop(from, to, carried, [&](LinearExpr i, ValueRange values) {
      for (auto &domain : domains)
        domain[dims[depth]] = i;
      return self(self, depth + 1, values);
    });
  };
  for (auto [p, value] : llvm::zip(points, loops(loops, 0, sums)))
    nest.known(result, p) = value;
  return true;
}
