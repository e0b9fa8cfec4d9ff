// A sum shared by a team of N threads: each member takes every N-th step, then the members exchange
// their sums.
#include "compiler/codegen/tile/TileEmitter.h"

using namespace mlir;
using namespace gradc::tile;

namespace {

/// The steps of a reduction's dims as one range, the last dim fastest. Only the first dim may hold
/// rows of the run; the range then ends with the last row.
struct Steps {
  SmallVector<unsigned> dims;
  SmallVector<int64_t> counts;
  std::optional<unsigned> vector; // dim whose steps are whole vectors
  int64_t total = 1;              // number of steps of the largest run

  /// All steps of the shared dims; `vector`, a dim of whole vectors, comes last.
  Steps(ArrayRef<unsigned> shared, ArrayRef<int64_t> ranges, std::optional<unsigned> vector,
        int64_t lanes)
      : vector(vector) {
    for (unsigned d : shared)
      if (d != vector)
        add(d, ranges[d]);
    if (vector)
      add(*vector, ranges[*vector] / lanes);
  }
  void add(unsigned dim, int64_t count) {
    dims.push_back(dim);
    counts.push_back(count);
    total *= count;
  }
  /// The number of steps in this run. `perRow`: elements per row of the run along the first dim.
  Value count(LoopNest &nest, int64_t perRow) const {
    if (perRow == 0)
      return nest.constant(total);
    // A step along the vector dim covers several elements.
    int64_t width = dims.front() == vector ? nest.lanes : 1;
    return nest.extent(total, perRow / width * (total / counts.front()));
  }
  /// Sets the coordinates of step `at` in every domain.
  void enter(LoopNest &nest, LinearExpr at,
             MutableArrayRef<SmallVector<LinearExpr>> domains) const {
    for (size_t i = dims.size(); i-- > 0;) {
      LinearExpr position = at;
      if (i != 0)
        std::tie(at, position) = nest.divide(at, counts[i]);
      if (dims[i] == vector) {
        position = position * nest.lanes;
        position.lane = 1;
      }
      for (auto &domain : domains)
        domain[dims[i]] = position;
    }
  }
};

/// A team arranged in columns of `size` members. The members of a column share steps.
struct Formation {
  int64_t size, columns = 1;
  LinearExpr member, column{0};

  Formation(LoopNest &nest, const Team &team, int64_t steps)
      : size(team.size()), member(team.member()) {
    int64_t most = llvm::bit_floor(uint64_t(steps));
    if (most >= size)
      return;
    columns = size / most;
    size = most;
    std::tie(column, member) = nest.divide(member, size);
  }
  /// The number of `steps` that the member takes.
  Value share(LoopNest &nest, Value steps) const {
    OpBuilder &b = nest.builder;
    Value most = arith::AddIOp::create(b, nest.location, steps, nest.constant(size - 1));
    most = arith::SubIOp::create(b, nest.location, most, nest.index(member));
    return arith::DivUIOp::create(b, nest.location, most, nest.constant(size));
  }
  /// The number of the column's values in a walk from `first`, its first one, to `end`.
  Value walked(LoopNest &nest, const LinearExpr &first, Value end) const {
    OpBuilder &b = nest.builder;
    Value left = arith::SubIOp::create(b, nest.location, end, nest.index(first));
    return arith::CeilDivSIOp::create(b, nest.location, left, nest.constant(columns));
  }
};

} // namespace

/// Moves the dim that holds rows of the run to the front of `shared`; returns false if there are
/// several such dims.
bool TileEmitter::putRowsFirst(linalg::GenericOp op, SmallVectorImpl<unsigned> &shared) {
  auto holdsRows = [&](unsigned d) { return perRow(op, d) > 0; };
  if (auto first = llvm::find_if(shared, holdsRows); first != shared.end())
    std::rotate(shared.begin(), first, first + 1);
  return llvm::count_if(shared, holdsRows) <= 1;
}

/// The shared dim that adjacent members read by adjacent vectors.
std::optional<unsigned> TileEmitter::sharedVector(linalg::GenericOp op, OpResult result,
                                                  const Point &point, ArrayRef<unsigned> shared) {
  std::optional<unsigned> vector = dimToVectorize(op, result, point);
  if (!vector || op.getStaticLoopRanges()[*vector] % nest.lanes != 0)
    return std::nullopt;
  // Vectors of rows must end where the rows do. The vector dim comes last, but rows must come
  // first, so it may hold rows only if it is the only shared dim.
  int64_t each = perRow(op, *vector);
  return each && (each % nest.lanes != 0 || shared.size() > 1) ? std::nullopt : vector;
}

/// Returns false if the members cannot share the reduction. A team with more members than there are
/// other steps also shares the first window dim; each member walks the remaining window dims.
bool TileEmitter::reduceByTeam(linalg::GenericOp op, OpResult result, ArrayRef<Point> points) {
  Value combined = combinedValue(op);
  if (!combined || !op.getDpsInits()[0].getDefiningOp<linalg::FillOp>() ||
      !llvm::all_of(points, [&](const Point &p) { return nest.isUniform(p); }))
    return false;

  // 1. Find the shared dims.
  auto ranges = op.getStaticLoopRanges();
  auto domains = llvm::map_to_vector(points, [&](const Point &p) { return *domainOf(result, p); });
  WindowReads windows(nest, op, domains, /*isOne=*/true);
  SmallVector<unsigned> walked, shared;
  for (unsigned d : reducedDims(op))
    (windows.walks(d) ? walked : shared).push_back(d);
  if (!putRowsFirst(op, shared))
    return false;
  std::optional<unsigned> vector;
  if (!points[0].hasLanes() && walked.empty() && nest.lanes > 1)
    vector = sharedVector(op, result, points[0], shared);
  bool isVector = vector || points[0].hasLanes();
  Steps steps(shared, ranges, vector, nest.lanes);
  if (steps.total < 2)
    return false;

  // 2. Reduce the member's own share.
  auto start = llvm::map_to_vector(points, [&](const Point &p) {
    Value first = initial(op, 0, p);
    return isVector ? nest.splat(first) : first;
  });
  auto step = [&](LinearExpr at, ValueRange carried) {
    steps.enter(nest, at, domains);
    SmallVector<Value> next;
    for (auto [i, p] : llvm::enumerate(points)) {
      int64_t valid = steps.vector ? nest.lanes : p.valid;
      Value value = emitBody(op, domains[i], valid, /*fuse=*/true, [&](OpOperand &o) -> Value {
        return op.isDpsInit(&o) ? carried[i] : pullOperand(windows, op, o, i, domains[i], valid);
      })[0];
      next.push_back(isVector && value ? nest.splat(value) : value);
    }
    return next;
  };
  Formation formation(nest, *team, walked.empty() ? team->size() : steps.total);
  int64_t each = steps.dims.empty() ? 0 : perRow(op, steps.dims.front());
  Value count = formation.share(nest, steps.count(nest, each));
  int64_t most = llvm::divideCeil(steps.total, formation.size);
  SumLoops sums = sumLoops(op, most, /*terms=*/1, start);
  auto loops = [&](auto &&self, size_t depth, ValueRange carried) -> SmallVector<Value> {
    if (depth == walked.size())
      return sums.loop(0, count, /*multiple=*/1, carried, [&](LinearExpr i, ValueRange values) {
        return step(i * formation.size + formation.member, values);
      });
    unsigned dim = walked[depth];
    TapRange taps = windows.tapsOf(dim, LinearExpr(0), LinearExpr(ranges[dim])).front();
    auto visit = [&](LinearExpr i, ValueRange values) {
      windows.enter(dim, taps, i);
      for (auto &domain : domains)
        domain[dim] = taps.firstTap + i * taps.step;
      return self(self, depth + 1, values);
    };
    if (depth > 0 || formation.columns == 1)
      return nest.loop(taps.lower, taps.upper, carried, visit);
    LinearExpr first = nest.variable(taps.lower) + formation.column;
    Value left = formation.walked(nest, first, taps.upper);
    return nest.loop(nest.constant(0), left, carried, [&](LinearExpr i, ValueRange values) {
      return visit(first + i * formation.columns, values);
    });
  };
  SmallVector<Value> values = loops(loops, 0, start);
  if (failed)
    return true;

  // 3. Combine the members' results.
  if (steps.vector)
    for (Value &v : values)
      v = combineLanes(op, combined, v);
  values =
      team->combine(nest, values, [&](Value x, Value y) { return combine(op, combined, x, y); });
  for (auto [p, v] : llvm::zip(points, values))
    nest.known(result, p) = v;
  return true;
}
