// Zeros come first, then all tiles of the walk for each block. Factors that run across the sum are
// packed block by block.
#include "compiler/codegen/cpu/BlockWalk.h"

#include "compiler/codegen/cpu/SpaceEmitter.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "passes/support/PackedBlocks.h"

using namespace mlir;
using namespace gradc::cpu;
using namespace gradc::tile;

namespace {

class BlockWalk {
public:
  BlockWalk(exec::KernelOp kernel, LoopNest &nest, TileEmitter &tiles, ArrayRef<int64_t> rows,
            ArrayRef<Memory> factors, const Memory &memory, Value scratch)
      : kernel(kernel), nest(nest), tiles(tiles), rows(rows), factors(factors), memory(memory),
        scratch(scratch), schedule(kernel.getScheduleAttr()), result(kernel.getYielded().front()),
        op(result.getDefiningOp<linalg::GenericOp>()) {}

  LogicalResult emit(Value begin, Value end) {
    if (op)
      op.getReductionDims(dims);
    size_t count = schedule.getBlock().size();
    if (!op || kernel.getYielded().size() != 1 || dims.size() < count)
      return kernel.emitOpError("expected one contraction of ")
             << count << " or more reduced dims to walk in blocks";
    packs = gradc::packedBlocks(kernel, nest.level);
    if (packs && !runAcross())
      packs.reset();

    int64_t together = packs ? packs->units : gradc::unitsPerWalk(kernel, nest.level);
    if (!together) {
      walk(begin, end);
      return success();
    }
    OpBuilder &b = nest.builder;
    Value units = nest.constant(together);
    Value walks = arith::SubIOp::create(b, nest.location, end, begin);
    walks = arith::CeilDivSIOp::create(b, nest.location, walks, units);
    nest.again(walks, [&](LinearExpr i) {
      Value from = nest.index(nest.variable(begin) + i * together);
      Value to = arith::AddIOp::create(b, nest.location, from, units);
      walk(from, arith::MinSIOp::create(b, nest.location, to, end));
    });
    return success();
  }

private:
  /// The units [from, to).
  void walk(Value from, Value to) {
    first = from;
    last = to;
    space(op.getDpsInits()[0]);
    loopBlocks();
  }

  void space(Value value) {
    SpaceEmitter emitter(nest, tiles, kernel.getRoot(), rows, schedule.getTile(),
                         schedule.getOrder());
    if (emitter.add(value, memory))
      emitter.emitUnits(first, last);
  }

  /// Loops over the blocks of the summed dims from number `at.size()` on.
  void loopBlocks() {
    size_t depth = at.size();
    if (depth == schedule.getBlock().size())
      return sumBlock();
    OpBuilder &b = nest.builder;
    int64_t size = op.getStaticLoopRanges()[dims[depth]], step = schedule.getBlock()[depth];
    int64_t each = tiles.perRow(op, dims[depth]);
    Value end = nest.extent(size, each), steps = nest.constant(llvm::divideCeil(size, step));
    if (each)
      steps = arith::CeilDivSIOp::create(b, nest.location, end, nest.constant(step));
    nest.again(steps, [&](LinearExpr i) {
      LinearExpr from = i * step, to = from + LinearExpr(step);
      if (size % step != 0 || (each && step > 1))
        to = nest.variable(arith::MinSIOp::create(b, nest.location, nest.index(to), end));
      at.push_back({from, to});
      loopBlocks();
      at.pop_back();
    });
  }

  void sumBlock() {
    int64_t offset = 0;
    for (unsigned factor : {0u, 1u}) {
      if (!packs || !packs->bytes[factor])
        continue;
      pack(factor, offset);
      offset += packs->bytes[factor];
    }
    tiles.accumulate(op, memory, at);
    space(result);
    for (auto [argument, original] : llvm::zip_equal(kernel.getBlock().getArguments(), factors))
      tiles.bind(argument, original);
  }

  /// Whether the op reads the kernel's operands as `packedBlocks` assumes: [sum, row or column].
  bool runAcross() {
    SmallVector<AffineMap> maps = op.getIndexingMapsArray();
    for (unsigned factor : {0u, 1u}) {
      auto along = AffineMap::get(
          3, 0, {getAffineDimExpr(dims[0], op.getContext()), maps[2].getResult(factor)},
          op.getContext());
      if (op.getNumLoops() != 3 || op.getNumDpsInputs() != 2 || maps[factor] != along ||
          op.getDpsInputOperand(factor)->get() != kernel.getBlock().getArgument(factor))
        return false;
    }
    return true;
  }

  /// Copies the steps of the block to scratch, `offset` bytes from its begin, in panels as wide as
  /// the tile: of the units that are walked together, or of the whole other dim.
  void pack(unsigned factor, int64_t offset) {
    OpBuilder &b = nest.builder;
    int64_t width = schedule.getTile()[factor], size = kernel.getRoot().getDimSize(factor);
    bool isOuter = int64_t(factor) == packs->outer;
    LinearExpr begin = isOuter ? nest.variable(first) : LinearExpr(0);
    Value end = isOuter ? last : nest.constant(llvm::divideCeil(size, width));
    Type element = kernel.getRoot().getElementType();
    int64_t steps = schedule.getBlock()[0];
    int64_t columns = packs->bytes[factor] * 8 / element.getIntOrFloatBitWidth() / steps;
    auto type = RankedTensorType::get({steps, columns / width * width}, element);
    auto pointer = LLVM::LLVMPointerType::get(b.getContext());
    Value base = LLVM::GEPOp::create(b, nest.location, pointer, b.getI8Type(), scratch,
                                     ArrayRef<LLVM::GEPArg>{int32_t(offset)});
    Memory packed(base, type, exec::PanelAttr::get(b.getContext(), 1, width),
                  {at[0].first, begin * width});

    // Full panels, then what is left of the last one.
    Value full = nest.constant(size / width);
    Value fullEnd = arith::MinSIOp::create(b, nest.location, end, full);
    nest.loop(nest.index(begin), fullEnd, {}, [&](LinearExpr i, ValueRange) {
      copyPanel(factors[factor], packed, i * width, width);
      return SmallVector<Value>();
    });
    if (size % width != 0)
      nest.when(arith::CmpIOp::create(b, nest.location, arith::CmpIPredicate::sgt, end, full), [&] {
        copyPanel(factors[factor], packed, LinearExpr(size / width * width), size % width);
      });
    tiles.bind(kernel.getBlock().getArgument(factor), packed);
  }

  /// Copies `width` columns of the block's steps.
  void copyPanel(const Memory &from, const Memory &to, const LinearExpr &column, int64_t width) {
    constexpr int64_t stepsAhead = 16;
    auto pointAt = [&](const LinearExpr &step, int64_t lane) {
      Point p;
      p.coordinates = {step, column + LinearExpr(lane)};
      p.coordinates[1].lane = 1;
      p.valid = std::min(nest.lanes, width - lane);
      return p;
    };
    Value begin = nest.index(at[0].first), end = nest.index(at[0].second);
    nest.loop(begin, end, {}, [&](LinearExpr step, ValueRange) {
      for (int64_t lane = 0; lane < width; lane += nest.lanes) {
        Point p = pointAt(step, lane);
        if (auto line = from.line(nest, pointAt(step + LinearExpr(stepsAhead), lane)))
          from.prefetch(nest, *line);
        to.store(nest, p, from.load(nest, p));
      }
      return SmallVector<Value>();
    });
  }

  exec::KernelOp kernel;
  LoopNest &nest;
  TileEmitter &tiles;
  ArrayRef<int64_t> rows;
  ArrayRef<Memory> factors;
  const Memory &memory;
  Value scratch;
  exec::ScheduleAttr schedule;
  Value result;
  linalg::GenericOp op;
  SmallVector<unsigned> dims; ///< reduced
  std::optional<gradc::PackedBlocks> packs;
  Value first, last;                                 ///< the units that are walked together
  SmallVector<std::pair<LinearExpr, LinearExpr>> at; ///< the current block
};

} // namespace

LogicalResult gradc::cpu::emitBlockWalk(exec::KernelOp kernel, LoopNest &nest, TileEmitter &tiles,
                                        ArrayRef<int64_t> rows, ArrayRef<Memory> factors,
                                        const Memory &result, Value begin, Value end,
                                        Value scratch) {
  return BlockWalk(kernel, nest, tiles, rows, factors, result, scratch).emit(begin, end);
}
