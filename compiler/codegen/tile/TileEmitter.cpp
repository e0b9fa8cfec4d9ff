// Computes values through constants, memory, and linalg.generic; each value only once.
#include "compiler/codegen/tile/TileEmitter.h"

#include "dialects/grad/HostTensor.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace gradc::tile;

void TileEmitter::fail(Operation *op, const Twine &why) {
  if (!failed)
    op->emitError("no code for this op in a kernel: ") << why;
  failed = true;
}

int64_t TileEmitter::perRow(Value value, int64_t dim) const {
  const Extents *known = extents ? extents->find(value) : nullptr;
  return known ? std::max<int64_t>((*known)[dim], 0) : 0;
}

SmallVector<int64_t> TileEmitter::rowsOf(RankedTensorType root, ValueRange results) const {
  return extents ? gradc::rowsOf(root, results, *extents) : Extents(root.getRank(), 0);
}

bool TileEmitter::isFree(Value value, int64_t dim) const {
  const Extents *known = extents ? extents->find(value) : nullptr;
  return known && extent::isFree((*known)[dim]);
}

int64_t TileEmitter::perRow(linalg::GenericOp op, unsigned loop) {
  FailureOr<Extents> loops = extents ? extents->loopsOf(op) : FailureOr<Extents>(failure());
  return succeeded(loops) ? std::max<int64_t>((*loops)[loop], 0) : 0;
}

Value TileEmitter::pull(Value value, const Point &point) {
  Value &known = nest.known(value, point);
  if (!known)
    nest.atDepth(nest.depthOf(point), [&] { compute(value, point); });
  if (Value result = nest.known(value, point))
    return result;
  // Reached only after an error: returns any value of the right type, so that emission can finish.
  Type element = cast<RankedTensorType>(value.getType()).getElementType();
  return arith::ConstantOp::create(nest.builder, nest.location, nest.builder.getZeroAttr(element));
}

void TileEmitter::compute(Value value, const Point &point) {
  if (auto memory = memories.find(value); memory != memories.end()) {
    Value loaded = memory->second.load(nest, point);
    nest.known(value, point) = loaded;
    return;
  }
  if (dots.load(value, point))
    return;
  if (Value element = loadKept(value, point)) {
    nest.known(value, point) = element;
    return;
  }
  Operation *op = value.getDefiningOp();
  assert(op && "every argument of a kernel is bound to memory");
  if (auto generic = dyn_cast<linalg::GenericOp>(op))
    return computeGeneric(generic, cast<OpResult>(value), point);
  if (isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(op))
    return computeReshape(op, point);
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    Value result = computeConstant(constant, point);
    nest.known(value, point) = result;
    return;
  }
  if (isa<tensor::EmptyOp>(op)) { // the elements outside all pieces of an assembly
    Type element = cast<RankedTensorType>(value.getType()).getElementType();
    nest.known(value, point) =
        arith::ConstantOp::create(nest.builder, op->getLoc(), nest.builder.getZeroAttr(element));
    return;
  }
  if (auto fill = dyn_cast<linalg::FillOp>(op))
    if (auto constant = fill.getInputs()[0].getDefiningOp<arith::ConstantOp>()) {
      Value result =
          arith::ConstantOp::create(nest.builder, constant.getLoc(), constant.getValue());
      nest.known(value, point) = result;
      return;
    }
  fail(op, "expected linalg.generic, linalg.fill of a constant, or a constant");
}

Value TileEmitter::loadKept(Value value, const Point &point) {
  if (value != kept.value)
    return {};
  Value sum = kept.sum.getResult(0);
  AffineMap rows = kept.sum.getMatchingIndexingMap(kept.sum.getDpsInitOperand(0));
  std::optional<Point> row = evaluate(rows, point.coordinates, /*valid=*/1);
  bool isStored = row && nest.known(sum, *row) && llvm::is_contained(kept.rows, *row);
  return isStored ? kept.memory.load(nest, point) : Value();
}

Value TileEmitter::computeConstant(arith::ConstantOp op, const Point &point) {
  auto elements = cast<ElementsAttr>(op.getValue());
  if (auto splat = dyn_cast<SplatElementsAttr>(elements))
    return arith::ConstantOp::create(nest.builder, op.getLoc(), splat.getSplatValue<TypedAttr>());
  nest.atDepth(0, [&] { bind(op, constantMemory(nest, module, grad::HostTensor(elements))); });
  return memories[op].load(nest, point);
}

void TileEmitter::computeGeneric(linalg::GenericOp op, OpResult result, const Point &point) {
  if (op.getNumReductionLoops() > 0) {
    reduce(op, result, point);
    if (!nest.known(result, point)) // its sum is in the memory of the tile registers
      dots.load(result, point);
    return;
  }
  if (isAssembly(op))
    return computeAssembly(op, point);
  auto domain = domainOf(result, point);
  if (!domain)
    return fail(op, "expected an output map of plain dims");
  SmallVector<Value> yielded =
      emitBody(op, *domain, point.valid, /*fuse=*/false, [&](OpOperand &operand) -> Value {
        auto at = operandPoint(op, operand, *domain, point.valid);
        return at ? pull(operand.get(), *at) : Value();
      });
  for (OpResult r : op->getResults())
    if (op.getMatchingIndexingMap(op.getTiedOpOperand(r)) ==
        op.getMatchingIndexingMap(op.getTiedOpOperand(result)))
      nest.known(r, point) = yielded[r.getResultNumber()];
}

std::optional<SmallVector<LinearExpr>> TileEmitter::domainOf(OpResult result, const Point &point) {
  auto op = cast<linalg::GenericOp>(result.getOwner());
  SmallVector<LinearExpr> domain(op.getNumLoops());
  AffineMap map = op.getMatchingIndexingMap(op.getTiedOpOperand(result));
  for (auto [i, expr] : llvm::enumerate(map.getResults())) {
    if (auto dim = dyn_cast<AffineDimExpr>(expr))
      domain[dim.getPosition()] = point.coordinates[i];
    else if (!isa<AffineConstantExpr>(expr))
      return std::nullopt;
  }
  return domain;
}

std::optional<Point> TileEmitter::operandPoint(linalg::GenericOp op, OpOperand &operand,
                                               ArrayRef<LinearExpr> domain, int64_t valid) {
  auto point = evaluate(op.getMatchingIndexingMap(&operand), domain, valid);
  if (!point)
    fail(op, "expected a linear indexing map");
  return point;
}

bool gradc::tile::isRead(linalg::GenericOp op, OpOperand &operand) {
  return !op.getMatchingBlockArgument(&operand).use_empty();
}

void TileEmitter::prepare(Value value, ArrayRef<Point> points) {
  std::set<std::pair<const void *, Point>> seen;
  prepareOnce(value, points, seen);
}

void TileEmitter::prepare(ArrayRef<Value> values, ArrayRef<SmallVector<Point>> points) {
  std::set<std::pair<const void *, Point>> seen;
  for (auto [value, own] : llvm::zip_equal(values, points))
    prepareOnce(value, own, seen);
}

void TileEmitter::prepareOnce(Value value, ArrayRef<Point> all,
                              std::set<std::pair<const void *, Point>> &seen) {
  SmallVector<Point> points;
  for (const Point &p : all)
    if (seen.insert({value.getAsOpaquePointer(), p}).second && !nest.known(value, p))
      points.push_back(p);
  if (points.empty() || failed)
    return;

  if (auto memory = memories.find(value); memory != memories.end()) {
    if (int64_t(points.size()) < nest.lanes || !points[0].hasLanes())
      return;
    auto offset = [&](const Point &p) {
      return memory->second.offset(nest, p.inLane(0)).value_or(LinearExpr());
    };
    auto straight = memory->second.offset(nest, points[0]);
    if (straight && straight->lane == 1)
      return;
    llvm::sort(points, [&](const Point &a, const Point &b) { return offset(a) < offset(b); });
    for (size_t i = 0; i + nest.lanes <= points.size(); i += nest.lanes) {
      ArrayRef<Point> group = ArrayRef(points).slice(i, nest.lanes);
      nest.atDepth(nest.depthOf(group[0]), [&] {
        if (auto columns = memory->second.loadTransposed(nest, group))
          for (auto [p, column] : llvm::zip(group, *columns))
            nest.known(value, p) = column;
      });
    }
    return;
  }

  auto op = value.getDefiningOp<linalg::GenericOp>();
  if (!op)
    return;
  if (isAssembly(op))
    return;
  if (op.getNumReductionLoops() > 0) {
    std::map<unsigned, SmallVector<Point>> byDepth;
    for (const Point &p : points)
      byDepth[nest.depthOf(p)].push_back(p);
    for (auto &[depth, group] : byDepth)
      nest.atDepth(depth, [&, &group = group] { reduce(op, cast<OpResult>(value), group); });
    return;
  }
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isRead(op, operand))
      continue;
    SmallVector<Point> mapped;
    for (const Point &p : points)
      if (auto domain = domainOf(cast<OpResult>(value), p))
        if (auto at = operandPoint(op, operand, *domain, p.valid))
          mapped.push_back(*at);
    prepareOnce(operand.get(), mapped, seen);
  }
}

/// The reductions that the value depends on.
static SmallVector<linalg::GenericOp> reductionsUnder(Value value) {
  SetVector<Operation *> below;
  SmallVector<linalg::GenericOp> reductions;
  if (Operation *op = value.getDefiningOp())
    below.insert(op);
  for (size_t i = 0; i < below.size(); ++i) {
    auto generic = dyn_cast<linalg::GenericOp>(below[i]);
    if (generic && generic.getNumReductionLoops() > 0)
      reductions.push_back(generic);
    for (Value operand : below[i]->getOperands())
      if (Operation *op = operand.getDefiningOp())
        below.insert(op);
  }
  return reductions;
}

bool TileEmitter::hasRowReduction(Value value) {
  auto rankOf = [](Value v) { return cast<RankedTensorType>(v.getType()).getRank(); };
  return llvm::any_of(reductionsUnder(value),
                      [&](auto op) { return rankOf(op.getResult(0)) < rankOf(value); });
}

int64_t TileEmitter::reducedElements(Value value) {
  int64_t most = 0;
  for (linalg::GenericOp op : reductionsUnder(value)) {
    int64_t elements = 1;
    for (unsigned d : reducedDims(op))
      elements *= op.getStaticLoopRanges()[d];
    most = std::max(most, elements);
  }
  return most;
}
