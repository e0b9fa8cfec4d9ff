// Emits a CPU kernel as one function: its slices, its form, and the loops over its root.
#include "compiler/codegen/cpu/Kernel.h"

#include "compiler/codegen/cpu/loops/BlockWalk.h"
#include "compiler/codegen/cpu/loops/KeptRows.h"
#include "compiler/codegen/cpu/loops/Patch.h"
#include "compiler/codegen/cpu/loops/ScatterSums.h"
#include "compiler/codegen/cpu/loops/SpaceEmitter.h"
#include "compiler/codegen/cpu/loops/TurnedCopies.h"
#include "compiler/codegen/cpu/ops/OneOp.h"
#include "compiler/codegen/cpu/winograd/Winograd.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "passes/layout/FactorPanels.h"
#include "passes/layout/ProductLanes.h"
#include "passes/layout/Winograd.h"

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

/// Tells the tiles which sizes depend on the rows of the run; returns `rootRows`.
FailureOr<SmallVector<int64_t>> takeRows(exec::KernelOp kernel, TileEmitter &tiles) {
  if (kernel.getRows()) {
    FailureOr<gradc::ExtentAnalysis> extents = gradc::analyzeKernel(kernel);
    if (failed(extents))
      return failure();
    tiles.setExtents(std::move(*extents));
  }
  return rootRows(kernel);
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

/// All steps of the product's sum in this run.
Steps stepsOf(exec::KernelOp kernel, LoopNest &nest, TileEmitter &tiles) {
  auto op = cast<linalg::GenericOp>(gradc::productOf(kernel));
  unsigned dim = reducedDims(op).front();
  int64_t size = op.getStaticLoopRanges()[dim], each = tiles.perRow(op, dim);
  return {LinearExpr(0), each ? nest.variable(nest.extent(size, each)) : LinearExpr(size)};
}

/// Emits the loops over the root, and those of results that are not stored along its outermost
/// ones.
LogicalResult emitSpace(exec::KernelOp kernel, LoopNest &nest, TileEmitter &tiles,
                        ArrayRef<int64_t> rows, PanelCopies copies, TurnedCopies turned,
                        ArrayRef<Memory> results, Value begin, Value end, Value scratch) {
  if (std::optional<KeptRows> kept = findKeptRows(kernel, tiles, nest.level))
    tiles.keep(kept->value, kept->sum, results[kept->result]);
  exec::ScheduleAttr schedule = kernel.getScheduleAttr();
  SpaceEmitter root(nest, tiles, kernel.getRoot(), rows, schedule.getTile(), schedule.getOrder(),
                    schedule.getSpacing());
  SmallVector<std::pair<Value, Memory>> apart;
  for (auto [result, memory] : llvm::zip_equal(kernel.getYielded(), results))
    if (!root.add(result, memory))
      apart.push_back({result, memory});
  FailureOr<bool> areCopied = copies.areWanted(), isTurned = turned.areWanted();
  if (failed(areCopied) || failed(isTurned))
    return failure();
  if (schedule.getScatterUnits()) {
    if (failed(emitScatters(kernel, nest, tiles, rows, root, results.front(), begin, end, scratch)))
      return failure();
  } else if (*isTurned) {
    turned.emitUnits(root, begin, end);
  } else if (!*areCopied) {
    root.emitUnits(begin, end);
  } else {
    Steps steps = stepsOf(kernel, nest, tiles);
    auto emit = [&](Value from, Value to) { copies.emitUnits(root, from, to, steps); };
    if (int64_t together = copies.unitsTogether())
      forGroups(nest, begin, end, together, emit);
    else
      emit(begin, end);
  }
  tiles.keepNoMore();
  if (!apart.empty())
    emitApart(nest, tiles, apart, begin, end);
  return success();
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
  Value begin = entry->getArgument(1), end = entry->getArgument(2), scratch = entry->getArgument(4);

  auto base = [&](unsigned i) -> Value {
    Value slot = LLVM::GEPOp::create(b, location, pointer, pointer, entry->getArgument(0),
                                     ArrayRef<LLVM::GEPArg>{int32_t(i)});
    return LLVM::LoadOp::create(b, location, pointer, slot, 8, false, false, /*isInvariant=*/true);
  };
  auto slice = [&](unsigned i, Value tensor) {
    return Memory(base(i), cast<RankedTensorType>(tensor.getType()), kernel.getLayout(i));
  };
  LoopNest nest(b, location, level, schedule.getLanes());
  nest.rows = kernel.getRows() ? entry->getArgument(3) : Value();
  if (schedule.isOfOneOp()) {
    OneOp op{kernel, nest, module, {}, begin, end, scratch};
    for (Value v : llvm::concat<Value>(llvm::to_vector_of<Value>(kernel.getBlock().getArguments()),
                                       llvm::to_vector_of<Value>(kernel.getYielded())))
      op.slices.push_back(slice(op.slices.size(), v));
    LogicalResult emitted = emitOneOp(op);
    LLVM::ReturnOp::create(b, location, ValueRange());
    return emitted;
  }
  TileEmitter tiles(nest, module);
  FailureOr<SmallVector<int64_t>> rows = takeRows(kernel, tiles);
  if (failed(rows))
    return failure();
  unsigned slot = 0;
  SmallVector<Memory> operands;
  for (BlockArgument argument : kernel.getBlock().getArguments()) {
    operands.push_back(slice(slot++, argument));
    tiles.bind(argument, operands.back());
  }
  tiles.sumAlongLanes(gradc::laneSumChains(schedule, level));
  if (level.amxRows && kernel.readsPairs()) // their products are summed in tile registers
    tiles.dots.takeTileRegisters();
  auto finish = [&](LogicalResult emitted) {
    tiles.dots.releaseTileRegisters();
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
  PanelCopies copies(kernel, nest, tiles, operands, scratch);
  if (!schedule.getBlock().empty() && !schedule.getScatterUnits()) {
    Memory result = slice(slot, kernel.getYielded().front());
    return finish(emitBlockWalk(kernel, nest, tiles, *rows, copies, result, begin, end));
  }
  SmallVector<Memory> results;
  for (Value result : kernel.getYielded())
    results.push_back(slice(slot++, result));
  TurnedCopies turned(kernel, nest, tiles, operands, scratch);
  return finish(
      emitSpace(kernel, nest, tiles, *rows, copies, turned, results, begin, end, scratch));
}
