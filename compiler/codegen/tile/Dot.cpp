// Contractions of bf16 whose rhs stores pairs along a summed dim: each step takes two elements.
#include "compiler/codegen/tile/Dot.h"

#include "compiler/codegen/tile/TileEmitter.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace gradc::tile;

static constexpr StringLiteral dotName = "llvm.x86.avx512bf16.dpbf16ps.512";
static constexpr int64_t dotLanes = 16;

/// Whether the op sums f32(a) * f32(b) of two bf16 operands in f32.
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
  if (!isDot(op) || nest.lanes != dotLanes)
    return false;
  OpOperand &lhs = op->getOpOperand(0), &rhs = op->getOpOperand(1);
  auto left = memories.find(lhs.get()), right = memories.find(rhs.get());
  if (left == memories.end() || right == memories.end())
    return false;
  SmallVector<unsigned> dims = reducedDims(op);
  auto *paired = llvm::find_if(dims, [&](unsigned d) { return arePairs(op, result, d, points); });
  if (paired == dims.end())
    return false;
  const unsigned dim = *paired;
  dims.erase(paired);
  OpBuilder &b = nest.builder;
  Location at = nest.location;
  auto asBf16 = [&](Value words) -> Value {
    auto type = VectorType::get({2 * dotLanes}, b.getBF16Type());
    return LLVM::BitcastOp::create(b, at, type, words);
  };
  auto lowHalf = [&] { return nest.splat(arith::ConstantIntOp::create(b, at, 0xffff, 32)); };

  SmallVector<SmallVector<LinearExpr>> domains;
  SmallVector<Value> sums;
  for (const Point &p : points) {
    domains.push_back(*domainOf(result, p));
    sums.push_back(initial(op, 0, p));
  }
  auto step = [&](LinearExpr k, bool both, ValueRange carried) {
    std::map<Point, Value> rows, columns;
    SmallVector<Value> values;
    for (auto [p, domain, acc] : llvm::zip(points, domains, carried)) {
      domain[dim] = k;
      Value &row = rows[*operandPoint(op, lhs, domain, 0)];
      if (!row) {
        Value pair = loadPair(op, lhs, dim, domain, both);
        row = asBf16(vector::BroadcastOp::create(b, at, nest.vectorOf(pair.getType()), pair));
      }
      Point place = *operandPoint(op, rhs, domain, p.valid);
      Value &column = columns[place];
      if (!column) {
        Value pairs = right->second.loadPairs(nest, place);
        if (!both) // the other half of the last pair is behind the sum's end
          pairs = arith::AndIOp::create(b, at, pairs, lowHalf());
        column = asBf16(pairs);
      }
      auto dot = LLVM::CallIntrinsicOp::create(b, at, acc.getType(), b.getStringAttr(dotName),
                                               ValueRange{acc, row, column});
      values.push_back(dot.getResults());
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
  for (auto [p, sum] : llvm::zip(points, loops(loops, 0, sums)))
    nest.known(result, p) = sum;
  return true;
}

namespace {
struct ExpandDot : OpRewritePattern<LLVM::CallIntrinsicOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(LLVM::CallIntrinsicOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getIntrin() != dotName)
      return failure();
    Location at = op.getLoc();
    auto words = VectorType::get({dotLanes}, rewriter.getI32Type());
    auto floats = words.clone(rewriter.getF32Type());
    auto splat = [&](int32_t value) {
      return arith::ConstantOp::create(rewriter, at,
                                       DenseElementsAttr::get(words, APInt(32, uint32_t(value))));
    };
    Value odd = splat(int32_t(0xffff0000)), sixteen = splat(16), sum = op.getArgs()[0];
    auto floatsOf = [&](Value pairs, bool second) -> Value {
      Value word = pairs.getDefiningOp<LLVM::BitcastOp>().getArg();
      Value high = second ? arith::AndIOp::create(rewriter, at, word, odd).getResult()
                          : arith::ShLIOp::create(rewriter, at, word, sixteen).getResult();
      return arith::BitcastOp::create(rewriter, at, floats, high);
    };
    for (bool second : {true, false}) // in the instruction's order
      sum = math::FmaOp::create(rewriter, at, floatsOf(op.getArgs()[1], second),
                                floatsOf(op.getArgs()[2], second), sum);
    rewriter.replaceOp(op, sum);
    return success();
  }
};
} // namespace

void gradc::tile::populateExpandDotPatterns(RewritePatternSet &patterns) {
  patterns.add<ExpandDot>(patterns.getContext());
}
