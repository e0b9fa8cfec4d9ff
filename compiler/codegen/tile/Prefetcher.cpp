// Emits prefetches of streams that are too short, or too many, for the hardware to follow.
#include "compiler/codegen/tile/Prefetcher.h"

#include "compiler/codegen/tile/TileEmitter.h"

using namespace mlir;
using namespace gradc::tile;

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

/// Weights that are read once for few rows arrive from memory while what comes before them is
/// multiplied: the hardware's prefetchers follow neither from page to page nor far enough ahead.
void Prefetcher::panels(linalg::GenericOp op, const WindowReads &windows, ArrayRef<Step> steps) {
  constexpr int64_t stepsAhead = 16; // of f32; as many bytes of other elements
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
    int64_t bytes = stepsAhead * memory.panelWidth() * int64_t(sizeof(float));
    int64_t ahead = bytes / tiles.nest.level.lineBytes * memory.elementsPerLine(tiles.nest);
    for (const LinearExpr &line : lines)
      memory.prefetch(tiles.nest, line + LinearExpr(ahead));
    for (const LinearExpr &line : linesToCome(op, *input, memory, steps, lines))
      memory.prefetch(tiles.nest, line, Memory::Cache::second);
  }
}

/// Lines of the next panel; or of this one, if the next one would be gone from the cache before it
/// is multiplied.
std::set<LinearExpr> Prefetcher::linesToCome(linalg::GenericOp op, OpOperand &factor,
                                             const Memory &memory, ArrayRef<Step> steps,
                                             const std::set<LinearExpr> &lines) {
  constexpr int64_t stepsAhead = 1024;
  int64_t bytes =
      memory.panelElements() * tiles.nest.level.lineBytes / memory.elementsPerLine(tiles.nest);
  bool isLong = bytes > tiles.nest.level.l2Bytes / 2;
  if (auto line = isLong ? std::nullopt : lineOfShare(op, factor, memory, steps, lines.size()))
    return {*line + LinearExpr(panelsInTurn * memory.panelElements())};
  std::set<LinearExpr> later;
  for (const LinearExpr &line : lines)
    later.insert(line +
                 LinearExpr(isLong ? stepsAhead * memory.panelWidth() : memory.panelElements()));
  return later;
}

/// Where all tiles of rows read the same panels before the next ones, each prefetches an equal
/// share of those, so that memory is busy all the time: the line of this panel that falls to these
/// steps, or nothing if a step has to prefetch several lines.
std::optional<LinearExpr> Prefetcher::lineOfShare(linalg::GenericOp op, OpOperand &factor,
                                                  const Memory &memory, ArrayRef<Step> steps,
                                                  int64_t linesPerStep) {
  LoopNest &nest = tiles.nest;
  int64_t elements = memory.elementsPerLine(nest);
  AffineMap result = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  if (!panelsInTurn || op.getNumLoops() != 3 || result.getNumResults() != 2 ||
      !result.isProjectedPermutation() || linesPerStep * elements != memory.panelWidth())
    return std::nullopt;
  unsigned sum = reducedDims(op).back(), row = result.getDimPosition(0);
  if (op.getMatchingIndexingMap(&factor).isFunctionOfDim(row))
    return std::nullopt;
  std::set<LinearExpr> rows;
  for (const Step &step : steps)
    rows.insert(step.domain[row]);
  int64_t height = int64_t(rows.size()), all = op.getStaticLoopRanges()[row];
  if (all < linesPerStep * height)
    return std::nullopt;
  SmallVector<LinearExpr> start = steps[0].domain;
  start[sum] = LinearExpr(0);
  auto at = tiles.operandPoint(op, factor, start, steps[0].valid);
  auto first = at ? memory.line(nest, *at) : std::nullopt;
  if (!first)
    return std::nullopt;
  // This step's number among those of all tiles, of which there are all / height for each line.
  Value extent = nest.extent(all, tiles.perRow(op, row));
  LinearExpr number = *rows.begin() * op.getStaticLoopRanges()[sum] + steps[0].domain[sum] * height;
  Value line = arith::DivUIOp::create(nest.builder, nest.location,
                                      nest.index(number * linesPerStep), extent);
  return *first + nest.variable(line) * elements;
}

/// The rows of a factor that the next tile reads, a line per step: hardware follows a row only
/// after some lines. Of long rows, that is too late only if no cache holds the factor.
void Prefetcher::rowsOfNextTile(linalg::GenericOp op, const WindowReads &windows,
                                ArrayRef<Step> steps) {
  constexpr int64_t page = 4096;
  LoopNest &nest = tiles.nest;
  if (int64_t(steps.size()) < minMultiplyAdds)
    return;
  unsigned sum = reducedDims(op).back();
  for (OpOperand *input : op.getDpsInputOperands()) {
    auto found = tiles.memories.find(input->get());
    AffineMap map = op.getMatchingIndexingMap(input);
    if (found == tiles.memories.end() || windows.has(*input) || found->second.panelElements() ||
        map.getNumResults() < 2 ||
        map.getResults().back() != getAffineDimExpr(sum, op.getContext()))
      continue;
    const Memory &memory = found->second;
    std::set<Point> rows;
    for (const Step &step : steps)
      if (auto at = tiles.operandPoint(op, *input, step.domain, step.valid))
        rows.insert(*at);
    int64_t height = int64_t(rows.size());
    int64_t bytes = memory.elementBytes(), perLine = nest.level.lineBytes / bytes;
    int64_t rowBytes = op.getStaticLoopRanges()[sum] * bytes;
    int64_t cached = rowBytes <= page ? nest.level.l2Bytes : nest.level.sharedCacheBytes();
    if (height < 2 || height > perLine || rows.begin()->hasLanes() ||
        memory.elements() * bytes <= cached)
      continue;
    Point next = *rows.begin();
    LinearExpr &across = next.coordinates[next.coordinates.size() - 2];
    if (rows.rbegin()->coordinates[next.coordinates.size() - 2] != across + LinearExpr(height - 1))
      continue;
    // While steps read a line of each row, each prefetches the next tile's line of one row.
    OpBuilder &b = nest.builder;
    Value step = nest.index(next.coordinates.back());
    Value mask = nest.constant(int64_t(llvm::PowerOf2Ceil(height)) - 1);
    Value row = arith::MinUIOp::create(b, nest.location,
                                       arith::AndIOp::create(b, nest.location, step, mask),
                                       nest.constant(height - 1));
    across += LinearExpr(height) + nest.variable(row);
    if (auto line = memory.offset(nest, next))
      memory.prefetch(nest, *line, Memory::Cache::second);
  }
}

void Prefetcher::afterSteps(linalg::GenericOp op, const WindowReads &windows,
                            ArrayRef<Step> steps) {
  if (tiles.nest.level.isCuda())
    return; // threads hide latencies
  if (op == tiles.accumulation.op)
    return blockSteps(op, windows, steps);
  panels(op, windows, steps);
  rowsOfNextTile(op, windows, steps);
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
