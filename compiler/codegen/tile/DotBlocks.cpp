// Sums of bf16 products in blocks of 16 rows by 16 columns of the result, by AMX, two by two.
#include "compiler/codegen/tile/TileEmitter.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace gradc::tile;

/// A register tile of a sum, as blocks. Points are numbered as in the tile.
struct DotProducts::Blocks {
  struct Rows {
    size_t first;   ///< a point of the first row
    int64_t count;  ///< up to 16
    int64_t stride; ///< elements of the lhs between rows
  };
  SmallVector<Rows> rows;
  SmallVector<size_t> columns;                  ///< a point of each block of columns
  SmallVector<std::pair<size_t, size_t>> place; ///< row and block of columns of each point
  int64_t pairStride;                           ///< elements of the rhs between pairs
};

void DotProducts::takeTileRegisters() { amx.emplace(tiles.nest, tiles.module); }

void DotProducts::releaseTileRegisters() {
  if (amx)
    amx->release();
}

/// b - a, if it is the same for all values of the variables.
static std::optional<int64_t> distance(const LinearExpr &a, const LinearExpr &b) {
  LinearExpr difference = b + a * -1;
  return difference.isConstant() ? std::optional(difference.constant) : std::nullopt;
}

/// The number of `key` in `all`, to which it is appended if it is new.
static size_t numberOf(SmallVectorImpl<LinearExpr> &all, const LinearExpr &key) {
  auto *found = llvm::find(all, key);
  size_t number = found - all.begin();
  if (found == all.end())
    all.push_back(key);
  return number;
}

/// The place of a factor's element, or pairs, at a step of the sum.
LinearExpr DotProducts::factorAt(Sum &sum, unsigned factor, size_t point, const LinearExpr &step) {
  LoopNest &nest = tiles.nest;
  OpOperand &operand = sum.op->getOpOperand(factor);
  const Memory &memory = tiles.memories.find(operand.get())->second;
  SmallVector<LinearExpr> domain = sum.domains[point];
  domain[sum.dim] = step;
  Point at =
      *tiles.operandPoint(sum.op, operand, domain, factor == 0 ? 0 : sum.points[point].valid);
  return factor == 0 ? *memory.offset(nest, at) : memory.wordsOffset(nest, at)->inLane(0);
}

std::optional<DotProducts::Blocks> DotProducts::findBlocks(Sum &sum) {
  LoopNest &nest = tiles.nest;
  LinearExpr begin = tiles.firstStep(sum.op, sum.dim);
  bool areStored =
      llvm::all_of(sum.op.getDpsInputs(), [&](Value v) { return tiles.memories.contains(v); });
  if (!amx || !areStored || nest.lanes != Amx::lanes || begin.stride() % Amx::steps != 0 ||
      begin.constant % Amx::steps != 0)
    return std::nullopt;

  // 1. The rows and the columns of the tile.
  Blocks blocks;
  SmallVector<LinearExpr> rowOffsets, columnOffsets;
  SmallVector<size_t> rows; // a point of each
  for (size_t i = 0; i < sum.points.size(); ++i) {
    auto place = std::pair(numberOf(rowOffsets, factorAt(sum, 0, i, 0)),
                           numberOf(columnOffsets, factorAt(sum, 1, i, 0)));
    blocks.place.push_back(place);
    if (place.first == rows.size())
      rows.push_back(i);
    if (place.second == blocks.columns.size())
      blocks.columns.push_back(i);
  }

  // 2. Steps are adjacent in a row, and pairs evenly spaced.
  auto pairStride = distance(columnOffsets[0], factorAt(sum, 1, 0, 2));
  auto rowLength = distance(rowOffsets[0], factorAt(sum, 0, 0, Amx::steps - 1));
  if (!pairStride || rowLength != Amx::steps - 1)
    return std::nullopt;
  blocks.pairStride = *pairStride;

  // 3. Rows are evenly spaced in each block.
  for (size_t first = 0; first < rows.size(); first += Amx::rows) {
    int64_t count = std::min<int64_t>(Amx::rows, rows.size() - first);
    Blocks::Rows block{rows[first], count, 0};
    for (int64_t r = 1; r < count; ++r) {
      auto stride = distance(rowOffsets[first + r - 1], rowOffsets[first + r]);
      if (!stride || (r > 1 && *stride != block.stride))
        return std::nullopt;
      block.stride = *stride;
    }
    blocks.rows.push_back(block);
  }
  bool fits = blocks.rows.size() <= Amx::together && blocks.columns.size() <= Amx::together;
  return fits ? std::optional(blocks) : std::nullopt;
}

/// Adds the products of one block of steps, at `step`, or of its first `rest` steps.
void DotProducts::multiplyStep(Sum &sum, const Blocks &blocks, const LinearExpr &step, Value rest) {
  auto load = [&](int64_t tile, unsigned factor, size_t point, int64_t count, int64_t stride) {
    const Memory &memory = tiles.memories.find(sum.op->getOperand(factor))->second;
    LinearExpr at = factorAt(sum, factor, point, step);
    if (!rest)
      return amx->load(tile, memory.address(tiles.nest, at), 2 * stride);
    amx->loadRest(tile, memory, at, rest, count, stride);
  };
  // Each factor is loaded as late as possible, since loads take longer than products.
  for (auto [r, block] : llvm::enumerate(blocks.rows)) {
    load(Amx::lhs + r, 0, block.first, block.count, block.stride);
    for (auto [c, point] : llvm::enumerate(blocks.columns)) {
      if (r == 0)
        load(Amx::rhs + c, 1, point, Amx::rows, blocks.pairStride);
      amx->multiply(r * Amx::together + c, Amx::lhs + r, Amx::rhs + c);
    }
  }
}

/// Adds the products of all steps along the dim of pairs.
void DotProducts::multiplySteps(Sum &sum, const Blocks &blocks) {
  LoopNest &nest = tiles.nest;
  OpBuilder &b = nest.builder;
  Location loc = nest.location;
  Value steps = nest.constant(Amx::steps), end = tiles.lastStep(sum.op, sum.dim);
  Value from = arith::DivUIOp::create(b, loc, nest.index(tiles.firstStep(sum.op, sum.dim)), steps);
  Value to = arith::DivUIOp::create(b, loc, end, steps);
  nest.loop(from, to, {}, [&](LinearExpr i, ValueRange) {
    multiplyStep(sum, blocks, i * Amx::steps, nullptr);
    return SmallVector<Value>();
  });
  if (!tiles.perRow(sum.op, sum.dim) && sum.op.getStaticLoopRanges()[sum.dim] % Amx::steps == 0)
    return;
  Value rest = arith::RemUIOp::create(b, loc, end, steps);
  Value remains = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, rest, nest.constant(0));
  nest.when(remains, [&] { multiplyStep(sum, blocks, nest.variable(to) * Amx::steps, rest); });
}

bool DotProducts::sumBlocks(Sum &sum, OpResult result) {
  LoopNest &nest = tiles.nest;
  std::optional<Blocks> blocks = findBlocks(sum);
  if (!blocks)
    return false;
  auto rowsAt = [&](size_t r) {
    return r < blocks->rows.size() ? blocks->rows[r].count : Amx::rows;
  };
  auto forResults = [&](llvm::function_ref<void(int64_t tile)> visit) {
    for (size_t r = 0; r < blocks->rows.size(); ++r)
      for (size_t c = 0; c < blocks->columns.size(); ++c)
        visit(int64_t(r * Amx::together + c));
  };
  auto loops = [&](auto &&self, size_t depth) -> void {
    if (depth == sum.outer.size())
      return multiplySteps(sum, *blocks);
    unsigned dim = sum.outer[depth];
    Value from = nest.index(tiles.firstStep(sum.op, dim)), to = tiles.lastStep(sum.op, dim);
    nest.loop(from, to, {}, [&](LinearExpr i, ValueRange) {
      for (auto &domain : sum.domains)
        domain[dim] = i;
      self(self, depth + 1);
      return SmallVector<Value>();
    });
  };

  bool areFull = rowsAt(0) == Amx::rows && rowsAt(1) == Amx::rows;
  if (!areFull)
    amx->configure(rowsAt(0), rowsAt(1));
  forResults([&](int64_t tile) { amx->zero(tile); });
  loops(loops, 0);
  forResults([&](int64_t tile) { amx->store(tile); });
  if (!areFull)
    amx->configure(Amx::rows, Amx::rows);

  summed.clear();
  for (auto [place, point] : llvm::zip(blocks->place, sum.points))
    summed[{result.getAsOpaquePointer(), point}] = {
        place.first / Amx::rows * Amx::together + place.second, place.first % Amx::rows};
  return true;
}

bool DotProducts::load(Value value, const Point &point) {
  LoopNest &nest = tiles.nest;
  auto found = summed.find({value.getAsOpaquePointer(), point});
  if (found == summed.end())
    return false;
  auto [tile, row] = found->second;
  Value sum =
      LLVM::LoadOp::create(nest.builder, nest.location, nest.vectorOf(nest.builder.getF32Type()),
                           amx->address(tile, row), unsigned(Amx::rowBytes));
  auto op = value.getDefiningOp<linalg::GenericOp>();
  auto fill = op.getDpsInits()[0].getDefiningOp<linalg::FillOp>();
  bool startsAtZero =
      op != tiles.accumulation.op && fill && matchPattern(fill.getInputs()[0], m_AnyZeroFloat());
  if (!startsAtZero)
    sum = arith::AddFOp::create(nest.builder, nest.location, tiles.initial(op, 0, point), sum);
  nest.known(value, point) = sum;
  return true;
}
