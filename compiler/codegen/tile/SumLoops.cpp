// Blocks lie at multiples of their size, so what is added to what depends on neither the thread nor
// the end of the loop.
#include "compiler/codegen/tile/SumLoops.h"

using namespace mlir;
using namespace gradc::tile;

/// Of equal terms, whose rounding errors have the same sign, this many lose at most 2e-6 of their
/// sum; and it is long enough that the additions of blocks take no time beside those of terms.
static constexpr int64_t maxTerms = 64;

void SumLoops::cut(ArrayRef<int64_t> steps, int64_t terms, ArrayRef<Value> zeros) {
  this->zeros = llvm::to_vector(zeros);
  blocks.assign(steps.size(), {});
  for (size_t depth = steps.size(); depth-- > 0;) {
    int64_t size = 1; // steps that bring `terms` terms
    auto all = [&] { return terms * std::max<int64_t>(1, llvm::divideCeil(steps[depth], size)); };
    while (all() > maxTerms) {
      size *= std::max<int64_t>(1, maxTerms / terms);
      terms = 1;
      blocks[depth].insert(blocks[depth].begin(), size);
    }
    terms = all();
  }
}

SmallVector<Value> SumLoops::loop(size_t depth, int64_t end, bool unroll, ValueRange carried,
                                  LoopNest::LoopBody body) const {
  if (sizesOf(depth).empty())
    return nest.loop(0, end, unroll, carried, body);
  return loop(depth, nest.constant(end), end, carried, body);
}

SmallVector<Value> SumLoops::loop(size_t depth, Value end, int64_t multiple, ValueRange carried,
                                  LoopNest::LoopBody body) const {
  return inBlocks(sizesOf(depth), LinearExpr(0), end, multiple, carried, body);
}

SmallVector<Value> SumLoops::inBlocks(ArrayRef<int64_t> sizes, const LinearExpr &begin, Value end,
                                      int64_t multiple, ValueRange carried,
                                      LoopNest::LoopBody body) const {
  if (sizes.empty())
    return nest.loop(nest.index(begin), end, carried, body);
  OpBuilder &b = nest.builder;
  int64_t size = sizes.front();
  Value steps = arith::SubIOp::create(b, nest.location, end, nest.index(begin));
  Value count = arith::CeilDivUIOp::create(b, nest.location, steps, nest.constant(size));
  return nest.loop(nest.constant(0), count, carried, [&](LinearExpr i, ValueRange sums) {
    LinearExpr from = begin + i * size;
    SmallVector<Value> block;
    if (size == 1) {
      block = body(from, zeros);
    } else {
      Value to = nest.index(from + LinearExpr(size));
      if (multiple % size != 0)
        to = arith::MinUIOp::create(b, nest.location, to, end);
      block = inBlocks(sizes.drop_front(), from, to, multiple, zeros, body);
    }
    SmallVector<Value> next;
    for (auto [sum, more] : llvm::zip_equal(sums, block))
      next.push_back(more ? Value(arith::AddFOp::create(b, nest.location, sum, more)) : more);
    return next;
  });
}
