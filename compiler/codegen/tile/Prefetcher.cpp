// Hardware follows streams within a page, and not many of them.
#include "compiler/codegen/tile/Prefetcher.h"

#include "compiler/codegen/tile/TileEmitter.h"

using namespace mlir;
using namespace gradc::tile;

void Prefetcher::besideReduction(Value value, ArrayRef<Point> points) {
  if (tiles.reducedElements(value) < tiles.nest.level.minPrefetchSteps)
    return; // the reduction ends before memory responds
  lines(value, points, Memory::Cache::first);
}

void Prefetcher::lines(Value value, ArrayRef<Point> points, Memory::Cache cache) {
  Lines known;
  for (const Point &p : points)
    once(value, p, known, cache);
}

/// The multiply-adds that a step needs to hide its prefetches. The AVX-512 tile has 16, one per
/// cycle, and gains up to a quarter; the AVX2 tile has 12, two per cycle, and would lose a third.
static constexpr int64_t minMultiplyAdds = 16;

/// The limits within which prefetching panels or rows pays. A step must do enough multiply-adds per
/// cache line to hide the line's prefetches. With many rows, reading the weights is a small part of
/// the time.
static constexpr int64_t minMultiplyAddsPerLine = 6, maxRowsPerElement = 512;

/// Blocks of a sum cross the rows of their operands. Each step is about a page further on, where no
/// hardware prefetcher follows. Blocks of few steps walk along the rows, a tile after the other.
void Prefetcher::blockSteps(linalg::GenericOp op, const WindowReads &windows,
                            ArrayRef<Step> steps) {
  constexpr int64_t linesAhead = 8;
  if (tiles.nest.level.tileRows * tiles.nest.level.tileVectors < minMultiplyAdds)
    return;
  unsigned dim = reducedDims(op).back();
  int64_t distance = tiles.nest.level.minPrefetchSteps;
  auto result = cast<RankedTensorType>(op.getResult(0).getType());
  if (tiles.accumulation.steps < distance && result.getRank() > 0) {
    int64_t columns = result.getShape().back(); // vectors of a single one run along the rows
    if (columns == 1 || result.getNumElements() < minMultiplyAddsPerLine * columns)
      return;
    dim = op.getMatchingIndexingMap(op.getDpsInitOperand(0)).getDimPosition(result.getRank() - 1);
    distance =
        linesAhead * tiles.nest.level.lineBytes / grad::elementBytes(result.getElementType());
  }
  Lines known;
  for (const Step &step : steps) {
    SmallVector<LinearExpr> ahead(step.domain);
    ahead[dim] += LinearExpr(distance);
    for (OpOperand *input : op.getDpsInputOperands())
      if (op.getMatchingIndexingMap(input).isFunctionOfDim(dim) && !windows.has(*input))
        if (auto at = tiles.operandPoint(op, *input, ahead, step.valid))
          once(input->get(), *at, known);
  }
}

/// Weights that are read once for few rows arrive from memory while the panel before them is
/// multiplied: the hardware's prefetchers follow neither from page to page nor far enough ahead.
void Prefetcher::panels(linalg::GenericOp op, const WindowReads &windows, ArrayRef<Step> steps) {
  constexpr int64_t stepsAhead = 16;
  for (OpOperand *input : op.getDpsInputOperands()) {
    auto found = tiles.memories.find(input->get());
    if (found == tiles.memories.end() || windows.has(*input) || !found->second.panelElements())
      continue;
    const Memory &memory = found->second;
    int64_t multiplyAdds = llvm::product_of(op.getStaticLoopRanges());
    if (multiplyAdds > maxRowsPerElement * memory.elements())
      continue;
    std::set<LinearExpr> lines;
    for (const Step &step : steps)
      if (auto at = tiles.operandPoint(op, *input, step.domain, step.valid))
        if (auto line = memory.line(tiles.nest, *at))
          lines.insert(*line);
    if (int64_t(steps.size()) < minMultiplyAddsPerLine * int64_t(lines.size()))
      continue;
    for (const LinearExpr &line : lines) {
      memory.prefetch(tiles.nest, line + LinearExpr(stepsAhead * memory.panelWidth()));
      memory.prefetch(tiles.nest, line + LinearExpr(memory.panelElements()), Memory::Cache::second);
    }
  }
}

void Prefetcher::afterSteps(linalg::GenericOp op, const WindowReads &windows,
                            ArrayRef<Step> steps) {
  if (op == tiles.accumulation.op)
    blockSteps(op, windows, steps);
  else
    panels(op, windows, steps);
}

void Prefetcher::once(Value value, const Point &point, Lines &known, Memory::Cache cache) {
  if (auto memory = tiles.memories.find(value); memory != tiles.memories.end()) {
    if (std::optional<LinearExpr> line = memory->second.line(tiles.nest, point))
      if (known.insert({value.getAsOpaquePointer(), *line}).second)
        memory->second.prefetch(tiles.nest, *line, cache);
    return;
  }
  auto op = value.getDefiningOp<linalg::GenericOp>();
  if (!op || op.getNumReductionLoops() > 0 || isAssembly(op))
    return;
  auto domain = tiles.domainOf(cast<OpResult>(value), point);
  for (OpOperand &operand : op->getOpOperands())
    if (domain && isRead(op, operand))
      if (auto at = evaluate(op.getMatchingIndexingMap(&operand), *domain, point.valid))
        once(operand.get(), *at, known, cache);
}

/// The hardware's prefetchers follow neither from row to row nor from page to page.
void Prefetcher::nextRows(linalg::GenericOp op, const Rows &next, ArrayRef<Step> steps) {
  Lines known;
  for (OpOperand *input : op.getDpsInputOperands())
    for (Step step : steps) {
      auto at = tiles.operandPoint(op, *input, step.domain, step.valid);
      step.domain[next.dim] += LinearExpr(next.distance);
      auto ahead = tiles.operandPoint(op, *input, step.domain, step.valid);
      if (at && ahead && *at != *ahead)
        once(input->get(), *ahead, known, Memory::Cache::second);
    }
}
