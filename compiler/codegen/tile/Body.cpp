// Emits the scalar body of a linalg.generic as code on scalars and vectors.
#include "compiler/codegen/tile/TileEmitter.h"

using namespace mlir;
using namespace gradc::tile;

/// The product of acc + a * b, if it has no other use.
static arith::MulFOp fusedProduct(Operation *op, Block *body) {
  auto sum = dyn_cast<arith::AddFOp>(op);
  if (!sum)
    return {};
  for (auto [acc, other] : {std::pair(sum.getLhs(), sum.getRhs()), {sum.getRhs(), sum.getLhs()}})
    if (auto argument = dyn_cast<BlockArgument>(acc); argument && argument.getOwner() == body)
      if (auto product = other.getDefiningOp<arith::MulFOp>(); product && product->hasOneUse())
        return product;
  return {};
}

SmallVector<Value> TileEmitter::emitBody(linalg::GenericOp op, ArrayRef<LinearExpr> domain,
                                         int64_t valid, bool fuse, BodyOperand operand) {
  Block *body = op.getBody();
  IRMapping map;
  for (OpOperand &o : op->getOpOperands()) {
    BlockArgument argument = op.getMatchingBlockArgument(&o);
    if (argument.use_empty())
      continue;
    Value v = operand(o);
    if (!v)
      return SmallVector<Value>(op.getNumResults());
    map.map(argument, v);
  }
  llvm::SmallPtrSet<Operation *, 2> fused;
  if (fuse)
    for (Operation &o : body->without_terminator())
      if (auto product = fusedProduct(&o, body))
        fused.insert(product);

  for (Operation &o : body->without_terminator()) {
    if (fused.contains(&o))
      continue;
    Value result;
    if (auto index = dyn_cast<linalg::IndexOp>(o)) {
      result = coordinate(domain[index.getDim()]);
    } else if (auto extract = dyn_cast<tensor::ExtractOp>(o)) {
      result = emitExtract(extract, domain, map, valid);
    } else if (auto product = fuse ? fusedProduct(&o, body) : arith::MulFOp()) {
      auto sum = cast<arith::AddFOp>(o);
      Value acc = lookUp(sum.getLhs() == product.getResult() ? sum.getRhs() : sum.getLhs(), map);
      Value a = lookUp(product.getLhs(), map), b = lookUp(product.getRhs(), map);
      if (isa<VectorType>(acc.getType()))
        result = vector::FMAOp::create(nest.builder, o.getLoc(), nest.splat(a), nest.splat(b), acc);
      else
        result = math::FmaOp::create(nest.builder, o.getLoc(), a, b, acc);
    } else {
      emitBodyOp(&o, map);
      continue;
    }
    map.map(o.getResult(0), result);
  }
  SmallVector<Value> yielded;
  for (Value v : body->getTerminator()->getOperands())
    yielded.push_back(lookUp(v, map));
  return yielded;
}

void TileEmitter::emitBodyOp(Operation *op, IRMapping &map) {
  if (op->getNumRegions() != 0 ||
      (op->getNumOperands() != 0 && !OpTrait::hasElementwiseMappableTraits(op)))
    return fail(op, "expected an elementwise op in the body");
  auto operands = llvm::map_to_vector(op->getOperands(), [&](Value v) { return lookUp(v, map); });
  auto *vector = llvm::find_if(operands, [](Value v) { return isa<VectorType>(v.getType()); });
  int64_t lanes =
      vector == operands.end() ? 0 : cast<VectorType>(vector->getType()).getNumElements();
  Operation *clone = nest.builder.clone(*op, map);
  for (auto [i, v] : llvm::enumerate(operands))
    clone->setOperand(i, lanes ? nest.splat(v, lanes) : v);
  for (auto [from, to] : llvm::zip(op->getResults(), clone->getResults())) {
    if (lanes)
      to.setType(VectorType::get({lanes}, to.getType()));
    map.map(from, to);
  }
}

/// The emitted value for a value of the body. Bodies may use constants of the enclosing region.
Value TileEmitter::lookUp(Value v, IRMapping &map) {
  if (!map.contains(v))
    map.map(v, nest.builder.clone(*v.getDefiningOp())->getResult(0));
  return map.lookup(v);
}

Value TileEmitter::coordinate(const LinearExpr &e) {
  OpBuilder &b = nest.builder;
  auto cast = [&](Value v) {
    return arith::IndexCastOp::create(b, nest.location, b.getIndexType(), v).getResult();
  };
  Value first = cast(nest.index(e.inLane(0)));
  if (e.lane == 0)
    return first;
  auto type = nest.vectorOf(b.getIndexType());
  Value steps = vector::StepOp::create(b, nest.location, type);
  if (e.lane != 1)
    steps = arith::MulIOp::create(b, nest.location, steps, nest.splat(cast(nest.constant(e.lane))));
  return arith::AddIOp::create(b, nest.location, nest.splat(first), steps);
}

/// Loads an element at computed indices. The result is a vector if lanes run along the loops only.
/// A computed index with lanes is arbitrary, so its elements are loaded lane by lane.
Value TileEmitter::emitExtract(tensor::ExtractOp op, ArrayRef<LinearExpr> domain, IRMapping &map,
                               int64_t valid) {
  OpBuilder &b = nest.builder;
  SmallVector<Value> computed; // null for the loop's own index
  for (Value v : op.getIndices())
    computed.push_back(v.getDefiningOp<linalg::IndexOp>() ? Value() : lookUp(v, map));
  bool isScattered =
      llvm::any_of(computed, [](Value v) { return v && isa<VectorType>(v.getType()); });
  auto pointAt = [&](std::optional<int64_t> lane) {
    Point p;
    for (auto [index, v] : llvm::zip_equal(op.getIndices(), computed)) {
      if (!v) {
        const LinearExpr &own = domain[index.getDefiningOp<linalg::IndexOp>().getDim()];
        p.coordinates.push_back(lane ? own.inLane(*lane) : own);
        continue;
      }
      Value at = v;
      if (isa<VectorType>(v.getType()))
        at = vector::ExtractOp::create(b, nest.location, v, *lane);
      p.coordinates.push_back(
          nest.variable(arith::IndexCastOp::create(b, nest.location, b.getI64Type(), at)));
    }
    p.valid = p.hasLanes() ? valid : 0;
    return p;
  };
  if (!isScattered)
    return pull(op.getTensor(), pointAt(std::nullopt));
  SmallVector<Value> elements;
  for (int64_t l = 0; l < nest.lanes; ++l)
    elements.push_back(l < valid ? pull(op.getTensor(), pointAt(l)) : elements.back());
  return vector::FromElementsOp::create(b, nest.location, nest.vectorOf(op.getType()), elements);
}
