// Adds the updates of a scatter to sums in memory, in order of their positions.
#include "compiler/codegen/tile/TileEmitter.h"

using namespace mlir;
using namespace gradc::tile;

/// The value that a scatter's body compares with its own index along loop `dim`; null if its
/// condition has another form.
static Value wantedIndex(linalg::GenericOp op, unsigned dim) {
  auto isOwn = [&](Value v) {
    if (auto cast = v.getDefiningOp<arith::IndexCastOp>())
      v = cast.getIn();
    auto index = v.getDefiningOp<linalg::IndexOp>();
    return index && index.getDim() == dim;
  };
  auto select = op.getBody()->getTerminator()->getOperand(0).getDefiningOp<arith::SelectOp>();
  auto equal = select ? select.getCondition().getDefiningOp<arith::CmpIOp>() : arith::CmpIOp();
  if (!equal || equal.getPredicate() != arith::CmpIPredicate::eq)
    return {};
  return isOwn(equal.getRhs()) ? equal.getLhs() : isOwn(equal.getLhs()) ? equal.getRhs() : Value();
}

bool TileEmitter::addUpdates(linalg::GenericOp op, unsigned chosen, unsigned dim,
                             const Memory &sums, Value first, Value last) {
  std::optional<BodyPart> wanted = findPart(op, wantedIndex(op, chosen));
  if (!wanted || wanted->loops.test(chosen) || perRow(op, chosen) > 0)
    return false;
  // An index is read inside the loops that it depends on. Loops outside of the chosen dim surround
  // it, too, so that vectors run along adjacent targets.
  unsigned parallel = op.getNumParallelLoops(), inner = chosen + 1;
  for (unsigned loop = inner; loop < parallel; ++loop)
    if (wanted->loops.test(loop))
      inner = loop + 1;
  SmallVector<unsigned> outer, across;
  for (unsigned loop = 0; loop < parallel; ++loop)
    if (loop != chosen)
      (loop < inner || loop == dim ? outer : across).push_back(loop);
  if (llvm::any_of(across, [&](unsigned loop) { return perRow(op, loop) > 0; }))
    return false;
  llvm::append_range(outer, reducedDims(op));

  OpBuilder &b = nest.builder;
  auto ranges = op.getStaticLoopRanges();
  SmallVector<LinearExpr> domain(op.getNumLoops());
  Value here = arith::SubIOp::create(b, nest.location, last, first);
  Value start = chosen == dim ? first : nest.constant(0);
  Value count = chosen == dim ? here : nest.constant(ranges[chosen]);
  LinearExpr origin = nest.variable(first);
  auto add = [&] {
    Value at = emitPart(op, *wanted, domain);
    Value row = arith::SubIOp::create(b, nest.location, at, start);
    // Rows before the first are above all others without a sign.
    Value isHere = arith::CmpIOp::create(b, nest.location, arith::CmpIPredicate::ult, row, count);
    nest.when(isHere, [&] {
      domain[chosen] = nest.variable(at);
      addUpdate(op, sums, domain, across);
    });
  };
  auto loops = [&](auto &&self, size_t depth) -> void {
    if (depth == outer.size())
      return add();
    unsigned loop = outer[depth];
    Value size = loop == dim ? here : nest.extent(ranges[loop], perRow(op, loop));
    nest.again(size, [&](LinearExpr i) {
      domain[loop] = loop == dim ? origin + i : i;
      self(self, depth + 1);
    });
  };
  loops(loops, 0);
  return true;
}

/// One update: the loops `across` its row, and vectors along the last of them.
void TileEmitter::addUpdate(linalg::GenericOp op, const Memory &sums,
                            SmallVector<LinearExpr> &domain, ArrayRef<unsigned> across) {
  auto addAt = [&](int64_t valid) {
    Point p{{domain.begin(), domain.begin() + op.getNumParallelLoops()}, valid};
    Value old = sums.load(nest, p);
    Value sum = emitBody(op, domain, valid, /*fuse=*/true, [&](OpOperand &o) -> Value {
      auto from = operandPoint(op, o, domain, valid);
      return op.isDpsInit(&o) ? old : from ? pull(o.get(), *from) : Value();
    })[0];
    sums.store(nest, p, valid ? nest.splat(sum) : sum);
  };
  if (across.empty())
    return addAt(0);
  unsigned loop = across.front();
  int64_t size = op.getStaticLoopRanges()[loop], full = size / nest.lanes;
  if (across.size() > 1)
    return nest.again(size, [&](LinearExpr i) {
      domain[loop] = i;
      addUpdate(op, sums, domain, across.drop_front());
    });
  auto vectorAt = [&](const LinearExpr &at, int64_t valid) {
    domain[loop] = at;
    domain[loop].lane = nest.lanes > 1;
    addAt(nest.lanes > 1 ? valid : 0);
  };
  constexpr int64_t unrolled = 4; // vectors
  if (full > unrolled)
    nest.again(full, [&](LinearExpr i) { vectorAt(i * nest.lanes, nest.lanes); });
  else
    for (int64_t i = 0; i < full; ++i)
      vectorAt(LinearExpr(i * nest.lanes), nest.lanes);
  if (size % nest.lanes != 0)
    vectorAt(LinearExpr(full * nest.lanes), size % nest.lanes);
}
