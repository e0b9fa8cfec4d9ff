// Emits the loops over the tiles of a space, and stores the tiles' results.
#include "compiler/codegen/cpu/loops/SpaceEmitter.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace gradc::cpu;
using namespace gradc::tile;

/// Whether a reduction under the value slides a window over an operand.
static bool hasWindow(Value value) {
  auto op = value.getDefiningOp<linalg::GenericOp>();
  if (!op)
    return false;
  if (op.getNumReductionLoops() > 0)
    return !llvm::all_of(op.getIndexingMapsArray(),
                         [](AffineMap map) { return map.isProjectedPermutation(); });
  return llvm::any_of(op.getDpsInputs(), hasWindow);
}

bool SpaceEmitter::add(Value value, const Memory &memory) {
  Output output{value, memory, {}, 0, nullptr};
  ArrayRef<int64_t> own = cast<RankedTensorType>(value.getType()).getShape();
  if (own.size() > shape.size())
    return false;
  llvm::SmallBitVector used(shape.size());
  for (auto [i, size] : llvm::enumerate(own)) {
    if (size != shape[i] && size != 1)
      return false;
    // A value of the full size is larger than a space that has only the rows of the run.
    if (size == shape[i] && tiles.perRow(value, i) != rows[i] && !tiles.isFree(value, i))
      return false;
    output.dims.push_back(size == shape[i] ? int64_t(i) : -1);
    if (size == shape[i])
      used.set(i);
  }
  while (output.depth < order.size() && used.test(order[output.depth]))
    used.reset(order[output.depth++]);
  if (used.any() || (output.depth == 0 && !order.empty()))
    return false;
  outputs.push_back(output);
  return true;
}

void SpaceEmitter::add(Value value, StoreValue store) {
  auto dims = llvm::to_vector(llvm::seq<int64_t>(0, shape.size()));
  outputs.push_back({value, tile::Memory(), dims, order.size(), std::move(store)});
}

void SpaceEmitter::emitUnits(Value begin, Value end) {
  OpBuilder &b = nest.builder;
  if (order.empty()) {
    Value any = arith::CmpIOp::create(b, nest.location, arith::CmpIPredicate::slt, begin, end);
    nest.when(any, [&] { emit(); });
    return;
  }
  bool areColumns = order.size() == 2 && order[0] == 1;
  tiles.prefetcher.readInTurn(areColumns ? unitsTogether() : 0);
  emitFullUnits(begin, end);
  tiles.prefetcher.readInTurn(0);
  forLastUnit(begin, end, [&] { emitFrom(1); });
}

void SpaceEmitter::emitUnits(Value begin, Value end,
                             llvm::function_ref<void(const LinearExpr &, int64_t)> enter) {
  forTiles(order[1], [&] {
    enter(coordinates[order[1]], extents[order[1]]);
    forFullUnits(begin, end, [&] { emitFrom(2); });
    forLastUnit(begin, end, [&] { emitFrom(2); });
  });
}

Value SpaceEmitter::fullUnits() {
  int64_t size = shape[order[0]], step = tile[order[0]];
  if (!rows[order[0]])
    return nest.constant(size / step);
  return arith::DivUIOp::create(nest.builder, nest.location, nest.extent(size, rows[order[0]]),
                                nest.constant(step));
}

void SpaceEmitter::forLastUnit(Value begin, Value end, llvm::function_ref<void()> inside) {
  OpBuilder &b = nest.builder;
  int64_t size = shape[order[0]], step = tile[order[0]];
  if (size % step == 0 && (!rows[order[0]] || step == 1))
    return;
  Value last = fullUnits();
  Value reached = arith::AndIOp::create(
      b, nest.location,
      arith::CmpIOp::create(b, nest.location, arith::CmpIPredicate::sle, begin, last),
      arith::CmpIOp::create(b, nest.location, arith::CmpIPredicate::sgt, end, last));
  nest.when(reached, [&] {
    if (rows[order[0]])
      return forLastRows(order[0], nest.extent(size, rows[order[0]]), last, inside);
    coordinates[order[0]] = LinearExpr(size / step * step);
    extents[order[0]] = size % step;
    inside();
  });
}

void SpaceEmitter::forFullUnits(Value begin, Value end, llvm::function_ref<void()> inside) {
  int64_t step = tile[order[0]];
  if (shape[order[0]] < step)
    return;
  Value last = arith::MinSIOp::create(nest.builder, nest.location, end, fullUnits());
  nest.loop(begin, last, {}, [&](LinearExpr unit, ValueRange) {
    coordinates[order[0]] = unit * step;
    extents[order[0]] = step;
    inside();
    return SmallVector<Value>();
  });
}

void SpaceEmitter::emitFullUnits(Value begin, Value end) {
  OpBuilder &b = nest.builder;
  int64_t together = unitsTogether();
  if (together == 1)
    return forFullUnits(begin, end, [&] { emitFrom(1); });

  // Several units share the second loop, so data streamed by it are read once for all of them.
  if (shape[order[0]] < tile[order[0]])
    return;
  Value block = nest.constant(together);
  end = arith::MinSIOp::create(b, nest.location, end, fullUnits());
  Value count = arith::SubIOp::create(b, nest.location, end, begin);
  Value blocks = arith::CeilDivSIOp::create(b, nest.location, count, block);
  nest.loop(nest.constant(0), blocks, {}, [&](LinearExpr i, ValueRange) {
    Value done = nest.index(i * together);
    Value from = arith::AddIOp::create(b, nest.location, begin, done);
    Value to = arith::AddIOp::create(b, nest.location, from, block);
    to = arith::MinSIOp::create(b, nest.location, to, end);
    forTiles(order[1], [&] { forFullUnits(from, to, [&] { emitFrom(2); }); });
    return SmallVector<Value>();
  });
}

void SpaceEmitter::emitFrom(size_t depth) {
  if (enter && depth == enterDepth)
    enter(coordinates, extents);
  SmallVector<Output *> here;
  for (Output &o : outputs)
    if (o.depth == depth)
      here.push_back(&o);
  if (!here.empty())
    emitTile(here);
  if (depth == order.size() ||
      llvm::none_of(outputs, [&](const Output &o) { return o.depth > depth; }))
    return;
  forTiles(order[depth], [&] { emitFrom(depth + 1); });
}

void SpaceEmitter::forTiles(int64_t dim, llvm::function_ref<void()> inside) {
  int64_t size = shape[dim], step = tile[dim];
  // Short rows stay in registers between their statistics and their results.
  bool isRow =
      dim + 1 == int64_t(shape.size()) && size <= nest.level.rowVectors * nest.lanes &&
      llvm::any_of(outputs, [](const Output &o) { return TileEmitter::hasRowReduction(o.value); });
  LinearExpr first;
  auto tileAt = [&](LinearExpr i, ValueRange) {
    coordinates[dim] = i * (step * apart(dim)) + first;
    extents[dim] = step;
    inside();
    return SmallVector<Value>();
  };
  if (rows[dim]) {
    Value extent = nest.extent(size, rows[dim]);
    Value tiles = arith::DivUIOp::create(nest.builder, nest.location, extent, nest.constant(step));
    if (size >= step)
      nest.loop(nest.constant(0), tiles, {}, tileAt);
    if (step > 1)
      forLastRows(dim, extent, tiles, inside);
    return;
  }
  // Each of the first elements [from, to) begins `count` spaced ones, so they share their code.
  auto tilesFrom = [&](int64_t from, int64_t to, int64_t count) {
    nest.loop(from, to, /*unroll=*/false, {}, [&](LinearExpr at, ValueRange) {
      int64_t full = count / step;
      first = at;
      nest.loop(0, full, isRow, {}, tileAt);
      if (count % step != 0) {
        coordinates[dim] = LinearExpr(full * step * apart(dim)) + first;
        extents[dim] = count % step;
        inside();
      }
      return SmallVector<Value>();
    });
  };
  int64_t least = size / apart(dim), longer = size % apart(dim);
  tilesFrom(0, longer, least + 1);
  if (least > 0)
    tilesFrom(longer, apart(dim), least);
}

/// The remainder of the largest run is one smaller tile, as for a constant size; other remainders
/// are computed row by row. Both ways compute an element alike, so its bits do not depend on the
/// number of rows.
void SpaceEmitter::forLastRows(int64_t dim, Value size, Value fullTiles,
                               llvm::function_ref<void()> inside) {
  OpBuilder &b = nest.builder;
  int64_t step = tile[dim], rest = shape[dim] % step;
  Value first = arith::MulIOp::create(b, nest.location, fullTiles, nest.constant(step));
  if (rest > 1) {
    Value isLargest = arith::CmpIOp::create(b, nest.location, arith::CmpIPredicate::eq, size,
                                            nest.constant(shape[dim]));
    nest.when(isLargest, [&] {
      coordinates[dim] = LinearExpr(shape[dim] - rest);
      extents[dim] = rest;
      inside();
    });
    first = arith::SelectOp::create(b, nest.location, isLargest, size, first);
  }
  nest.loop(first, size, {}, [&](LinearExpr i, ValueRange) {
    coordinates[dim] = i;
    extents[dim] = 1;
    inside();
    return SmallVector<Value>();
  });
}

SmallVector<Point> SpaceEmitter::pointsOf(const Output &output) const {
  return tilePoints(output.dims, coordinates, extents, exec::laneDim(tile, nest.lanes), nest.lanes,
                    spacing);
}

/// Operands that are read in addition to a reduction arrive while it runs; if it is short, while
/// those of the next tiles run.
void SpaceEmitter::prefetch(const Output &output, SmallVector<Point> points) {
  int64_t steps = TileEmitter::reducedElements(output.value), least = nest.level.minPrefetchSteps;
  if (steps == 0 || order.empty())
    return;
  if (steps < least) {
    auto inner = llvm::find_if(llvm::reverse(order), [&](int64_t d) {
      return shape[d] > tile[d] && llvm::is_contained(output.dims, d);
    });
    if (inner == order.rend())
      return; // no tile comes later
    int64_t ahead = llvm::divideCeil(least, steps) * tile[*inner] * apart(*inner);
    auto at = llvm::find(output.dims, *inner) - output.dims.begin();
    for (Point &p : points)
      p.coordinates[at] += LinearExpr(ahead);
  }
  tiles.prefetcher.lines(output.value, points, Memory::Cache::first);
}

void SpaceEmitter::emitTile(ArrayRef<Output *> here) {
  SmallVector<SmallVector<Point>> points;
  SmallVector<Value> results;
  for (Output *o : here) {
    points.push_back(pointsOf(*o));
    results.push_back(o->value);
    prefetch(*o, points.back());
  }
  tiles.prepare(results, points);
  // Results may overwrite operands read at the same element, so all results of a point are computed
  // before any is stored.
  SmallVector<SmallVector<Value>> strided(here.size());
  auto isStrided = llvm::map_to_vector(llvm::zip(here, points), [&](auto it) {
    auto &[o, at] = it;
    return !o->store &&
           llvm::any_of(at, [&](const Point &p) { return o->memory.isStrided(nest, p); });
  });
  for (size_t i = 0; i < points[0].size(); ++i) {
    SmallVector<Value> values;
    for (auto [o, at] : llvm::zip(here, points))
      values.push_back(tiles.pull(o->value, at[i]));
    for (auto [o, at, value, apart, later] : llvm::zip(here, points, values, isStrided, strided))
      if (o->store)
        o->store(at[i], value);
      else if (apart)
        later.push_back(value);
      else
        o->memory.store(nest, at[i], value);
  }
  for (auto [o, at, values] : llvm::zip(here, points, strided))
    if (!values.empty())
      storeStrided(o->memory, at, values);
}

/// Stores columns of vectors: interleaved, or transposed in registers if they form a square.
void SpaceEmitter::storeStrided(const Memory &memory, ArrayRef<Point> points,
                                ArrayRef<Value> values) {
  if (memory.storeInterleaved(nest, points, values) || memory.storeTurned(nest, points, values))
    return;
  // The tile's points run along its rows; consecutive points of a column are as far apart as a row
  // has vectors, or next to each other if vectors run along another dim.
  bool areAlong = exec::laneDim(tile, nest.lanes) + 1 == int64_t(tile.size());
  int64_t columns = areAlong ? llvm::divideCeil(extents.back(), nest.lanes) : 1;
  int64_t rows = points.size() / columns;
  for (int64_t column = 0; column < columns; ++column)
    for (int64_t row = 0; row < rows;) {
      SmallVector<Point> square;
      SmallVector<Value> squareValues;
      for (int64_t r = row; r < std::min(rows, row + nest.lanes); ++r) {
        square.push_back(points[r * columns + column]);
        squareValues.push_back(values[r * columns + column]);
      }
      if (!memory.storeTransposed(nest, square, squareValues))
        for (auto [p, value] : llvm::zip(square, squareValues))
          memory.store(nest, p, value);
      row += square.size();
    }
}

/// The number of panels that stay in the second-level cache together, for a contraction whose rows
/// stream past a panel too large for the first-level cache. Rows may have several dims.
int64_t SpaceEmitter::unitsTogether() const {
  bool areColumns = !order.empty() && order[0] + 1 == int64_t(shape.size());
  if (order.size() < 2 || (order.size() > 2 && !areColumns))
    return 1;
  for (const Output &o : outputs)
    if (o.depth != order.size() || TileEmitter::hasRowReduction(o.value) ||
        (order.size() > 2 && hasWindow(o.value)))
      return 1;
  int64_t depth = 0;
  for (const Output &o : outputs)
    depth = std::max(depth, TileEmitter::reducedElements(o.value));
  int64_t panel = depth * tile[order[0]] * 4;
  return depth == 0 ? 1 : std::clamp<int64_t>(nest.level.cachedBytes() / panel, 1, 8);
}
