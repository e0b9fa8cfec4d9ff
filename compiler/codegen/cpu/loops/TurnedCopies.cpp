// Squares of the factor go through registers: rows along its panels are loaded, those along the
// lanes are stored.
#include "compiler/codegen/cpu/loops/TurnedCopies.h"

#include "compiler/codegen/cpu/loops/PanelCopies.h"
#include "passes/layout/FactorPanels.h"

using namespace mlir;
using namespace gradc::cpu;
using namespace gradc::tile;

TurnedCopies::TurnedCopies(exec::KernelOp kernel, LoopNest &nest, TileEmitter &tiles,
                           ArrayRef<Memory> operands, Value scratch)
    : kernel(kernel), nest(nest), tiles(tiles), operands(operands), scratch(scratch),
      schedule(kernel.getScheduleAttr()), turned(schedule.getTurned()) {}

FailureOr<bool> TurnedCopies::areWanted() {
  if (!turned)
    return false;
  auto product = dyn_cast_or_null<linalg::GenericOp>(gradc::productOf(kernel));
  if (!product || !isReadAtItsIndex(product.getResult(0)))
    return kernel.emitOpError("expected a product and elementwise ops on it, to turn an operand");
  if (!hasMatrices())
    return true;
  ArrayRef<int64_t> order = schedule.getOrder(), tile = schedule.getTile();
  SmallVector<std::optional<unsigned>> dims = rootDims();
  dims.pop_back(); // the sum's
  auto isTiled = [&](std::optional<unsigned> d) { return d && *d != columns() && tile[*d] != 1; };
  auto isOutside = [&](std::optional<unsigned> d) {
    return d && llvm::is_contained(order.take_front(dims.size()), int64_t(*d));
  };
  if (product.getDpsInputs()[1] != operand() || dims.size() == order.size() ||
      !llvm::all_of(dims, isOutside) || llvm::any_of(dims, isTiled))
    return kernel.emitOpError("expected loops over single matrices and columns outside those over "
                              "rows, to turn a batch of matrices");
  return true;
}

void TurnedCopies::emitUnits(SpaceEmitter &space, Value begin, Value end) {
  if (hasMatrices()) {
    space.enterAt(operandType().getRank() - 1,
                  [&](ArrayRef<LinearExpr> coordinates, ArrayRef<int64_t> extents) {
                    copyTile(coordinates, extents);
                  });
    return space.emitUnits(begin, end);
  }
  forGroups(nest, begin, end, turned.getTiles(), [&](Value from, Value to) {
    copyUnits(from, to);
    space.emitUnits(from, to);
  });
}

SmallVector<std::optional<unsigned>> TurnedCopies::rootDims() {
  auto product = cast<linalg::GenericOp>(gradc::productOf(kernel));
  AffineMap result = product.getIndexingMapsArray().back();
  AffineMap factor = product.getMatchingIndexingMap(product.getDpsInputOperand(1));
  return llvm::map_to_vector(factor.getResults(),
                             [&](AffineExpr dim) { return result.getResultPosition(dim); });
}

Memory TurnedCopies::panelsAt(ArrayRef<LinearExpr> origin) {
  auto layout =
      exec::PanelAttr::get(nest.builder.getContext(), turned.getDim(), schedule.getTile().back());
  return {scratch, gradc::turnedType(kernel), layout, origin};
}

void TurnedCopies::copyUnits(Value begin, Value end) {
  SmallVector<LinearExpr> origin(operandType().getRank());
  origin[turned.getDim()] = nest.variable(begin) * schedule.getTile().back();
  Memory to = panelsAt(origin);
  if (exec::PanelAttr stored = kernel.getLayout(turned.getOperand()))
    copyPanels(to, stored, begin, end);
  else
    forVectors(begin, end, [&](const LinearExpr &column, int64_t valid) {
      copyRows(to, {column, LinearExpr()}, valid);
    });
  tiles.bind(operand(), to);
}

void TurnedCopies::copyTile(ArrayRef<LinearExpr> coordinates, ArrayRef<int64_t> extents) {
  SmallVector<LinearExpr> origin = llvm::map_to_vector(
      rootDims(), [&](std::optional<unsigned> d) { return d ? coordinates[*d] : LinearExpr(); });
  Memory to = panelsAt(origin);
  for (int64_t column = 0; column < extents.back(); column += nest.lanes) {
    SmallVector<LinearExpr> place(origin);
    place[turned.getDim()] += LinearExpr(column);
    copyRows(to, place, std::min(nest.lanes, extents.back() - column));
  }
  tiles.bind(operand(), to);
}

/// The taps, and other dims in between, one after another; then the panels.
void TurnedCopies::copyPanels(const Memory &to, exec::PanelAttr stored, Value begin, Value end) {
  RankedTensorType type = gradc::turnedType(kernel);
  SmallVector<LinearExpr> place(type.getRank());
  std::function<void(int64_t)> walk = [&](int64_t dim) {
    if (dim == type.getRank()) {
      // Rows are read to their ends first, so that memory is read line by line.
      return forVectors(begin, end, [&](const LinearExpr &column, int64_t valid) {
        place[turned.getDim()] = column;
        for (int64_t row = 0; row < stored.getWidth(); row += nest.lanes) {
          prefetchSquare(place, stored.getDim(), LinearExpr(stored.getWidth() + row), valid);
          copySquare(to, place, stored.getDim(), LinearExpr(row), valid);
        }
      });
    }
    if (dim == turned.getDim())
      return walk(dim + 1);
    int64_t step = dim == stored.getDim() ? stored.getWidth() : 1;
    nest.again(type.getDimSize(dim) / step, [&](LinearExpr i) {
      place[dim] = i * step;
      walk(dim + 1);
    });
  };
  walk(0);
}

/// Reads as many rows to their ends as a vector of columns needs. The last square may overlap the
/// one before it.
void TurnedCopies::copyRows(const Memory &to, ArrayRef<LinearExpr> place, int64_t valid) {
  int64_t along = operandType().getRank() - 1, size = operandType().getDimSize(along);
  nest.again(size / nest.lanes,
             [&](LinearExpr i) { copySquare(to, place, along, i * nest.lanes, valid); });
  if (size % nest.lanes != 0)
    copySquare(to, place, along, LinearExpr(size - nest.lanes), valid);
}

/// Calls `body` with the first column of each vector of the units' tiles, and the number of its
/// columns.
void TurnedCopies::forVectors(Value begin, Value end,
                              llvm::function_ref<void(const LinearExpr &, int64_t)> body) {
  forColumns(nest, begin, end, kernel.getRoot().getShape().back(), schedule.getTile().back(),
             [&](const LinearExpr &first, int64_t columns) {
               for (int64_t column = 0; column < columns; column += nest.lanes)
                 body(first + LinearExpr(column), std::min(nest.lanes, columns - column));
             });
}

/// The elements of a square in the factor, a row of it per lane.
SmallVector<Point> TurnedCopies::square(ArrayRef<LinearExpr> place, int64_t along,
                                        const LinearExpr &first, int64_t valid) {
  SmallVector<Point> points(nest.lanes);
  for (auto [i, p] : llvm::enumerate(points)) {
    p.coordinates.assign(place.begin(), place.end());
    p.coordinates[along] += first + LinearExpr(int64_t(i));
    p.coordinates[turned.getDim()].lane = 1;
    p.valid = valid;
  }
  return points;
}

/// Copies `valid` columns of a square, from `first` along the dim `along`.
void TurnedCopies::copySquare(const Memory &to, ArrayRef<LinearExpr> place, int64_t along,
                              const LinearExpr &first, int64_t valid) {
  const Memory &from = operands[turned.getOperand()];
  SmallVector<Point> points = square(place, along, first, valid);
  auto values = from.loadTransposed(nest, points);
  for (auto [i, p] : llvm::enumerate(points))
    to.store(nest, p, values ? (*values)[i] : from.load(nest, p));
}

/// Prefetches a square of a factor that is larger than the caches. Its panels are far apart, so
/// that hardware does not prefetch from one to the next.
void TurnedCopies::prefetchSquare(ArrayRef<LinearExpr> place, int64_t along,
                                  const LinearExpr &first, int64_t valid) {
  SmallVector<Point> elements;
  for (const Point &p : square(place, along, first, valid))
    for (int64_t lane = 0; lane < valid; ++lane)
      elements.push_back(p.inLane(lane));
  tiles.prefetcher.lines(operand(), elements, Memory::Cache::first);
}
