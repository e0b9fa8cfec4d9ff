// Reshapes inside a kernel, and assemblies: pieces written into a larger tensor (pad, concatenate).
#include "compiler/codegen/tile/TileEmitter.h"

using namespace mlir;
using namespace gradc::tile;

Value TileEmitter::laneByLane(Type element, const Point &point,
                              llvm::function_ref<Value(const Point &)> compute) {
  if (!point.hasLanes())
    return compute(point);
  SmallVector<Value> elements;
  for (int64_t l = 0; l < nest.lanes; ++l)
    elements.push_back(l < point.valid ? compute(point.inLane(l)) : elements.back());
  return vector::FromElementsOp::create(nest.builder, nest.location, nest.vectorOf(element),
                                        elements);
}

// Reshapes ----------------------------------------------------------------------------------------

void TileEmitter::computeReshape(Operation *op, const Point &point) {
  Value source = op->getOperand(0), result = op->getResult(0);
  auto from = cast<RankedTensorType>(source.getType()),
       to = cast<RankedTensorType>(result.getType());
  Value computed;

  // The reshape only adds or removes dims of size 1, so the other coordinates stay.
  auto isLong = [](int64_t size) { return size != 1; };
  auto longFrom = llvm::to_vector(llvm::make_filter_range(from.getShape(), isLong));
  auto longTo = llvm::to_vector(llvm::make_filter_range(to.getShape(), isLong));
  if (longFrom == longTo) {
    Point p;
    size_t next = 0;
    for (int64_t size : from.getShape()) {
      while (isLong(size) && !isLong(to.getDimSize(next)))
        ++next;
      p.coordinates.push_back(isLong(size) ? point.coordinates[next++] : LinearExpr(0));
    }
    p.valid = p.hasLanes() ? point.valid : 0;
    computed = pull(source, p);
  } else {
    computed = laneByLane(to.getElementType(), point, [&](const Point &one) {
      LinearExpr position;
      for (auto [coordinate, size] : llvm::zip(one.coordinates, to.getShape()))
        position = position * size + coordinate;
      Point p;
      p.coordinates.resize(from.getRank());
      for (int64_t d = from.getRank() - 1; d >= 0; --d)
        std::tie(position, p.coordinates[d]) = nest.divide(position, from.getDimSize(d));
      return pull(source, p);
    });
  }
  nest.known(result, point) = computed;
}

// Assemblies --------------------------------------------------------------------------------------

std::optional<SmallVector<Piece>> gradc::tile::piecesOf(linalg::GenericOp op) {
  if (op.getNumResults() != 1 || op.getNumReductionLoops() != 0)
    return std::nullopt;
  auto ranges = op.getStaticLoopRanges();
  auto type = cast<RankedTensorType>(op.getResult(0).getType());
  AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  SmallVector<Piece> pieces;
  for (auto [expr, size] : llvm::zip(map.getResults(), type.getShape())) {
    Piece piece{0, 1, 0, 0, false};
    AffineExpr rest = expr;
    // `d mod n` stands for the d of a piece at the start of a dim of size n.
    if (auto inside = dyn_cast<AffineBinaryOpExpr>(rest);
        inside && inside.getKind() == AffineExprKind::Mod)
      rest = inside.getLHS();
    if (auto sum = dyn_cast<AffineBinaryOpExpr>(rest); sum && sum.getKind() == AffineExprKind::Add)
      if (auto offset = dyn_cast<AffineConstantExpr>(sum.getRHS())) {
        piece.offset = offset.getValue();
        rest = sum.getLHS();
      }
    if (auto product = dyn_cast<AffineBinaryOpExpr>(rest);
        product && product.getKind() == AffineExprKind::Mul)
      if (auto stride = dyn_cast<AffineConstantExpr>(product.getRHS())) {
        piece.stride = stride.getValue();
        rest = product.getLHS();
      }
    auto dim = dyn_cast<AffineDimExpr>(rest);
    if (!dim || piece.stride < 1)
      return std::nullopt;
    piece.dim = dim.getPosition();
    piece.size = ranges[piece.dim];
    piece.isWhole = piece.stride == 1 && piece.offset == 0 && piece.size == size;
    pieces.push_back(piece);
  }
  return pieces;
}

bool gradc::tile::isAssembly(linalg::GenericOp op) {
  auto pieces = piecesOf(op);
  return pieces && llvm::any_of(*pieces, [](const Piece &p) { return !p.isWhole; });
}

void TileEmitter::computeAssembly(linalg::GenericOp op, const Point &point) {
  Value result = assembleVector(op, point);
  if (!result)
    result = laneByLane(cast<RankedTensorType>(op.getResult(0).getType()).getElementType(), point,
                        [&](const Point &p) { return assembleScalar(op, p); });
  nest.known(op.getResult(0), point) = result;
}

/// Whether all lanes of a vector are on the same side of a piece's bounds, whichever it is.
static bool isUndivided(const Piece &piece, const LinearExpr &at, int64_t lanes) {
  LinearExpr first = at.inLane(0);
  auto isMultiple = [&](int64_t n) { return n % lanes == 0; };
  return piece.isWhole || at.lane == 0 ||
         (at.lane == 1 && isMultiple(first.stride()) && isMultiple(first.constant) &&
          isMultiple(piece.offset) && isMultiple(piece.size));
}

/// Whether an undivided vector at `domain` of the pieces is inside them. Null if all are whole.
Value TileEmitter::isInside(ArrayRef<Piece> pieces, ArrayRef<LinearExpr> domain) {
  OpBuilder &b = nest.builder;
  Value inside;
  for (const Piece &piece : pieces) {
    if (piece.isWhole)
      continue;
    // Positions before the piece are very large unsigned numbers.
    Value position = nest.index(domain[piece.dim].inLane(0));
    Value holds = arith::CmpIOp::create(b, nest.location, arith::CmpIPredicate::ult, position,
                                        nest.constant(piece.size));
    inside = inside ? arith::AndIOp::create(b, nest.location, inside, holds).getResult() : holds;
  }
  return inside;
}

/// Which of the first `point.valid` lanes are inside the pieces.
Value TileEmitter::lanesInside(ArrayRef<Piece> pieces, const Point &point) {
  OpBuilder &b = nest.builder;
  Value inside = nest.prefixMask(point.valid);
  auto require = [&](arith::CmpIPredicate how, Value x, int64_t limit) {
    Value y = arith::IndexCastOp::create(b, nest.location, b.getIndexType(), nest.constant(limit));
    if (isa<VectorType>(x.getType()))
      y = nest.splat(y);
    Value holds = arith::CmpIOp::create(b, nest.location, how, x, y);
    inside = arith::AndIOp::create(b, nest.location, inside, nest.splat(holds));
  };
  for (auto [piece, at] : llvm::zip(pieces, point.coordinates)) {
    if (piece.isWhole)
      continue;
    require(arith::CmpIPredicate::sge, coordinate(at), piece.offset);
    require(arith::CmpIPredicate::slt, coordinate(at), piece.offset + piece.size);
  }
  return inside;
}

/// Whether each element of the result is one of the first operand.
static bool isCopy(linalg::GenericOp op) {
  Block *body = op.getBody();
  return body->getTerminator()->getOperand(0) == body->getArgument(0);
}

/// The memory that elements of a value are copied from, and the point there; nothing if they are
/// computed, or assembled from pieces.
std::optional<std::pair<const Memory *, Point>> TileEmitter::copiedFrom(Value value, Point point) {
  for (;;) {
    if (auto memory = memories.find(value); memory != memories.end())
      return std::pair(&memory->second, point);
    auto op = value.getDefiningOp<linalg::GenericOp>();
    if (!op || op.getNumDpsInputs() != 1 || op.getNumReductionLoops() > 0 || isAssembly(op) ||
        !isCopy(op))
      return std::nullopt;
    auto domain = domainOf(cast<OpResult>(value), point);
    auto from = domain ? operandPoint(op, op->getOpOperand(0), *domain, point.valid) : std::nullopt;
    if (!from)
      return std::nullopt;
    value = op->getOperand(0);
    point = *from;
  }
}

/// A plain copy from memory, or from a slice of what lies there, with adjacent lanes becomes a load
/// under one condition, of the lanes inside the pieces that divide vectors. A load with all lanes
/// masked out is no substitute for the condition: where no memory is, it takes hundreds of cycles.
Value TileEmitter::assembleVector(linalg::GenericOp op, const Point &point) {
  auto pieces = *piecesOf(op);
  if (!point.hasLanes() || !isCopy(op) ||
      llvm::any_of(pieces, [](const Piece &p) { return p.stride != 1; }))
    return {};
  SmallVector<LinearExpr> domain(pieces.size());
  SmallVector<Piece> undivided(pieces), divided(pieces);
  for (auto [d, piece] : llvm::enumerate(pieces)) {
    const LinearExpr &at = point.coordinates[d];
    domain[piece.dim] = at + LinearExpr(-piece.offset);
    bool isDivided = nest.level.isCuda() || !isUndivided(piece, at, nest.lanes);
    (isDivided ? undivided : divided)[d].isWhole = true;
  }
  auto from = operandPoint(op, op->getOpOperand(0), domain, point.valid);
  auto source = from ? copiedFrom(op->getOperand(0), *from) : std::nullopt;
  if (!source)
    return {};
  auto &[memory, at] = *source;
  bool isMasked = !llvm::all_of(divided, [](const Piece &p) { return p.isWhole; });
  if (isMasked && !memory->isAdjacent(nest, at))
    return {};
  Value outside = nest.splat(pull(op.getDpsInits()[0], point));
  auto load = [&] {
    return isMasked ? memory->loadWhere(nest, at, lanesInside(divided, point), outside)
                    : nest.splat(pull(op->getOperand(0), *from));
  };
  Value inside = isInside(undivided, domain);
  return inside ? nest.choose(inside, outside, [&] { return SmallVector<Value>{load()}; })[0]
                : load();
}

Value TileEmitter::assembleScalar(linalg::GenericOp op, const Point &point) {
  OpBuilder &b = nest.builder;
  auto pieces = *piecesOf(op);
  SmallVector<LinearExpr> domain(pieces.size());
  Value inside = arith::ConstantIntOp::create(b, nest.location, 1, 1);
  auto require = [&](arith::CmpIPredicate how, Value x, Value y) {
    Value holds = arith::CmpIOp::create(b, nest.location, how, x, y);
    inside = arith::AndIOp::create(b, nest.location, inside, holds);
  };
  for (auto [piece, at] : llvm::zip(pieces, point.coordinates)) {
    if (piece.isWhole) {
      domain[piece.dim] = at;
      continue;
    }
    // Outside the piece, an arbitrary element of it is loaded and ignored.
    Value zero = nest.constant(0), position = nest.index(at + LinearExpr(-piece.offset));
    Value last = nest.constant((piece.size - 1) * piece.stride);
    require(arith::CmpIPredicate::sge, position, zero);
    require(arith::CmpIPredicate::sle, position, last);
    position = arith::MaxSIOp::create(b, nest.location, position, zero);
    position = arith::MinSIOp::create(b, nest.location, position, last);
    auto [index, gap] = nest.divide(nest.variable(position), piece.stride);
    require(arith::CmpIPredicate::eq, nest.index(gap), zero);
    domain[piece.dim] = index;
  }
  auto yielded = emitBody(op, domain, 0, /*fuse=*/false, [&](OpOperand &operand) -> Value {
    if (op.isDpsInit(&operand))
      return pull(operand.get(), point);
    auto at = operandPoint(op, operand, domain, 0);
    return at ? pull(operand.get(), *at) : Value();
  });
  return arith::SelectOp::create(b, nest.location, inside, yielded[0],
                                 pull(op.getDpsInits()[0], point));
}
