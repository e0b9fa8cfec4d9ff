// A thread finds its unit from its number, the team walks the unit, and every value is computed
// where it is stored.
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
    fits = own[i] == shape[i] || own[i] == 1;
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
  if (count % blocks.getUnits() == 0) {
    emitUnit(unit, {});
  } else if (team.size() == 1 || team.isWarp()) {
    Value inside = compare(arith::CmpIPredicate::slt, nest.index(unit), nest.constant(count));
    nest.when(inside, [&] { emitUnit(unit, {}); });
  } else {
    // All threads of the block meet at its barriers, so threads beyond the last unit compute it,
    // too.
    Value number = nest.index(unit);
    Value active = compare(arith::CmpIPredicate::slt, number, nest.constant(count));
    number = arith::MinSIOp::create(b, nest.location, number, nest.constant(count - 1));
    emitUnit(nest.variable(number, /*uniform=*/true), active);
  }
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
        o.memory.store(nest, point, value);
    });
  }
  return apart.empty() && statistics.empty();
}

/// Coordinates of the tile with that number, in dims [begin, end).
void BlockEmitter::enterTile(LinearExpr at, int64_t begin, int64_t end) {
  for (int64_t d = end; d-- > begin;) {
    LinearExpr position = at;
    if (d != begin)
      std::tie(at, position) = nest.divide(at, tilesOf(d));
    coordinates[d] = position * tileSizes[d];
    extents[d] = std::min(tileSizes[d], shape[d]);
  }
}

void BlockEmitter::emitUnit(LinearExpr unit, Value active) {
  enterTile(unit, 0, blocks.getRows());
  if (blocks.getRows() < rank())
    return emitRow(active);
  if (team.size() == 1)
    return emitTails(0);
  auto all = llvm::map_to_vector(whole, [](const Output &o) { return &o; });
  emitTile(all, active);
}

/// The last tile of a dim may be smaller and has code of its own.
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
  // A team whose members read neighbouring parts of a row has one result element.
  int64_t laneDim = blocks.getAdjacent() && blocks.getRows() == rank() ? -1 : rank() - 1;
  return tilePoints(output.dims, coordinates, extents, laneDim, nest.lanes);
}

/// Results may overwrite operands that are read at the same element, so every member computes all
/// of it before any of it is stored.
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
  auto store = [&] {
    for (auto [o, at, computed] : llvm::zip(outputs, points, values))
      for (auto [p, value] : llvm::zip(at, computed))
        o->memory.store(nest, p, value);
  };
  bool isShared = team.size() > 1 && blocks.getRows() == rank();
  if (!isShared)
    return store();
  team.fence(nest);
  Value writes = team.isFirst(nest);
  if (active)
    writes = arith::AndIOp::create(nest.builder, nest.location, writes, active);
  nest.when(writes, store);
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
  int64_t count = 1;
  for (int64_t d = blocks.getRows(); d < rank(); ++d)
    count *= tilesOf(d);
  Value mine = arith::SubIOp::create(b, nest.location, nest.constant(count + team.size() - 1),
                                     nest.index(team.member()));
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
        o.memory.store(nest, at.first, at.second);
    });
}

/// A few elements that follow none of the root's dims: one thread computes them.
void BlockEmitter::emitApart(const Output &output, Value first) {
  ArrayRef<int64_t> own = cast<RankedTensorType>(output.value.getType()).getShape();
  nest.when(first, [&] {
    Point p;
    auto loops = [&](auto &&self, size_t d) -> void {
      if (d == own.size()) {
        tiles.prepare(output.value, {p});
        return output.memory.store(nest, p, tiles.pull(output.value, p));
      }
      nest.loop(0, own[d], /*unroll=*/false, {}, [&](LinearExpr i, ValueRange) {
        p.coordinates.push_back(i);
        self(self, d + 1);
        p.coordinates.pop_back();
        return SmallVector<Value>();
      });
    };
    loops(loops, 0);
  });
}
