// Reductions whose lanes run along a reduced dim: every point has vectors of partial results, whose
// lanes are combined at the end.
#include "compiler/codegen/tile/RowLanes.h"
#include "compiler/codegen/tile/TileEmitter.h"

using namespace mlir;
using namespace gradc::tile;

bool TileEmitter::reduceRowOfEachLane(linalg::GenericOp op, OpResult result, ArrayRef<Point> points,
                                      unsigned dim) {
  auto domain = *domainOf(result, points[0]);
  bool areRows = false, isShared = false;
  for (OpOperand *input : op.getDpsInputOperands()) {
    auto at = operandPoint(op, *input, domain, points[0].valid);
    if (!at || (at->hasLanes() && laneCost(input->get(), *at) == 0))
      return false;
    areRows |= at->hasLanes();
    isShared |= !at->hasLanes();
  }
  if (!areRows || (isShared && !laneChains))
    return false;
  SmallVector<Point> rows;
  for (const Point &p : points)
    for (int64_t l = 0; l < p.valid; ++l)
      if (Point row = p.inLane(l); !nest.known(result, row) && !llvm::is_contained(rows, row))
        rows.push_back(row);
  std::optional<Prefetcher::Rows> next;
  if (isShared) {
    auto *lanes = llvm::find_if(domain, [](const LinearExpr &e) { return e.lane != 0; });
    next = {unsigned(lanes - domain.begin()), points[0].valid};
  }
  if (!rows.empty())
    reduceAcross(op, result, rows, dim, combinedValue(op), next);
  for (const Point &p : points) {
    SmallVector<Value> elements;
    for (int64_t l = 0; l < nest.lanes; ++l)
      elements.push_back(nest.known(result, p.inLane(std::min(l, p.valid - 1))));
    Value vector = vector::FromElementsOp::create(nest.builder, nest.location,
                                                  nest.vectorOf(elements[0].getType()), elements);
    nest.known(result, p) = vector;
  }
  return true;
}

/// Sums `size` elements by vectors: groups with one vector per chain, then the remaining vectors
/// and elements in the first chain.
SmallVector<Value> TileEmitter::reduceRows(const SumLoops &loops, size_t depth, Value size,
                                           int64_t chains, SmallVector<Value> values,
                                           ReduceStep step) {
  OpBuilder &b = nest.builder;
  Location at = nest.location;
  auto below = [&](int64_t multiple) -> Value {
    Value unit = nest.constant(multiple);
    return arith::DivUIOp::create(b, at, size, unit);
  };
  int64_t group = chains * nest.lanes;
  Value groups = below(group), vectors = below(nest.lanes);
  values = loops.loop(depth, groups, /*multiple=*/1, values, [&](LinearExpr i, ValueRange inner) {
    SmallVector<Value> next(inner);
    for (int64_t c = 0; c < chains; ++c)
      step(i * group + LinearExpr(c * nest.lanes), c, nest.lanes, next);
    return next;
  });
  auto rest = [&](Value from, Value to, int64_t width) {
    values = nest.loop(from, to, values, [&](LinearExpr i, ValueRange inner) {
      SmallVector<Value> next(inner);
      step(i * width, 0, width, next);
      return next;
    });
  };
  rest(arith::MulIOp::create(b, at, groups, nest.constant(chains)), vectors, nest.lanes);
  if (nest.lanes > 1)
    rest(arith::MulIOp::create(b, at, vectors, nest.constant(nest.lanes)), size, 1);
  return values;
}

/// Like `reduceRows` for a constant size: the remaining vectors are spread over the chains.
SmallVector<Value> TileEmitter::reduceVectors(const SumLoops &loops, size_t depth, int64_t size,
                                              int64_t chains, SmallVector<Value> values,
                                              ReduceStep step) {
  int64_t vectors = llvm::divideCeil(size, nest.lanes), full = size / nest.lanes, done = 0;
  if (vectors > nest.level.rowVectors) {
    values = loops.loop(depth, full / chains, false, values, [&](LinearExpr i, ValueRange inner) {
      SmallVector<Value> next(inner);
      for (int64_t c = 0; c < chains; ++c)
        step(i * (chains * nest.lanes) + LinearExpr(c * nest.lanes), c, nest.lanes, next);
      return next;
    });
    done = full / chains * chains;
  }
  for (int64_t v = done; v < vectors; ++v)
    step(LinearExpr(v * nest.lanes), v % chains, std::min(nest.lanes, size - v * nest.lanes),
         values);
  return values;
}

void TileEmitter::reduceAcross(linalg::GenericOp op, OpResult result, ArrayRef<Point> points,
                               unsigned dim, Value combined, std::optional<Prefetcher::Rows> next) {
  int64_t vectors = llvm::divideCeil(op.getStaticLoopRanges()[dim], nest.lanes);
  int64_t chains = std::min(vectors, laneChains ? laneChains : nest.level.chains);
  // Long rows are read one after the other, which prefetchers follow; of short ones, several hide
  // the latency of each other's chains.
  bool isLong = vectors >= 2 * chains;
  size_t group = laneChains ? points.size()
                 : isLong   ? 1
                            : std::max<int64_t>(1, nest.level.rowVectors / chains);
  auto combineBoth = [&](Value x, Value y) { return combine(op, combined, x, y); };
  RowLanes rows(nest, combineBoth);
  for (ArrayRef<Point> rest = points; !rest.empty();) {
    ArrayRef<Point> some = rest.take_front(group);
    rest = rest.drop_front(some.size());
    auto chainsOf =
        reduceTogether(op, result, some, dim, chains, rest.empty() ? next : std::nullopt);
    if (failed)
      return;
    // Combines the chains in a tree, then the halves of the vector, in a fixed order.
    for (size_t i = 0; i < some.size(); ++i)
      rows.add(combineTree(op, combined,
                           SmallVector<Value>(ArrayRef(chainsOf).slice(i * chains, chains))));
  }
  for (auto [p, value] : llvm::zip_equal(points, rows.results()))
    nest.known(result, p) = value;
}

SmallVector<Value> TileEmitter::reduceTogether(linalg::GenericOp op, OpResult result,
                                               ArrayRef<Point> points, unsigned dim, int64_t chains,
                                               std::optional<Prefetcher::Rows> next) {
  auto ranges = op.getStaticLoopRanges();
  int64_t vectors = llvm::divideCeil(ranges[dim], nest.lanes);
  SmallVector<SmallVector<LinearExpr>> domains;
  SmallVector<Value> start;
  for (const Point &p : points) {
    domains.push_back(*domainOf(result, p));
    start.append(chains, nest.splat(initial(op, 0, p)));
  }

  auto step = [&](LinearExpr first, int64_t chain, int64_t valid, SmallVector<Value> &values) {
    first.lane = 1;
    SmallVector<Step> together;
    for (auto &domain : domains) {
      domain[dim] = first;
      together.push_back({domain, valid});
    }
    prepareSteps(op, /*windows=*/nullptr, together);
    if (next)
      prefetcher.nextRows(op, *next, together);
    for (size_t i = 0; i < points.size(); ++i) {
      Value &acc = values[i * chains + chain];
      auto results = emitBody(op, domains[i], valid, /*fuse=*/true, [&](OpOperand &o) -> Value {
        if (op.isDpsInit(&o))
          return acc;
        auto at = operandPoint(op, o, domains[i], valid);
        Value element = at ? pull(o.get(), *at) : Value();
        if (element && op == kept.sum)
          kept.memory.store(nest, *at, element);
        return element;
      });
      if (!results[0])
        return;
      acc = valid == nest.lanes
                ? nest.splat(results[0])
                : arith::SelectOp::create(nest.builder, nest.location, nest.prefixMask(valid),
                                          nest.splat(results[0]), acc);
    }
  };
  SmallVector<unsigned> dims = reducedDims(op);
  llvm::erase(dims, dim);
  auto counts = llvm::map_to_vector(dims, [&](unsigned d) { return ranges[d]; });
  counts.push_back(llvm::divideCeil(vectors, chains));
  SumLoops sums = sumLoops(op, counts, /*terms=*/1, start);
  auto row = [&](ValueRange carried) {
    SmallVector<Value> values(carried);
    if (int64_t each = perRow(op, dim))
      return reduceRows(sums, dims.size(), nest.extent(ranges[dim], each), chains, values, step);
    return reduceVectors(sums, dims.size(), ranges[dim], chains, values, step);
  };
  auto loops = [&](auto &&self, size_t depth, ValueRange carried) -> SmallVector<Value> {
    if (depth == dims.size())
      return row(carried);
    auto inside = [&](LinearExpr i, ValueRange values) {
      for (auto &domain : domains)
        domain[dims[depth]] = i;
      return self(self, depth + 1, values);
    };
    if (int64_t each = perRow(op, dims[depth]))
      return sums.loop(depth, nest.extent(0, each), each, carried, inside);
    return sums.loop(depth, ranges[dims[depth]], false, carried, inside);
  };
  SmallVector<Value> values = loops(loops, 0, start);
  if (op == kept.sum)
    llvm::append_range(kept.rows, points);
  return values;
}

Value TileEmitter::combineTree(linalg::GenericOp op, Value combined, SmallVector<Value> parts) {
  while (parts.size() > 1) {
    SmallVector<Value> pairs;
    for (size_t j = 0; j + 1 < parts.size(); j += 2)
      pairs.push_back(combine(op, combined, parts[j], parts[j + 1]));
    if (parts.size() % 2)
      pairs.push_back(parts.back());
    parts = pairs;
  }
  return parts[0];
}

Value TileEmitter::combineLanes(linalg::GenericOp op, Value combined, Value vector) {
  return nest.combineLanes(vector, [&](Value x, Value y) { return combine(op, combined, x, y); });
}
