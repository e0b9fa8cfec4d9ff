// Sums of bf16 products by AMX: tile registers hold blocks of 16 rows by 16 columns of the result,
// two by two. One instruction multiplies 16 rows by 32 steps of the lhs with 32 steps, in pairs, by
// 16 columns of the rhs. The last steps of a sum are copied, with zeros behind them.
#include "compiler/codegen/tile/TileEmitter.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace gradc::tile;

namespace {
constexpr int64_t blockRows = 16, blockLanes = 16, blockSteps = 32;
constexpr int64_t rowBytes = 64, blockBytes = blockRows * rowBytes;

/// The tile registers: results of two blocks of rows by two of columns, then the blocks of the lhs,
/// then those of the rhs.
constexpr size_t together = 2;
constexpr int64_t lhsRegister = together * together, rhsRegister = lhsRegister + together;
constexpr int64_t registers = rhsRegister + together;

/// Emits the instructions.
struct Amx {
  LoopNest &nest;

  void emit(const Twine &name, ValueRange operands) {
    auto symbol = nest.builder.getStringAttr("llvm.x86." + name);
    LLVM::CallIntrinsicOp::create(nest.builder, nest.location, symbol, operands);
  }
  Value number(int64_t tile) {
    return arith::ConstantIntOp::create(nest.builder, nest.location, tile, 8);
  }
  void zero(int64_t tile) { emit("tilezero", number(tile)); }
  void load(int64_t tile, Value address, int64_t stride) {
    emit("tileloadd64", {number(tile), address, nest.constant(stride)});
  }
  void store(int64_t tile, Value address) {
    emit("tilestored64", {number(tile), address, nest.constant(rowBytes)});
  }
  void multiply(int64_t result, int64_t lhs, int64_t rhs) {
    emit("tdpbf16ps", {number(result), number(lhs), number(rhs)});
  }
};
} // namespace

/// A register tile of a sum, as blocks. Points are numbered as in the tile.
struct TileEmitter::Blocks {
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

void TileEmitter::beginBlocks() {
  auto pointer = LLVM::LLVMPointerType::get(nest.builder.getContext());
  blockMemory =
      LLVM::AllocaOp::create(nest.builder, nest.location, pointer, nest.builder.getI8Type(),
                             nest.constant(registers * blockBytes), /*alignment=*/rowBytes);
  configureBlocks(blockRows, blockRows);
}

void TileEmitter::endBlocks() {
  if (blockMemory)
    Amx{nest}.emit("tilerelease", {});
}

/// Sets the numbers of rows of the two blocks of rows.
void TileEmitter::configureBlocks(int64_t first, int64_t second) {
  std::string name = llvm::formatv("amx.{0}.{1}", first, second);
  if (!module.lookupSymbol(name)) {
    std::array<char, 64> bytes{1}; // the palette
    for (int64_t tile = 0; tile < registers; ++tile) {
      int64_t block = tile < lhsRegister ? tile / together : tile - lhsRegister;
      bytes[size_t(16 + 2 * tile)] = char(rowBytes);
      bytes[size_t(48 + tile)] = char(block == 0 ? first : block == 1 ? second : blockRows);
    }
    OpBuilder atModule = OpBuilder::atBlockBegin(module.getBody());
    auto type = LLVM::LLVMArrayType::get(atModule.getI8Type(), bytes.size());
    LLVM::GlobalOp::create(atModule, nest.location, type, /*isConstant=*/true,
                           LLVM::Linkage::Internal, name,
                           atModule.getStringAttr(StringRef(bytes.data(), bytes.size())),
                           /*alignment=*/rowBytes);
  }
  auto pointer = LLVM::LLVMPointerType::get(nest.builder.getContext());
  Value shapes = LLVM::AddressOfOp::create(nest.builder, nest.location, pointer, name);
  Amx{nest}.emit("ldtilecfg", shapes);
}

/// b - a, if it is the same for all values of the variables.
static std::optional<int64_t> distance(const std::optional<LinearExpr> &a,
                                       const std::optional<LinearExpr> &b) {
  if (!a || !b)
    return std::nullopt;
  LinearExpr difference = *b + *a * -1;
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
LinearExpr TileEmitter::factorAt(DotSum &sum, unsigned factor, size_t point,
                                 const LinearExpr &step) {
  OpOperand &operand = sum.op->getOpOperand(factor);
  const Memory &memory = memories.find(operand.get())->second;
  SmallVector<LinearExpr> domain = sum.domains[point];
  domain[sum.dim] = step;
  Point at = *operandPoint(sum.op, operand, domain, factor == 0 ? 0 : sum.points[point].valid);
  return factor == 0 ? *memory.offset(nest, at) : memory.pairsOffset(nest, at)->inLane(0);
}

std::optional<TileEmitter::Blocks> TileEmitter::findBlocks(DotSum &sum) {
  LinearExpr begin = firstStep(sum.op, sum.dim);
  if (!blockMemory || nest.lanes != blockLanes || begin.stride() % blockSteps != 0 ||
      begin.constant % blockSteps != 0)
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
  auto rowLength = distance(rowOffsets[0], factorAt(sum, 0, 0, blockSteps - 1));
  if (!pairStride || rowLength != blockSteps - 1)
    return std::nullopt;
  blocks.pairStride = *pairStride;

  // 3. Rows are evenly spaced in each block.
  for (size_t first = 0; first < rows.size(); first += blockRows) {
    int64_t count = std::min<int64_t>(blockRows, rows.size() - first);
    Blocks::Rows block{rows[first], count, 0};
    for (int64_t r = 1; r < count; ++r) {
      auto stride = distance(rowOffsets[first + r - 1], rowOffsets[first + r]);
      if (!stride || (r > 1 && *stride != block.stride))
        return std::nullopt;
      block.stride = *stride;
    }
    blocks.rows.push_back(block);
  }
  bool fits = blocks.rows.size() <= together && blocks.columns.size() <= together;
  return fits ? std::optional(blocks) : std::nullopt;
}

/// The address of a row of a register's place in memory.
Value TileEmitter::blockAddress(int64_t tile, const LinearExpr &row) {
  auto pointer = LLVM::LLVMPointerType::get(nest.builder.getContext());
  LinearExpr offset = LinearExpr(tile * blockBytes) + row * rowBytes;
  LLVM::GEPArg index = offset.isConstant() ? LLVM::GEPArg(int32_t(offset.constant))
                                           : LLVM::GEPArg(nest.index(offset));
  return LLVM::GEPOp::create(nest.builder, nest.location, pointer, nest.builder.getI8Type(),
                             blockMemory, index);
}

/// Copies `rest` steps of a block, fewer than it has, from `at` on: `rows` rows, or pairs.
void TileEmitter::copyRest(int64_t tile, const Memory &memory, const LinearExpr &at, Value rest,
                           int64_t rows, int64_t stride) {
  OpBuilder &b = nest.builder;
  Location loc = nest.location;
  bool arePairs = tile >= rhsRegister;
  auto type = VectorType::get({rowBytes / 2}, b.getI16Type());
  Value zeros = arith::ConstantOp::create(b, loc, b.getZeroAttr(Type(type)));
  auto each = [&](Value from, Value to, llvm::function_ref<Value(const LinearExpr &)> row) {
    nest.loop(from, to, {}, [&](LinearExpr i, ValueRange) {
      LLVM::StoreOp::create(b, loc, row(i), blockAddress(tile, i), unsigned(rowBytes));
      return SmallVector<Value>();
    });
  };
  if (arePairs) { // of an odd number of steps, the last pair has one
    auto words = VectorType::get({blockLanes}, b.getI32Type());
    Value one = nest.constant(1), two = nest.constant(2);
    Value pairs = arith::DivUIOp::create(b, loc, arith::AddIOp::create(b, loc, rest, one), two);
    each(nest.constant(0), pairs, [&](const LinearExpr &i) -> Value {
      Value hasBoth = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt,
                                            nest.index(i * 2 + LinearExpr(1)), rest);
      Value kept =
          arith::SelectOp::create(b, loc, hasBoth, arith::ConstantIntOp::create(b, loc, -1, 32),
                                  arith::ConstantIntOp::create(b, loc, 0xffff, 32));
      Value both = LLVM::LoadOp::create(b, loc, words, memory.address(nest, at + i * stride), 2);
      return arith::AndIOp::create(b, loc, both, nest.splat(kept));
    });
    each(pairs, nest.constant(blockRows), [&](const LinearExpr &) { return zeros; });
    return;
  }
  auto numbers = VectorType::get({blockSteps}, b.getI64Type());
  auto steps = llvm::to_vector(llvm::seq<int64_t>(0, blockSteps));
  Value mask = arith::CmpIOp::create(
      b, loc, arith::CmpIPredicate::slt,
      arith::ConstantOp::create(b, loc, DenseElementsAttr::get(numbers, ArrayRef(steps))),
      vector::BroadcastOp::create(b, loc, numbers, rest));
  each(nest.constant(0), nest.constant(rows), [&](const LinearExpr &i) {
    return LLVM::MaskedLoadOp::create(b, loc, type, memory.address(nest, at + i * stride), mask,
                                      zeros, /*alignment=*/2);
  });
}

/// Adds the products of one block of steps, at `step`, or of its first `rest` steps.
void TileEmitter::multiplyStep(DotSum &sum, const Blocks &blocks, const LinearExpr &step,
                               Value rest) {
  Amx amx{nest};
  auto load = [&](int64_t tile, unsigned factor, size_t point, int64_t count, int64_t stride) {
    const Memory &memory = memories.find(sum.op->getOperand(factor))->second;
    LinearExpr at = factorAt(sum, factor, point, step);
    if (!rest)
      return amx.load(tile, memory.address(nest, at), 2 * stride);
    copyRest(tile, memory, at, rest, count, stride);
    amx.load(tile, blockAddress(tile, 0), rowBytes);
  };
  // Each factor is loaded as late as possible, since loads take longer than products.
  for (auto [r, block] : llvm::enumerate(blocks.rows)) {
    load(lhsRegister + r, 0, block.first, block.count, block.stride);
    for (auto [c, point] : llvm::enumerate(blocks.columns)) {
      if (r == 0)
        load(rhsRegister + c, 1, point, blockRows, blocks.pairStride);
      amx.multiply(r * together + c, lhsRegister + r, rhsRegister + c);
    }
  }
}

/// Adds the products of all steps along the dim of pairs.
void TileEmitter::multiplySteps(DotSum &sum, const Blocks &blocks) {
  OpBuilder &b = nest.builder;
  Location loc = nest.location;
  Value steps = nest.constant(blockSteps), end = lastStep(sum.op, sum.dim);
  Value from = arith::DivUIOp::create(b, loc, nest.index(firstStep(sum.op, sum.dim)), steps);
  Value to = arith::DivUIOp::create(b, loc, end, steps);
  nest.loop(from, to, {}, [&](LinearExpr i, ValueRange) {
    multiplyStep(sum, blocks, i * blockSteps, nullptr);
    return SmallVector<Value>();
  });
  if (!perRow(sum.op, sum.dim) && sum.op.getStaticLoopRanges()[sum.dim] % blockSteps == 0)
    return;
  Value rest = arith::RemUIOp::create(b, loc, end, steps);
  Value remains = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, rest, nest.constant(0));
  nest.when(remains, [&] { multiplyStep(sum, blocks, nest.variable(to) * blockSteps, rest); });
}

bool TileEmitter::sumBlocks(DotSum &sum, OpResult result) {
  std::optional<Blocks> blocks = findBlocks(sum);
  if (!blocks)
    return false;
  auto rowsAt = [&](size_t r) {
    return r < blocks->rows.size() ? blocks->rows[r].count : blockRows;
  };
  auto forResults = [&](llvm::function_ref<void(int64_t tile)> visit) {
    for (size_t r = 0; r < blocks->rows.size(); ++r)
      for (size_t c = 0; c < blocks->columns.size(); ++c)
        visit(int64_t(r * together + c));
  };
  auto loops = [&](auto &&self, size_t depth) -> void {
    if (depth == sum.outer.size())
      return multiplySteps(sum, *blocks);
    unsigned dim = sum.outer[depth];
    Value from = nest.index(firstStep(sum.op, dim)), to = lastStep(sum.op, dim);
    nest.loop(from, to, {}, [&](LinearExpr i, ValueRange) {
      for (auto &domain : sum.domains)
        domain[dim] = i;
      self(self, depth + 1);
      return SmallVector<Value>();
    });
  };

  bool areFull = rowsAt(0) == blockRows && rowsAt(1) == blockRows;
  if (!areFull)
    configureBlocks(rowsAt(0), rowsAt(1));
  Amx amx{nest};
  forResults([&](int64_t tile) { amx.zero(tile); });
  loops(loops, 0);
  forResults([&](int64_t tile) { amx.store(tile, blockAddress(tile, 0)); });
  if (!areFull)
    configureBlocks(blockRows, blockRows);

  summed.clear();
  for (auto [place, point] : llvm::zip(blocks->place, sum.points))
    summed[{result.getAsOpaquePointer(), point}] = {
        place.first / blockRows * together + place.second, place.first % blockRows};
  return true;
}

bool TileEmitter::loadSummed(Value value, const Point &point) {
  auto found = summed.find({value.getAsOpaquePointer(), point});
  if (found == summed.end())
    return false;
  auto [tile, row] = found->second;
  Value sum =
      LLVM::LoadOp::create(nest.builder, nest.location, nest.vectorOf(nest.builder.getF32Type()),
                           blockAddress(tile, row), unsigned(rowBytes));
  auto op = value.getDefiningOp<linalg::GenericOp>();
  auto fill = op.getDpsInits()[0].getDefiningOp<linalg::FillOp>();
  bool startsAtZero =
      op != accumulation.op && fill && matchPattern(fill.getInputs()[0], m_AnyZeroFloat());
  if (!startsAtZero)
    sum = arith::AddFOp::create(nest.builder, nest.location, initial(op, 0, point), sum);
  nest.known(value, point) = sum;
  return true;
}
