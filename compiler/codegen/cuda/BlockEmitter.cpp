// A thread derives its unit from its number, its team walks the unit, and each value is computed
// where it is stored. A tile may compute values past the rows of the run, but does not store them.
#include "compiler/codegen/cuda/BlockEmitter.h"

using namespace mlir;
using namespace gradc;
using namespace gradc::tile;
using gradc::cuda::BlockEmitter;

void BlockEmitter::add(Value value, const Memory &memory) {
  Output output{value, memory, {}};
  ArrayRef<int64_t> own = cast<RankedTensorType>(value.getType()).getShape();
  bool fits = int64_t(own.size()) <= rank();
  llvm::SmallBitVector used(rank());
  for (size_t i = 0; fits && i < own.size(); ++i) {
    // A value of the full size is larger than a space that has only the rows of the run.
    fits = own[i] == 1 ||
           (own[i] == shape[i] && (tiles.perRow(value, i) == rows[i] || tiles.isFree(value, i)));
    output.dims.push_back(own[i] == shape[i] ? int64_t(i) : -1);
    if (fits && own[i] == shape[i])
      used.set(i);
  }
  auto covers = [&](int64_t begin, int64_t end) {
    for (int64_t d = begin; d < end; ++d)
      if (!used.test(d) && shape[d] != 1)
        return false;
    return true;
  };
  bool isStatistic = fits && blocks.getRows() < rank() && covers(0, blocks.getRows()) &&
                     int64_t(used.count()) <= blocks.getRows();
  auto &kind = fits && covers(0, rank()) ? whole : isStatistic ? statistics : apart;
  kind.push_back(std::move(output));
}

void BlockEmitter::emit(Value block) {
  OpBuilder &b = nest.builder;
  int64_t count = 1;
  for (int64_t d = 0; d < blocks.getRows(); ++d)
    count *= tilesOf(d);
  LinearExpr unit = nest.variable(block, /*uniform=*/true) * blocks.getUnits() + team.unit();
  // Threads of a unit take the same branch; threads of a block do so only if the block has a single
  // unit.
  bool mayDiverge = team.size() == 1 || team.isWarp() || blocks.getUnits() == 1;
  Value active;
  if (count % blocks.getUnits() != 0) {
    Value number = nest.index(unit);
    active = compare(arith::CmpIPredicate::slt, number, nest.constant(count));
    // All threads of a block must reach its barriers, so threads past the last unit compute that
    // unit as well.
    if (!mayDiverge)
      unit =
          nest.variable(arith::MinSIOp::create(b, nest.location, number, nest.constant(count - 1)),
                        /*uniform=*/true);
  }
  enterTile(unit, 0, blocks.getRows());
  active = both(active, isPresent());
  if (active && mayDiverge)
    nest.when(active, [&] { emitUnit({}); });
  else
    emitUnit(active);
  if (apart.empty())
    return;
  tiles.share(nullptr);
  Value thread = arith::AddIOp::create(b, nest.location, block, nest.index(team.unit()));
  thread = arith::AddIOp::create(b, nest.location, thread, nest.index(team.member()));
  Value first = compare(arith::CmpIPredicate::eq, thread, nest.constant(0));
  for (const Output &output : apart)
    emitApart(output, first);
}

bool BlockEmitter::emitShared(SharedMemoryContraction &contraction) {
  for (auto [row, point] : llvm::enumerate(contraction.points())) {
    SmallVector<Value> values;
    for (const Output &o : whole)
      values.push_back(tiles.pull(o.value, point));
    nest.when(contraction.holds(row), [&, &point = point] {
      for (auto [o, value] : llvm::zip(whole, values))
        store(o, point, value);
    });
  }
  return apart.empty() && statistics.empty();
}

/// Whether the unit's first element lies within the rows of the run; null if that holds for every
/// unit.
Value BlockEmitter::isPresent() {
  Value all;
  for (int64_t d = 0; d < blocks.getRows(); ++d)
    if (rows[d])
      all = both(all, compare(arith::CmpIPredicate::slt, nest.index(coordinates[d]),
                              nest.extent(shape[d], rows[d])));
  return all;
}

/// Whether the rows of the run may end inside a tile, or before a tile that is computed.
bool BlockEmitter::mayEndWithin(int64_t dim) const {
  return rows[dim] && (dim >= blocks.getRows() || isStaged || rows[dim] % tileSizes[dim] != 0);
}

/// Stores the part of an element or vector that lies within the rows of the run.
void BlockEmitter::store(const Output &output, const Point &point, Value value) {
  Value inside, end; // of the dim along the lanes
  const LinearExpr *lanes = nullptr;
  for (auto [d, at] : llvm::zip(output.dims, point.coordinates)) {
    if (d < 0 || !mayEndWithin(d))
      continue;
    Value size = nest.extent(shape[d], rows[d]);
    if (at.lane == 0) {
      inside = both(inside, compare(arith::CmpIPredicate::slt, nest.index(at), size));
      continue;
    }
    lanes = &at;
    end = size;
  }
  auto inRows = [&] {
    if (lanes)
      return storeLanes(output, point, value, *lanes, end);
    output.memory.store(nest, point, value);
  };
  if (inside)
    return nest.when(inside, inRows);
  inRows();
}

/// Stores a vector that begins at `first` in a dim that ends at `end`: all of it, or its first
/// elements.
void BlockEmitter::storeLanes(const Output &output, const Point &point, Value value,
                              const LinearExpr &first, Value end) {
  auto isBefore = [&](int64_t lane) {
    return compare(arith::CmpIPredicate::slt, nest.index(first.inLane(lane)), end);
  };
  Value isWhole = isBefore(point.valid - 1);
  nest.when(isWhole, [&] { output.memory.store(nest, point, value); });
  Value all = nest.splat(value);
  for (int64_t l = 0; l + 1 < point.valid; ++l) {
    Value isPart = arith::XOrIOp::create(
        nest.builder, nest.location, isWhole,
        arith::ConstantIntOp::create(nest.builder, nest.location, 1, /*width=*/1));
    nest.when(both(isPart, isBefore(l)), [&] {
      output.memory.store(nest, point.inLane(l),
                          vector::ExtractOp::create(nest.builder, nest.location, all, l));
    });
  }
}

/// Sets the coordinates of tile number `at` in dims [begin, end).
void BlockEmitter::enterTile(LinearExpr at, int64_t begin, int64_t end) {
  for (int64_t d = end; d-- > begin;) {
    LinearExpr position = at;
    if (d != begin)
      std::tie(at, position) = nest.divide(at, tilesOf(d));
    coordinates[d] = position * tileSizes[d];
    extents[d] = std::min(tileSizes[d], shape[d]);
  }
}

void BlockEmitter::emitUnit(Value active) {
  if (blocks.getRows() < rank())
    return emitRow(active);
  if (team.size() == 1)
    return emitTails(0);
  auto all = llvm::map_to_vector(whole, [](const Output &o) { return &o; });
  emitTile(all, active);
}

/// A dim's last tile may be smaller, so it has separate code.
void BlockEmitter::emitTails(int64_t dim) {
  if (dim == rank()) {
    auto all = llvm::map_to_vector(whole, [](const Output &o) { return &o; });
    return emitTile(all, {});
  }
  int64_t full = shape[dim] / tileSizes[dim], rest = shape[dim] % tileSizes[dim];
  if (rest == 0 || full == 0)
    return emitTails(dim + 1);
  Value begin = nest.index(coordinates[dim]), tail = nest.constant(full * tileSizes[dim]);
  nest.when(compare(arith::CmpIPredicate::slt, begin, tail), [&] { emitTails(dim + 1); });
  LinearExpr position = coordinates[dim];
  nest.when(compare(arith::CmpIPredicate::eq, begin, tail), [&] {
    coordinates[dim] = LinearExpr(full * tileSizes[dim]);
    extents[dim] = rest;
    emitTails(dim + 1);
  });
  coordinates[dim] = position;
  extents[dim] = tileSizes[dim];
}

SmallVector<Point> BlockEmitter::pointsOf(const Output &output) const {
  // The members of a team that read adjacent parts of a row share one result element.
  int64_t laneDim = blocks.getAdjacent() && blocks.getRows() == rank() ? -1 : rank() - 1;
  return tilePoints(output.dims, coordinates, extents, laneDim, nest.lanes);
}

/// Results may overwrite operands read at the same element, so each member computes all results
/// before it stores any.
void BlockEmitter::emitTile(ArrayRef<const Output *> outputs, Value active) {
  SmallVector<SmallVector<Point>> points;
  for (const Output *o : outputs) {
    points.push_back(pointsOf(*o));
    tiles.prepare(o->value, points.back());
  }
  SmallVector<SmallVector<Value>> values;
  for (auto [o, at] : llvm::zip(outputs, points))
    values.push_back(
        llvm::map_to_vector(at, [&, o = o](const Point &p) { return tiles.pull(o->value, p); }));
  auto storeAll = [&] {
    for (auto [o, at, computed] : llvm::zip(outputs, points, values))
      for (auto [p, value] : llvm::zip(at, computed))
        store(*o, p, value);
  };
  bool isShared = team.size() > 1 && blocks.getRows() == rank();
  if (!isShared)
    return storeAll();
  team.fence(nest);
  nest.when(both(team.isFirst(nest), active), storeAll);
}

/// The number of tiles that a team walks in one unit.
Value BlockEmitter::tilesOfUnit() {
  OpBuilder &b = nest.builder;
  int64_t first = blocks.getRows(), inner = 1;
  for (int64_t d = first + 1; d < rank(); ++d)
    inner *= tilesOf(d);
  if (rows[first] == 0)
    return nest.constant(tilesOf(first) * inner);
  Value outer = arith::CeilDivUIOp::create(b, nest.location, nest.extent(shape[first], rows[first]),
                                           nest.constant(tileSizes[first]));
  return arith::MulIOp::create(b, nest.location, outer, nest.constant(inner));
}

/// The team computes the row's statistics together; then each member takes every size()-th tile.
void BlockEmitter::emitRow(Value active) {
  OpBuilder &b = nest.builder;
  SmallVector<std::pair<Point, Value>> stored;
  for (const Output &o : statistics) {
    Point p = pointsOf(o).front();
    tiles.prepare(o.value, {p});
    stored.push_back({p, tiles.pull(o.value, p)});
  }
  Value mine =
      arith::AddIOp::create(b, nest.location, tilesOfUnit(), nest.constant(team.size() - 1));
  mine = arith::SubIOp::create(b, nest.location, mine, nest.index(team.member()));
  mine = arith::DivUIOp::create(b, nest.location, mine, nest.constant(team.size()));
  if (!whole.empty())
    nest.loop(nest.constant(0), mine, {}, [&](LinearExpr i, ValueRange) {
      enterTile(i * team.size() + team.member(), blocks.getRows(), rank());
      auto all = llvm::map_to_vector(whole, [](const Output &o) { return &o; });
      emitTile(all, active);
      return SmallVector<Value>();
    });
  if (!stored.empty())
    nest.when(team.isFirst(nest), [&] {
      for (auto [o, at] : llvm::zip(statistics, stored))
        store(o, at.first, at.second);
    });
}

/// The few elements that depend on none of the root's dims are computed by one thread.
void BlockEmitter::emitApart(const Output &output, Value first) {
  ArrayRef<int64_t> own = cast<RankedTensorType>(output.value.getType()).getShape();
  nest.when(first, [&] {
    Point p;
    auto loops = [&](auto &&self, size_t d) -> void {
      if (d == own.size()) {
        tiles.prepare(output.value, {p});
        return output.memory.store(nest, p, tiles.pull(output.value, p));
      }
      auto inside = [&](LinearExpr i, ValueRange) {
        p.coordinates.push_back(i);
        self(self, d + 1);
        p.coordinates.pop_back();
        return SmallVector<Value>();
      };
      if (int64_t each = tiles.perRow(output.value, int64_t(d)))
        nest.loop(nest.constant(0), nest.extent(own[d], each), {}, inside);
      else
        nest.loop(0, own[d], /*unroll=*/false, {}, inside);
    };
    loops(loops, 0);
  });
}
