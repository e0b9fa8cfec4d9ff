// Contractions of bf16 whose rhs stores pairs along the summed dim: each step takes two elements.
#include "compiler/codegen/tile/Dot.h"

#include "compiler/codegen/tile/TileEmitter.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace gradc::tile;

static constexpr StringLiteral dotName = "llvm.x86.avx512bf16.dpbf16ps.512";
static constexpr int64_t dotLanes = 16;

/// acc + f32(a) * f32(b) of bf16 operands, over one dim.
static std::optional<unsigned> summedDim(linalg::GenericOp op) {
  SmallVector<unsigned> dims;
  op.getReductionDims(dims);
  if (dims.size() != 1 || op.getNumDpsInputs() != 2 || op.getNumResults() != 1)
    return std::nullopt;
  Block *body = op.getBody();
  auto sum = body->getTerminator()->getOperand(0).getDefiningOp<arith::AddFOp>();
  auto product = sum ? sum.getRhs().getDefiningOp<arith::MulFOp>() : arith::MulFOp();
  if (!product || sum.getLhs() != body->getArgument(2) || !sum.getType().isF32())
    return std::nullopt;
  for (auto [i, factor] : llvm::enumerate(product->getOperands())) {
    auto wide = factor.getDefiningOp<arith::ExtFOp>();
    if (!wide || wide.getIn() != body->getArgument(i) || !wide.getIn().getType().isBF16())
      return std::nullopt;
  }
  return dims[0];
}

bool TileEmitter::arePairs(linalg::GenericOp op, OpResult result, unsigned dim,
                           ArrayRef<Point> points) {
  OpOperand &lhs = op->getOpOperand(0), &rhs = op->getOpOperand(1);
  const Memory &memory = memories.find(rhs.get())->second;
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

bool TileEmitter::reducePairs(linalg::GenericOp op, OpResult result, ArrayRef<Point> points) {
  std::optional<unsigned> dim = summedDim(op);
  OpOperand &lhs = op->getOpOperand(0), &rhs = op->getOpOperand(1);
  auto left = memories.find(lhs.get()), right = memories.find(rhs.get());
  if (!dim || nest.lanes != dotLanes || left == memories.end() || right == memories.end())
    return false;
  const int64_t each = perRow(op, *dim);
  if (!arePairs(op, result, *dim, points))
    return false;
  OpBuilder &b = nest.builder;
  Location at = nest.location;
  auto bits = b.getI32Type();
  auto asBf16 = [&](Value words) -> Value {
    auto type = VectorType::get({2 * dotLanes}, b.getBF16Type());
    return LLVM::BitcastOp::create(b, at, type, words);
  };
  /// The lhs at `k` and `k + 1` (if `both`), as 32 bits.
  auto pairOf = [&](SmallVector<LinearExpr> domain, bool both) -> Value {
    Point first = *operandPoint(op, lhs, domain, 0);
    domain[*dim] += LinearExpr(1);
    Point second = *operandPoint(op, lhs, domain, 0);
    auto from = left->second.offset(nest, first), to = left->second.offset(nest, second);
    if (both && *to == *from + LinearExpr(1))
      return left->second.loadBits(nest, first, 2);
    Value low = arith::ExtUIOp::create(b, at, bits, left->second.loadBits(nest, first, 1));
    if (!both)
      return low;
    Value high = arith::ExtUIOp::create(b, at, bits, left->second.loadBits(nest, second, 1));
    Value sixteen = arith::ConstantIntOp::create(b, at, 16, 32);
    return arith::OrIOp::create(b, at, low, arith::ShLIOp::create(b, at, high, sixteen));
  };
  Value lowHalf = each ? arith::ConstantIntOp::create(b, at, 0xffff, 32) : Value();
  auto step = [&](LinearExpr k, bool both, ValueRange carried) {
    std::map<Point, Value> rows, columns;
    SmallVector<Value> values;
    for (auto [p, acc] : llvm::zip(points, carried)) {
      auto domain = *domainOf(result, p);
      domain[*dim] = k;
      Value &row = rows[*operandPoint(op, lhs, domain, 0)];
      if (!row) {
        Value pair = pairOf(domain, both);
        row = asBf16(vector::BroadcastOp::create(b, at, nest.vectorOf(bits), pair));
      }
      Point place = *operandPoint(op, rhs, domain, p.valid);
      Value &column = columns[place];
      if (!column) {
        Value pairs = right->second.loadPairs(nest, place);
        if (!both && each) // the pair's other half lies behind the rows of the run
          pairs = arith::AndIOp::create(b, at, pairs, nest.splat(lowHalf));
        column = asBf16(pairs);
      }
      auto dot = LLVM::CallIntrinsicOp::create(b, at, acc.getType(), b.getStringAttr(dotName),
                                               ValueRange{acc, row, column});
      values.push_back(dot.getResults());
    }
    return values;
  };

  SmallVector<Value> sums;
  for (const Point &p : points)
    sums.push_back(initial(op, 0, p));
  int64_t steps = op.getStaticLoopRanges()[*dim];
  auto both = [&](LinearExpr i, ValueRange values) { return step(i * 2, true, values); };
  auto one = [&](LinearExpr k, ValueRange values) { return step(k, false, values); };
  if (each) {
    Value size = nest.extent(steps, each), two = nest.constant(2);
    Value pairs = arith::DivUIOp::create(b, at, size, two);
    sums = nest.loop(nest.constant(0), pairs, sums, both);
    sums = nest.loop(arith::MulIOp::create(b, at, pairs, two), size, sums, one);
  } else {
    sums = nest.loop(0, steps / 2, /*unroll=*/false, sums, both);
    if (steps % 2) // the rhs is padded with a 0
      sums = step(LinearExpr(steps - 1), false, sums);
  }
  for (auto [p, sum] : llvm::zip(points, sums))
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
