// Emits a CPU kernel as one function: its slices, its form, and the loops over its root.
#include "compiler/codegen/cpu/Kernel.h"

#include "compiler/codegen/cpu/Attention.h"
#include "compiler/codegen/cpu/Patch.h"
#include "compiler/codegen/cpu/SpaceEmitter.h"
#include "compiler/codegen/cpu/Winograd.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace gradc::cpu;
using namespace gradc::tile;

namespace {

/// The number of elements per row of the run along each dim of the root; 0 for a dim whose size is
/// fixed.
SmallVector<int64_t> rootRows(exec::KernelOp kernel) {
  SmallVector<int64_t> rows(kernel.getRoot().getRank(), 0);
  if (kernel.getRows())
    llvm::copy(*kernel.getRows(), rows.begin());
  return rows;
}

/// Tells the nest and the tiles which sizes depend on `rows`, the rows of the run; returns
/// `rootRows`.
FailureOr<SmallVector<int64_t>> takeRows(exec::KernelOp kernel, LoopNest &nest, TileEmitter &tiles,
                                         Value rows) {
  if (kernel.getRows()) {
    FailureOr<gradc::ExtentAnalysis> extents = gradc::analyzeKernel(kernel);
    if (failed(extents))
      return failure();
    nest.rows = rows;
    tiles.setExtents(std::move(*extents));
  }
  return rootRows(kernel);
}

/// The units of a product in blocks whose results stay in cache from block to block; 0: all units
/// take a block together, since more tiles than those of a unit read the same operands.
int64_t unitsPerWalk(exec::KernelOp kernel, const exec::Level &level) {
  exec::ScheduleAttr schedule = kernel.getScheduleAttr();
  RankedTensorType root = kernel.getRoot();
  if (root.getRank() != 2)
    return 0;
  int64_t outer = schedule.getOrder().front(), rows = schedule.getTile()[outer];
  int64_t bytes = rows * root.getDimSize(1 - outer) * (root.getElementTypeBitWidth() / 8);
  return std::max<int64_t>(level.cachedBytes() * 2 / 5 / bytes, 1);
}

/// Emits the units [begin, end) of a contraction in blocks of its first reduced dims: zeros first,
/// then all tiles for each block.
LogicalResult emitBlocks(exec::KernelOp kernel, LoopNest &nest, TileEmitter &tiles,
                         const Memory &memory, Value begin, Value end) {
  exec::ScheduleAttr schedule = kernel.getScheduleAttr();
  ArrayRef<int64_t> block = schedule.getBlock();
  Value result = kernel.getYielded().front();
  auto op = result.getDefiningOp<linalg::GenericOp>();
  SmallVector<unsigned> dims;
  if (op)
    op.getReductionDims(dims);
  if (!op || kernel.getYielded().size() != 1 || dims.size() < block.size())
    return kernel.emitOpError("expected one contraction of ")
           << block.size() << " or more reduced dims to walk in blocks";

  SmallVector<int64_t> rows = rootRows(kernel);
  auto space = [&](Value value) {
    SpaceEmitter emitter(nest, tiles, kernel.getRoot(), rows, schedule.getTile(),
                         schedule.getOrder());
    if (emitter.add(value, memory))
      emitter.emitUnits(begin, end);
  };
  space(op.getDpsInits()[0]);
  auto ranges = op.getStaticLoopRanges();
  SmallVector<std::pair<LinearExpr, LinearExpr>> at;
  auto loops = [&](auto &&self) -> void {
    if (at.size() == block.size()) {
      tiles.accumulate(op, memory, at);
      return space(result);
    }
    int64_t size = ranges[dims[at.size()]], step = block[at.size()];
    int64_t each = tiles.perRow(op, dims[at.size()]);
    Value end = nest.extent(size, each), steps = nest.constant(llvm::divideCeil(size, step));
    if (each)
      steps = arith::CeilDivSIOp::create(nest.builder, nest.location, end, nest.constant(step));
    nest.again(steps, [&](LinearExpr i) {
      LinearExpr from = i * step, to = from + LinearExpr(step);
      if (size % step != 0 || (each && step > 1))
        to =
            nest.variable(arith::MinSIOp::create(nest.builder, nest.location, nest.index(to), end));
      at.push_back({from, to});
      self(self);
      at.pop_back();
    });
  };
  loops(loops);
  return success();
}

/// Emits such a contraction, as many units at a time as keep their results in cache.
LogicalResult emitWalks(exec::KernelOp kernel, LoopNest &nest, TileEmitter &tiles,
                        const Memory &memory, Value begin, Value end) {
  int64_t together = unitsPerWalk(kernel, nest.level);
  if (!together)
    return emitBlocks(kernel, nest, tiles, memory, begin, end);
  OpBuilder &b = nest.builder;
  Value units = nest.constant(together);
  Value count = arith::SubIOp::create(b, nest.location, end, begin);
  count = arith::CeilDivSIOp::create(b, nest.location, count, units);
  LogicalResult emitted = success();
  nest.again(count, [&](LinearExpr i) {
    Value from = nest.index(nest.variable(begin) + i * together);
    Value to = arith::AddIOp::create(b, nest.location, from, units);
    to = arith::MinSIOp::create(b, nest.location, to, end);
    emitted = emitBlocks(kernel, nest, tiles, memory, from, to);
  });
  return emitted;
}

/// Lets the first unit compute the results that have their own loops.
void emitApart(LoopNest &nest, TileEmitter &tiles, ArrayRef<std::pair<Value, Memory>> apart,
               Value begin, Value end) {
  auto compare = [&](arith::CmpIPredicate how, Value x, Value y) {
    return arith::CmpIOp::create(nest.builder, nest.location, how, x, y).getResult();
  };
  Value first = arith::AndIOp::create(nest.builder, nest.location,
                                      compare(arith::CmpIPredicate::eq, begin, nest.constant(0)),
                                      compare(arith::CmpIPredicate::slt, begin, end));
  nest.when(first, [&] {
    for (auto &[result, memory] : apart) {
      auto space = cast<RankedTensorType>(result.getType());
      SmallVector<int64_t> tile(space.getRank(), 1);
      if (!tile.empty())
        tile.back() = nest.lanes;
      auto order = llvm::to_vector(llvm::seq<int64_t>(0, space.getRank()));
      SmallVector<int64_t> rows;
      for (int64_t d : order)
        rows.push_back(tiles.perRow(result, d));
      SpaceEmitter own(nest, tiles, space, rows, tile, order);
      own.add(result, memory);
      own.emit();
    }
  });
}

/// Emits the loops over the root, and those of results that are not stored along its outermost
/// ones.
void emitSpace(exec::KernelOp kernel, LoopNest &nest, TileEmitter &tiles, ArrayRef<int64_t> rows,
               ArrayRef<Memory> results, Value begin, Value end) {
  exec::ScheduleAttr schedule = kernel.getScheduleAttr();
  SpaceEmitter root(nest, tiles, kernel.getRoot(), rows, schedule.getTile(), schedule.getOrder());
  SmallVector<std::pair<Value, Memory>> apart;
  for (auto [result, memory] : llvm::zip_equal(kernel.getYielded(), results))
    if (!root.add(result, memory))
      apart.push_back({result, memory});
  root.emitUnits(begin, end);
  if (!apart.empty())
    emitApart(nest, tiles, apart, begin, end);
}

/// Whether the kernel reads pairs, whose products are summed in AMX's tile registers.
bool usesBlocks(exec::KernelOp kernel, const exec::Level &level) {
  return level.amxRows && llvm::any_of(kernel.getBlock().getArguments(), [&](BlockArgument x) {
           exec::PanelAttr layout = kernel.getLayout(x.getArgNumber());
           return layout && layout.isOfPairs();
         });
}

} // namespace

LogicalResult gradc::cpu::emitKernel(exec::KernelOp kernel, const exec::Level &level,
                                     ModuleOp module, StringRef symbol) {
  exec::ScheduleAttr schedule = kernel.getScheduleAttr();
  if (!schedule)
    return kernel.emitOpError("expected a schedule");
  Location location = kernel.getLoc();
  OpBuilder b = OpBuilder::atBlockEnd(module.getBody());
  auto pointer = LLVM::LLVMPointerType::get(b.getContext());
  auto type = LLVM::LLVMFunctionType::get(
      LLVM::LLVMVoidType::get(b.getContext()),
      {pointer, b.getI64Type(), b.getI64Type(), b.getI64Type(), pointer});
  auto function = LLVM::LLVMFuncOp::create(b, location, symbol, type);
  Block *entry = function.addEntryBlock(b);
  b.setInsertionPointToStart(entry);
  Value begin = entry->getArgument(1), end = entry->getArgument(2);
  Value scratch = entry->getArgument(4);

  auto base = [&](unsigned i) -> Value {
    Value slot = LLVM::GEPOp::create(b, location, pointer, pointer, entry->getArgument(0),
                                     ArrayRef<LLVM::GEPArg>{int32_t(i)});
    return LLVM::LoadOp::create(b, location, pointer, slot, 8, false, false, /*isInvariant=*/true);
  };
  auto slice = [&](unsigned i, Value tensor) {
    return Memory(base(i), cast<RankedTensorType>(tensor.getType()), kernel.getLayout(i));
  };
  LoopNest nest(b, location, level, schedule.getLanes());
  if (schedule.isAttention()) {
    SmallVector<Memory> slices;
    for (Value v : llvm::concat<Value>(llvm::to_vector_of<Value>(kernel.getBlock().getArguments()),
                                       llvm::to_vector_of<Value>(kernel.getYielded())))
      slices.push_back(slice(slices.size(), v));
    LogicalResult emitted = emitAttention(kernel, nest, slices, begin, end, scratch);
    LLVM::ReturnOp::create(b, location, ValueRange());
    return emitted;
  }
  TileEmitter tiles(nest, module);
  FailureOr<SmallVector<int64_t>> rows = takeRows(kernel, nest, tiles, entry->getArgument(3));
  if (failed(rows))
    return failure();
  unsigned slot = 0;
  for (BlockArgument argument : kernel.getBlock().getArguments())
    tiles.bind(argument, slice(slot++, argument));

  if (usesBlocks(kernel, level))
    tiles.beginBlocks();
  auto finish = [&](LogicalResult emitted) {
    tiles.endBlocks();
    LLVM::ReturnOp::create(b, location, ValueRange());
    return failure(failed(emitted) || tiles.hasFailed());
  };
  if (kernel.getPatchAttr())
    return finish(emitPatch(kernel, nest, tiles, slice(slot, kernel.getYielded()[0]), begin, end));
  if (transformsFilter(kernel)) {
    emitFilterTransform(kernel, nest, tiles, base(slot), begin, end);
    return finish(success());
  }
  if (std::optional<unsigned> filter = transformedFilter(kernel)) {
    SmallVector<Memory> results;
    for (Value result : kernel.getYielded())
      results.push_back(slice(slot++, result));
    return finish(emitWinograd(kernel, nest, tiles, base(*filter), results, begin, end, scratch));
  }
  if (schedule.isWinograd())
    return finish(emitWinogradGradient(
        kernel, nest, tiles, slice(slot, kernel.getYielded().front()), begin, end, scratch));
  if (!schedule.getBlock().empty()) {
    Memory result = slice(slot, kernel.getYielded().front());
    return finish(emitWalks(kernel, nest, tiles, result, begin, end));
  }
  SmallVector<Memory> results;
  for (Value result : kernel.getYielded())
    results.push_back(slice(slot++, result));
  emitSpace(kernel, nest, tiles, *rows, results, begin, end);
  return finish(success());
}
