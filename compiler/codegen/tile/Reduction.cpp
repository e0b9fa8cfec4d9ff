// Reductions keep one accumulator per point in registers through the loops over the reduced dims. A
// contraction over a tile of rows and vectors is the register-tiled loop that runs at FMA peak.
#include "compiler/codegen/tile/TileEmitter.h"

#include "llvm/ADT/ScopeExit.h"

using namespace mlir;
using namespace gradc::tile;

namespace {
constexpr int64_t unrolledSteps = 4; // steps of a short innermost loop
} // namespace

SmallVector<unsigned> gradc::tile::reducedDims(linalg::GenericOp op) {
  SmallVector<unsigned> dims;
  op.getReductionDims(dims);
  return dims;
}

Value gradc::tile::combinedValue(linalg::GenericOp op) {
  if (op.getNumResults() != 1)
    return {};
  Block *body = op.getBody();
  Value acc = op.getMatchingBlockArgument(op.getDpsInitOperand(0));
  Value yielded = body->getTerminator()->getOperand(0);
  auto separates = [&](Value x) {
    SmallVector<Value> work{yielded};
    llvm::DenseSet<Value> seen;
    while (!work.empty()) {
      Value v = work.pop_back_val();
      if (v == x || v == acc || !seen.insert(v).second)
        continue;
      Operation *def = v.getDefiningOp();
      if (!def || isa<linalg::IndexOp, tensor::ExtractOp>(def))
        return false;
      llvm::append_range(work, def->getOperands());
    }
    return !seen.contains(x);
  };
  llvm::DenseSet<Value> fromAcc{acc};
  for (Operation &o : body->without_terminator())
    if (llvm::any_of(o.getOperands(), [&](Value v) { return fromAcc.contains(v); }))
      fromAcc.insert(o.result_begin(), o.result_end());
  if (!fromAcc.contains(yielded))
    return {};
  Value found;
  auto consider = [&](Value v) {
    if (v.getType() == acc.getType() && !fromAcc.contains(v) && separates(v))
      found = v;
  };
  for (OpOperand *input : op.getDpsInputOperands())
    consider(op.getMatchingBlockArgument(input));
  for (Operation &o : body->without_terminator())
    if (!o.hasTrait<OpTrait::ConstantLike>())
      llvm::for_each(o.getResults(), consider);
  return found;
}

/// Whether the op adds up f32 numbers. Products are none: their accumulators fill all registers,
/// and those of long sums go in blocks whose results stay in memory.
static bool isPlainSum(linalg::GenericOp op) {
  Value summed = combinedValue(op);
  if (!summed || op.getNumDpsInputs() != 1 || !summed.getType().isF32() ||
      !op.getDpsInits()[0].getDefiningOp<linalg::FillOp>())
    return false;
  auto add = op.getBody()->getTerminator()->getOperand(0).getDefiningOp<arith::AddFOp>();
  Value acc = op.getMatchingBlockArgument(op.getDpsInitOperand(0));
  return add && ((add.getLhs() == acc && add.getRhs() == summed) ||
                 (add.getLhs() == summed && add.getRhs() == acc));
}

void TileEmitter::accumulate(linalg::GenericOp op, const Memory &memory,
                             ArrayRef<std::pair<LinearExpr, LinearExpr>> block, int64_t steps) {
  accumulation = {op, memory, llvm::to_vector(block), steps};
}

Value TileEmitter::initial(linalg::GenericOp op, unsigned result, const Point &point) {
  if (op == accumulation.op)
    return accumulation.memory.load(nest, point);
  Value start = pull(op.getDpsInits()[result], point);
  return point.hasLanes() ? nest.splat(start) : start;
}

Value TileEmitter::combine(linalg::GenericOp op, Value combined, Value a, Value b) {
  IRMapping map;
  Block *body = op.getBody();
  map.map(op.getMatchingBlockArgument(op.getDpsInitOperand(0)), a);
  map.map(combined, b);
  for (Operation &o : body->without_terminator())
    if (o.getResult(0) != combined && llvm::all_of(o.getOperands(), [&](Value v) {
          return map.contains(v) || v.getParentBlock() != body;
        }))
      emitBodyOp(&o, map);
  return map.lookup(body->getTerminator()->getOperand(0));
}

/// The number of loads under `value` that need one access per lane.
int64_t TileEmitter::laneCost(Value value, const Point &point) {
  std::set<std::pair<const void *, Point>> seen;
  int64_t cost = 0;
  auto visit = [&](auto &&self, Value v, const Point &p) -> void {
    if (!p.hasLanes() || !seen.insert({v.getAsOpaquePointer(), p}).second)
      return;
    if (auto memory = memories.find(v); memory != memories.end()) {
      auto offset = memory->second.offset(nest, p);
      bool areWords = memory->second.isOfNibbles() && offset;
      cost += !areWords && (!offset || offset->lane != 1);
    } else if (auto op = v.getDefiningOp<linalg::GenericOp>()) {
      if (auto domain = domainOf(cast<OpResult>(v), p))
        for (OpOperand *input : op.getDpsInputOperands())
          if (auto at = operandPoint(op, *input, *domain, p.valid))
            self(self, input->get(), *at);
    }
  };
  visit(visit, value, point);
  return cost;
}

std::optional<unsigned> TileEmitter::dimToVectorize(linalg::GenericOp op, OpResult result,
                                                    const Point &point) {
  if (!combinedValue(op) || !op.getDpsInits()[0].getDefiningOp<linalg::FillOp>())
    return std::nullopt;
  std::optional<unsigned> best;
  int64_t bestCost = 0;
  auto ranges = op.getStaticLoopRanges();
  for (unsigned d : reducedDims(op)) {
    if (ranges[d] < 2)
      continue;
    auto domain = *domainOf(result, point.inLane(0));
    domain[d].lane = 1;
    int64_t cost = 0;
    for (OpOperand *input : op.getDpsInputOperands())
      if (auto at = operandPoint(op, *input, domain, std::min(nest.lanes, ranges[d])))
        cost += laneCost(input->get(), *at);
    if (!best || cost <= bestCost) {
      best = d;
      bestCost = cost;
    }
  }
  return bestCost == 0 ? best : std::nullopt;
}

std::pair<LinearExpr, LinearExpr> TileEmitter::stepsOf(linalg::GenericOp op, unsigned dim) {
  SmallVector<unsigned> dims = reducedDims(op);
  size_t depth = llvm::find(dims, dim) - dims.begin();
  if (op == accumulation.op && depth < accumulation.block.size())
    return accumulation.block[depth];
  return {LinearExpr(0), LinearExpr(op.getStaticLoopRanges()[dim])};
}

LinearExpr TileEmitter::firstStep(linalg::GenericOp op, unsigned dim) {
  return stepsOf(op, dim).first;
}

Value TileEmitter::lastStep(linalg::GenericOp op, unsigned dim) {
  auto [first, last] = stepsOf(op, dim);
  int64_t size = op.getStaticLoopRanges()[dim];
  return last == LinearExpr(size) ? nest.extent(size, perRow(op, dim)) : nest.index(last);
}

void TileEmitter::reduce(linalg::GenericOp op, OpResult result, ArrayRef<Point> points) {
  if (!domainOf(result, points[0]))
    return fail(op, "expected an output map of plain dims");
  if (dots.reduce(op, result, points))
    return;
  if (op == accumulation.op)
    return reduceInLanes(op, result, points);
  if ((team && reduceByTeam(op, result, points)) || reduceWhere(op, result, points))
    return;
  std::optional<unsigned> dim = dimToVectorize(op, result, points[0]);
  if (!points[0].hasLanes()) {
    if (!dim)
      return reduceInLanes(op, result, points);
    return reduceAcross(op, result, points, *dim, combinedValue(op));
  }
  if (!dim || !reduceRowOfEachLane(op, result, points, *dim))
    reduceInLanes(op, result, points);
}

Value TileEmitter::pullOperand(const WindowReads &windows, linalg::GenericOp op, OpOperand &operand,
                               size_t point, ArrayRef<LinearExpr> domain, int64_t valid) {
  if (windows.has(operand)) {
    auto [inside, at] = windows.read(operand, point, domain, valid);
    return pull(inside, at);
  }
  auto at = operandPoint(op, operand, domain, valid);
  return at ? pull(operand.get(), *at) : Value();
}

void TileEmitter::prepareSteps(linalg::GenericOp op, const WindowReads *windows,
                               ArrayRef<Step> steps) {
  for (OpOperand *input : op.getDpsInputOperands()) {
    if (windows && windows->has(*input))
      continue;
    SmallVector<Point> wanted;
    for (const Step &step : steps)
      if (auto at = operandPoint(op, *input, step.domain, step.valid))
        wanted.push_back(*at);
    prepare(input->get(), wanted);
  }
}

using Steps = llvm::function_ref<SmallVector<Value>(LinearExpr, int64_t, ValueRange)>;

/// A loop to `size`, number `depth` of `loops`, that executes `together` steps at a time, then the
/// remaining steps one by one.
static SmallVector<Value> loopTogether(const SumLoops &loops, size_t depth, int64_t size,
                                       int64_t together, ValueRange carried, Steps steps) {
  int64_t blocks = size / together;
  SmallVector<Value> values =
      loops.loop(depth, blocks, false, carried, [&](LinearExpr i, ValueRange values) {
        return steps(i * together, together, values);
      });
  for (int64_t rest = blocks * together; rest < size; ++rest)
    values = steps(LinearExpr(rest), 1, values);
  return values;
}
/// The same for a size that is known to be a multiple of `multiple`.
static SmallVector<Value> loopTogether(const SumLoops &loops, size_t depth, LoopNest &nest,
                                       Value size, int64_t multiple, int64_t together,
                                       ValueRange carried, LoopNest::LoopBody one, Steps several) {
  if (together == 1)
    return loops.loop(depth, size, multiple, carried, one);
  OpBuilder &b = nest.builder;
  Value step = nest.constant(together);
  Value blocks = arith::DivUIOp::create(b, nest.location, size, step);
  SmallVector<Value> values =
      loops.loop(depth, blocks, /*multiple=*/1, carried, [&](LinearExpr i, ValueRange values) {
        return several(i * together, together, values);
      });
  return nest.loop(arith::MulIOp::create(b, nest.location, blocks, step), size, values, one);
}

SumLoops TileEmitter::sumLoops(linalg::GenericOp op, ArrayRef<int64_t> steps, int64_t terms,
                               ArrayRef<Value> start) {
  SumLoops loops(nest);
  if (op != accumulation.op && isPlainSum(op))
    loops.cut(steps, terms, start);
  return loops;
}

int64_t TileEmitter::stepsTogether(linalg::GenericOp op, const WindowReads &windows,
                                   ArrayRef<LinearExpr> domain, const Point &point) {
  if (!point.hasLanes())
    return 1;
  for (OpOperand *input : op.getDpsInputOperands())
    if (auto at = operandPoint(op, *input, domain, point.valid))
      if (!windows.has(*input) && laneCost(input->get(), *at) > 0)
        return nest.lanes;
  return 1;
}

void TileEmitter::reduceInLanes(linalg::GenericOp op, OpResult result, ArrayRef<Point> points) {
  SmallVector<unsigned> dims = reducedDims(op);
  auto ranges = op.getStaticLoopRanges();
  unsigned results = op.getNumResults();
  SmallVector<SmallVector<LinearExpr>> domains;
  SmallVector<Value> start;
  for (const Point &p : points) {
    domains.push_back(*domainOf(result, p));
    for (unsigned r = 0; r < results; ++r)
      start.push_back(initial(op, r, p));
  }
  WindowReads windows(nest, op, domains);

  // Executes steps of the innermost dim together, so that strided loads can be transposed.
  auto steps = [&](LinearExpr first, int64_t count, ValueRange carried) {
    unsigned inner = dims.back();
    SmallVector<Step> together;
    for (int64_t s = 0; s < count; ++s)
      for (auto [p, domain] : llvm::zip(points, domains)) {
        domain[inner] = first + LinearExpr(s);
        together.push_back({domain, p.valid});
      }
    prepareSteps(op, &windows, together);
    prefetcher.afterSteps(op, windows, together);
    SmallVector<Value> values(carried);
    for (int64_t s = 0; s < count; ++s)
      for (auto [i, p] : llvm::enumerate(points)) {
        domains[i][inner] = first + LinearExpr(s);
        auto next = emitBody(op, domains[i], p.valid, /*fuse=*/true, [&](OpOperand &o) -> Value {
          if (op.isDpsInit(&o))
            return values[i * results + o.getOperandNumber() - op.getNumDpsInputs()];
          return pullOperand(windows, op, o, i, domains[i], p.valid);
        });
        for (unsigned r = 0; r < results; ++r) {
          Value &value = values[i * results + r], before = value;
          value = p.hasLanes() && next[r] ? nest.splat(next[r]) : next[r];
          if (Value inside = windows.isInside(i); inside && value)
            value = nest.select(inside, value, before);
        }
      }
    return values;
  };

  int64_t together = stepsTogether(op, windows, domains[0], points[0]);
  auto counts = llvm::map_to_vector(dims, [&](unsigned d) { return ranges[d]; });
  counts.back() = llvm::divideCeil(counts.back(), together);
  SumLoops sums = sumLoops(op, counts, together, start);

  auto loops = [&](auto &&self, size_t depth, ValueRange carried) -> SmallVector<Value> {
    unsigned dim = dims[depth];
    bool isLast = depth + 1 == dims.size();
    auto inside = [&](LinearExpr at, ValueRange values) {
      for (auto &domain : domains)
        domain[dim] = at;
      return isLast ? steps(at, 1, values) : self(self, depth + 1, values);
    };
    bool isBlock = op == accumulation.op && depth < accumulation.block.size();
    auto [begin, end] = stepsOf(op, dim);
    if (windows.walks(dim))
      return windows.loop(dim, begin, end, carried, inside);
    if (isBlock)
      return nest.loop(nest.index(begin), nest.index(end), carried, inside);
    if (int64_t each = perRow(op, dim))
      return loopTogether(sums, depth, nest, nest.extent(ranges[dim], each), each,
                          isLast ? together : 1, carried, inside, steps);
    if (!isLast || together == 1)
      return sums.loop(depth, ranges[dim], isLast && ranges[dim] <= unrolledSteps, carried, inside);
    return loopTogether(sums, depth, ranges[dim], together, carried, steps);
  };
  SmallVector<Value> values = loops(loops, 0, start);
  for (auto [i, p] : llvm::enumerate(points))
    for (OpResult r : op->getResults())
      nest.known(r, p) = values[i * results + r.getResultNumber()];
}
