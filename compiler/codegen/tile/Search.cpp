// Reductions in which few steps have an effect: a scatter's target searches for its updates. The
// conditions of a whole vector of steps are tested at once. Only if one holds do the steps run, in
// their order.
#include "compiler/codegen/tile/TileEmitter.h"

using namespace mlir;
using namespace gradc::tile;

/// The condition of a body `acc = condition ? next(acc) : acc`, which does not depend on `acc`.
std::optional<TileEmitter::BodyPart> TileEmitter::findCondition(linalg::GenericOp op) {
  if (op.getNumResults() != 1)
    return std::nullopt;
  Value acc = op.getMatchingBlockArgument(op.getDpsInitOperand(0));
  auto select = op.getBody()->getTerminator()->getOperand(0).getDefiningOp<arith::SelectOp>();
  if (!select || select.getFalseValue() != acc)
    return std::nullopt;
  return findPart(op, select.getCondition());
}

std::optional<TileEmitter::BodyPart> TileEmitter::findPart(linalg::GenericOp op, Value value) {
  if (!value)
    return std::nullopt;
  Block *body = op.getBody();
  Value acc = op.getMatchingBlockArgument(op.getDpsInitOperand(0));
  BodyPart found{value, {}, {}, llvm::SmallBitVector(op.getNumLoops())};
  llvm::SetVector<Value> needed;
  needed.insert(found.value);
  for (size_t i = 0; i < needed.size(); ++i) {
    if (needed[i] == acc)
      return std::nullopt;
    if (Operation *def = needed[i].getDefiningOp(); def && def->getBlock() == body)
      needed.insert(def->operand_begin(), def->operand_end());
  }
  for (OpOperand *input : op.getDpsInputOperands())
    if (needed.contains(op.getMatchingBlockArgument(input))) {
      found.from.push_back(input);
      for (AffineExpr at : op.getMatchingIndexingMap(input).getResults())
        for (unsigned loop = 0; loop < op.getNumLoops(); ++loop)
          if (at.isFunctionOfDim(loop))
            found.loops.set(loop);
    }
  for (Operation &o : body->without_terminator()) {
    if (o.getNumResults() != 1 || !needed.contains(o.getResult(0)))
      continue;
    if (auto index = dyn_cast<linalg::IndexOp>(o))
      found.loops.set(index.getDim());
    else if (isa<tensor::ExtractOp>(o))
      return std::nullopt;
    found.ops.push_back(&o);
  }
  return found;
}

/// One domain for all points that share the condition; empty if lanes run along its loops.
static SmallVector<SmallVector<LinearExpr>>
distinctDomains(const llvm::SmallBitVector &loops, ArrayRef<SmallVector<LinearExpr>> domains) {
  SmallVector<SmallVector<LinearExpr>> distinct;
  std::set<std::vector<LinearExpr>> seen;
  for (const auto &domain : domains) {
    std::vector<LinearExpr> key;
    for (unsigned loop : loops.set_bits())
      key.push_back(domain[loop]);
    if (llvm::any_of(key, [](const LinearExpr &e) { return e.lane != 0; }))
      return {};
    if (seen.insert(key).second)
      distinct.push_back(domain);
  }
  return distinct;
}

Value TileEmitter::emitPart(linalg::GenericOp op, const BodyPart &part,
                            ArrayRef<LinearExpr> domain) {
  IRMapping map;
  for (OpOperand *input : part.from)
    if (auto at = operandPoint(op, *input, domain, nest.lanes)) {
      at->valid = at->hasLanes() ? nest.lanes : 0;
      map.map(op.getMatchingBlockArgument(input), pull(input->get(), *at));
    }
  for (Operation *o : part.ops)
    if (auto index = dyn_cast<linalg::IndexOp>(o))
      map.map(index.getResult(), coordinate(domain[index.getDim()]));
    else
      emitBodyOp(o, map);
  return lookUp(part.value, map);
}

Value TileEmitter::holdsAnywhere(linalg::GenericOp op, const BodyPart &condition,
                                 ArrayRef<SmallVector<LinearExpr>> domains) {
  Value any;
  for (const auto &domain : domains) {
    Value hit = nest.splat(emitPart(op, condition, domain));
    any = any ? arith::OrIOp::create(nest.builder, nest.location, any, hit).getResult() : hit;
  }
  return vector::ReductionOp::create(nest.builder, nest.location, vector::CombiningKind::OR, any);
}

bool TileEmitter::reduceWhere(linalg::GenericOp op, OpResult result, ArrayRef<Point> points) {
  std::optional<BodyPart> condition = findCondition(op);
  SmallVector<unsigned> dims = reducedDims(op);
  if (!condition || !condition->loops.test(dims.back()))
    return false;
  SmallVector<SmallVector<LinearExpr>> domains;
  for (const Point &p : points)
    domains.push_back(*domainOf(result, p));
  auto distinct = distinctDomains(condition->loops, domains);
  if (distinct.empty())
    return false;

  OpBuilder &b = nest.builder;
  unsigned inner = dims.back();
  auto step = [&](LinearExpr at, ValueRange carried) {
    SmallVector<Value> next;
    for (auto [i, p] : llvm::enumerate(points)) {
      domains[i][inner] = at;
      Value value = emitBody(op, domains[i], p.valid, /*fuse=*/true, [&](OpOperand &o) -> Value {
        auto from = operandPoint(op, o, domains[i], p.valid);
        return op.isDpsInit(&o) ? carried[i] : from ? pull(o.get(), *from) : Value();
      })[0];
      next.push_back(p.hasLanes() && value ? nest.splat(value) : value);
    }
    return next;
  };
  auto ranges = op.getStaticLoopRanges();
  auto search = [&](ValueRange carried) {
    Value size = nest.extent(ranges[inner], perRow(op, inner)), lanes = nest.constant(nest.lanes);
    Value blocks = arith::DivUIOp::create(b, nest.location, size, lanes);
    auto block = [&](LinearExpr i, ValueRange values) {
      LinearExpr first = i * nest.lanes;
      for (auto &domain : distinct) {
        domain[inner] = first;
        domain[inner].lane = nest.lanes > 1;
      }
      return nest.choose(holdsAnywhere(op, *condition, distinct), values, [&] {
        return nest.loop(nest.index(first), nest.index(first + LinearExpr(nest.lanes)), values,
                         step);
      });
    };
    SmallVector<Value> values = nest.loop(nest.constant(0), blocks, carried, block);
    return nest.loop(arith::MulIOp::create(b, nest.location, blocks, lanes), size, values, step);
  };
  auto loops = [&](auto &&self, size_t depth, ValueRange carried) -> SmallVector<Value> {
    unsigned dim = dims[depth];
    if (dim == inner)
      return search(carried);
    Value size = nest.extent(ranges[dim], perRow(op, dim));
    return nest.loop(nest.constant(0), size, carried, [&](LinearExpr i, ValueRange values) {
      for (auto *all : {&domains, &distinct})
        for (auto &domain : *all)
          domain[dim] = i;
      return self(self, depth + 1, values);
    });
  };
  SmallVector<Value> start;
  for (const Point &p : points)
    start.push_back(initial(op, 0, p));
  SmallVector<Value> values = loops(loops, 0, start);
  for (auto [p, value] : llvm::zip(points, values))
    nest.known(result, p) = value;
  return true;
}
