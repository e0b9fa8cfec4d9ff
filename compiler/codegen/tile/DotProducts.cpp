// Each step consumes a word of 32 bits: two floats, or four or eight integers. An instruction
// multiplies and adds them if the level has it, or AMX; codes of four bits become floats.
#include "compiler/codegen/tile/DotProducts.h"

#include "compiler/codegen/tile/DotFactors.h"
#include "compiler/codegen/tile/TileEmitter.h"

using namespace mlir;
using namespace gradc::tile;

std::optional<DotProducts::Stored> DotProducts::storedAt(Value value, const Point &point) {
  if (auto memory = tiles.memories.find(value); memory != tiles.memories.end())
    return Stored{&memory->second, point};
  auto op = value.getDefiningOp<linalg::GenericOp>();
  if (!op || op.getNumReductionLoops() > 0 || op.getNumDpsInputs() != 1 || isAssembly(op) ||
      op.getBody()->getTerminator()->getOperand(0) != op.getBody()->getArgument(0))
    return std::nullopt;
  OpOperand &moved = *op.getDpsInputOperand(0);
  auto domain = tiles.domainOf(cast<OpResult>(value), point);
  auto at = domain ? tiles.operandPoint(op, moved, *domain, point.valid) : std::optional<Point>();
  return at ? storedAt(moved.get(), *at) : std::nullopt;
}

bool DotProducts::areWords(Sum &sum, OpResult result, unsigned dim) {
  LoopNest &nest = tiles.nest;
  linalg::GenericOp op = sum.op;
  OpOperand &lhs = op->getOpOperand(0), &rhs = op->getOpOperand(1);
  LinearExpr begin = tiles.firstStep(op, dim);
  // A word's last steps may be missing: which ones is known for a fixed number of steps.
  bool hasKnownRest = sum.together == 2 || !tiles.perRow(op, dim);
  if (!hasKnownRest || begin.stride() % sum.together != 0 || begin.constant % sum.together != 0)
    return false;
  for (const Point &p : sum.points) {
    auto domain = *tiles.domainOf(result, p);
    auto row = tiles.operandPoint(op, lhs, domain, p.valid);
    auto wordAt = [&](int64_t step) -> std::optional<LinearExpr> {
      domain[dim] = LinearExpr(step);
      auto column = tiles.operandPoint(op, rhs, domain, p.valid);
      auto stored = column ? storedAt(rhs.get(), *column) : std::nullopt;
      return stored ? stored->memory->wordsOffset(nest, stored->at) : std::nullopt;
    };
    auto first = wordAt(0), last = wordAt(sum.together - 1);
    if (!row || row->hasLanes() || !first || !last ||
        !(*last == *first + LinearExpr(sum.together - 1)))
      return false;
  }
  return true;
}

SmallVector<Value> DotProducts::loop(Sum &sum, ValueRange carried, WordStep step) {
  LoopNest &nest = tiles.nest;
  OpBuilder &b = nest.builder;
  LinearExpr first = tiles.firstStep(sum.op, sum.dim);
  Value together = nest.constant(sum.together), last = tiles.lastStep(sum.op, sum.dim);
  Value from = arith::DivUIOp::create(b, nest.location, nest.index(first), together);
  Value to = arith::DivUIOp::create(b, nest.location, last, together);
  SmallVector<Value> sums = nest.loop(from, to, carried, [&](LinearExpr i, ValueRange values) {
    return step(i * sum.together, sum.together, values);
  });
  bool isPerRow = tiles.perRow(sum.op, sum.dim);
  int64_t rest = isPerRow ? 1 : sum.op.getStaticLoopRanges()[sum.dim] % sum.together;
  if (rest == 0) // blocks begin at whole words
    return sums;
  Value end = arith::CeilDivUIOp::create(b, nest.location, last, together);
  return nest.loop(to, end, sums, [&](LinearExpr i, ValueRange values) {
    return step(i * sum.together, rest, values);
  });
}

/// The elements at the points, the steps of one word, as its lowest bits.
static Value loadWord(LoopNest &nest, const Memory &memory, ArrayRef<Point> steps, int64_t bits) {
  OpBuilder &b = nest.builder;
  Location at = nest.location;
  LinearExpr first = *memory.offset(nest, steps[0]);
  bool areAdjacent = llvm::all_of(llvm::enumerate(steps), [&](auto it) {
    return *memory.offset(nest, it.value()) == first + LinearExpr(int64_t(it.index()));
  });
  if (areAdjacent && int64_t(steps.size()) * bits == 32)
    return memory.loadBits(nest, steps[0], steps.size());
  Value word;
  for (auto [i, p] : llvm::enumerate(steps)) {
    Value part = arith::ExtUIOp::create(b, at, b.getI32Type(), memory.loadBits(nest, p, 1));
    if (i > 0)
      part = arith::ShLIOp::create(b, at, part,
                                   arith::ConstantIntOp::create(b, at, int64_t(i) * bits, 32));
    word = word ? arith::OrIOp::create(b, at, word, part).getResult() : part;
  }
  return word;
}

Point DotProducts::rowOf(Sum &sum, const WindowReads &windows, size_t point,
                         const LinearExpr &step) {
  OpOperand &lhs = sum.op->getOpOperand(0);
  SmallVector<LinearExpr> &domain = sum.domains[point];
  domain[sum.dim] = step;
  return windows.has(lhs) ? windows.read(lhs, point, domain, 0).second
                          : *tiles.operandPoint(sum.op, lhs, domain, 0);
}

SmallVector<Value> DotProducts::multiply(Sum &sum, const WindowReads &windows, const Memory &lhs,
                                         const LinearExpr &step, int64_t count, ValueRange sums) {
  LoopNest &nest = tiles.nest;
  OpBuilder &b = nest.builder;
  Location at = nest.location;
  int64_t bits = 32 / sum.together;
  OpOperand &rhs = sum.op->getOpOperand(1);
  std::map<Point, DotFactor> rows, columns;
  SmallVector<Value> next;
  for (auto [i, p, acc] : llvm::enumerate(sum.points, sums)) {
    Point row = rowOf(sum, windows, i, step);
    Stored column = *storedAt(rhs.get(), *tiles.operandPoint(sum.op, rhs, sum.domains[i], p.valid));
    auto [right, isNewColumn] = columns.try_emplace(column.at);
    if (isNewColumn) {
      Value words = column.memory->loadWords(nest, column.at);
      if (count < sum.together) { // the rest of the last word is past the sum's end
        int64_t mask = (int64_t(1) << (count * bits)) - 1;
        words = arith::AndIOp::create(b, at, words,
                                      nest.splat(arith::ConstantIntOp::create(b, at, mask, 32)));
      }
      right->second = DotFactor(nest, words, sum.kind, /*isLhs=*/false);
    }
    auto [left, isNewRow] = rows.try_emplace(row);
    if (isNewRow) {
      SmallVector<Point> steps{row};
      for (int64_t s = 1; s < count; ++s)
        steps.push_back(rowOf(sum, windows, i, step + LinearExpr(s)));
      Value word = loadWord(nest, lhs, steps, bits);
      Value words = vector::BroadcastOp::create(b, at, nest.vectorOf(word.getType()), word);
      left->second = DotFactor(nest, words, sum.kind, /*isLhs=*/true);
    }
    Value value = dot(nest, sum.kind, acc, left->second, right->second);
    Value inside = windows.isInside(i);
    next.push_back(inside ? nest.select(inside, value, acc) : value);
  }
  return next;
}

SmallVector<Value> DotProducts::multiplyCodes(Sum &sum, const WindowReads &windows,
                                              const LinearExpr &step, ValueRange sums) {
  LoopNest &nest = tiles.nest;
  OpOperand &lhs = sum.op->getOpOperand(0), &rhs = sum.op->getOpOperand(1);
  std::map<Point, Value> words;
  SmallVector<Point> columns;
  for (auto [domain, p] : llvm::zip(sum.domains, sum.points)) {
    domain[sum.dim] = step;
    Stored column = *storedAt(rhs.get(), *tiles.operandPoint(sum.op, rhs, domain, p.valid));
    columns.push_back(column.at);
    if (Value &word = words[column.at]; !word)
      word = column.memory->loadWords(nest, column.at);
  }
  SmallVector<Step> steps;
  for (auto [domain, p] : llvm::zip(sum.domains, sum.points))
    for (int64_t s = 0; s < sum.together; ++s) {
      domain[sum.dim] = step + LinearExpr(s);
      steps.push_back({domain, p.valid});
    }
  tiles.prefetcher.afterSteps(sum.op, windows, steps);
  SmallVector<Value> next(sums);
  for (int64_t s = 0; s < sum.together; ++s) {
    std::map<Point, Value> numbers;
    for (auto [i, p] : llvm::enumerate(sum.points)) {
      SmallVector<LinearExpr> &domain = sum.domains[i];
      domain[sum.dim] = step + LinearExpr(s);
      Value row = nest.splat(tiles.pullOperand(windows, sum.op, lhs, i, domain, 0));
      Value &number = numbers[columns[i]];
      if (!number)
        number = floatOfCode(nest, words[columns[i]], s);
      Value value = math::FmaOp::create(nest.builder, nest.location, row, number, next[i]);
      Value inside = windows.isInside(i);
      next[i] = inside ? nest.select(inside, value, next[i]) : value;
    }
  }
  return next;
}

bool DotProducts::reduce(linalg::GenericOp op, OpResult result, ArrayRef<Point> points) {
  LoopNest &nest = tiles.nest;
  std::optional<DotKind> kind = dotKind(op);
  if (!kind || !hasDots(nest, *kind))
    return false;
  OpOperand &lhs = op->getOpOperand(0);
  SmallVector<unsigned> dims = reducedDims(op);
  Sum sum{op, *kind, stepsOf(*kind), 0, {}, points, {}};
  for (const Point &p : points)
    sum.domains.push_back(*tiles.domainOf(result, p));
  WindowReads windows(nest, op, sum.domains);
  auto *words = llvm::find_if(
      dims, [&](unsigned d) { return !windows.walks(d) && areWords(sum, result, d); });
  auto rows = tiles.memories.find(windows.has(lhs) ? windows.source(lhs) : lhs.get());
  if (words == dims.end() || (rows == tiles.memories.end() && *kind != DotKind::codes))
    return false;
  sum.dim = *words;
  dims.erase(words);
  sum.outer = dims;
  if (*kind == DotKind::floats && sumBlocks(sum, result))
    return true;

  auto step = [&](LinearExpr k, int64_t count, ValueRange carried) {
    if (sum.kind == DotKind::codes)
      return multiplyCodes(sum, windows, k, carried);
    return multiply(sum, windows, rows->second, k, count, carried);
  };
  auto loops = [&](auto &&self, size_t depth, ValueRange carried) -> SmallVector<Value> {
    if (depth == dims.size())
      return loop(sum, carried, step);
    unsigned dim = dims[depth];
    auto body = [&](LinearExpr i, ValueRange values) {
      for (auto &domain : sum.domains)
        domain[dim] = i;
      return self(self, depth + 1, values);
    };
    auto [begin, end] = tiles.stepsOf(op, dim);
    if (windows.walks(dim))
      return windows.loop(dim, begin, end, carried, body);
    return nest.loop(nest.index(begin), tiles.lastStep(op, dim), carried, body);
  };
  SmallVector<Value> sums =
      llvm::map_to_vector(points, [&](const Point &p) { return tiles.initial(op, 0, p); });
  for (auto [p, value] : llvm::zip(points, loops(loops, 0, sums)))
    nest.known(result, p) = value;
  return true;
}
