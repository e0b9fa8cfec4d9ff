// All updates are read once for each group of units.
#include "compiler/codegen/cpu/loops/ScatterSums.h"

#include "compiler/codegen/cpu/loops/PanelCopies.h"
#include "dialects/grad/indexing/Index.h"
#include "passes/layout/ScatterSums.h"

using namespace mlir;
using namespace gradc::cpu;
using namespace gradc::tile;

namespace {

/// The loops whose targets an index chooses.
ArrayRef<int64_t> chosenLoops(linalg::GenericOp op) {
  auto loops = op->getAttrOfType<DenseI64ArrayAttr>(grad::indexedLoops);
  return loops ? loops.asArrayRef() : ArrayRef<int64_t>();
}

class ScatterSums {
public:
  ScatterSums(exec::KernelOp kernel, LoopNest &nest, TileEmitter &tiles, ArrayRef<int64_t> rows,
              const Memory &result, Value scratch)
      : kernel(kernel), nest(nest), tiles(tiles), rows(rows), result(result), scratch(scratch),
        schedule(kernel.getScheduleAttr()), dim(schedule.getOrder().front()),
        types(gradc::scatterSums(kernel)) {
    for (Operation *op : gradc::scattersOf(kernel))
      if (auto loops = dyn_cast<linalg::GenericOp>(op))
        ops.push_back(loops);
  }

  bool areReadByTheirRows() const {
    return !ops.empty() && ops.size() == (areInPlace() ? 1 : types.size()) &&
           llvm::all_of(ops, [](linalg::GenericOp op) {
             return chosenLoops(op).size() == 1 && gradc::cpu::isReadAtItsIndex(op.getResult(0));
           });
  }

  /// Whether the sums are the kernel's result.
  bool areInPlace() const { return types.empty(); }

  /// Adds up the updates of the units [from, to), and binds the scatters to their sums, so that
  /// tiles read these. False if a scatter has another form.
  bool add(Value from, Value to) {
    Value first = rowOf(from), last = rowOf(to);
    Value size = nest.extent(kernel.getRoot().getDimSize(dim), rows[dim]);
    last = arith::MinSIOp::create(nest.builder, nest.location, last, size);
    SmallVector<LinearExpr> origin(kernel.getRoot().getRank());
    origin[dim] = nest.variable(first);
    SmallVector<Memory> sums;
    for (auto [i, op] : llvm::enumerate(ops)) {
      sums.push_back(areInPlace() ? result : Memory(base(i), types[i], /*panel=*/{}, origin));
      if (!start(op.getDpsInits()[0], sums.back(), from, to))
        return false;
      if (!tiles.addUpdates(op, unsigned(chosenLoops(op).front()), unsigned(dim), sums.back(),
                            first, last))
        return false;
    }
    for (auto [op, memory] : llvm::zip_equal(ops, sums))
      tiles.bind(op.getResult(0), memory);
    return true;
  }

private:
  /// Initializes the units' sums with `init`. A run where they lie in the memory of `init` itself
  /// skips this, as they have its elements already.
  bool start(Value init, const Memory &sums, Value from, Value to) {
    SpaceEmitter space(nest, tiles, kernel.getRoot(), rows, schedule.getTile(),
                       schedule.getOrder());
    if (!space.add(init, sums))
      return false;
    auto operand = dyn_cast<BlockArgument>(init);
    if (areInPlace() && operand && kernel.mayOverwrite(operand.getArgNumber(), 0))
      nest.when(tiles.memoryOf(operand).liesApartFrom(nest, sums),
                [&] { space.emitUnits(from, to); });
    else
      space.emitUnits(from, to);
    return true;
  }
  Value rowOf(Value unit) {
    return arith::MulIOp::create(nest.builder, nest.location, unit,
                                 nest.constant(schedule.getTile()[dim]));
  }
  Value base(size_t scatter) {
    return nest.addressBehind(scratch, nest.builder.getI8Type(),
                              gradc::scatterOffset(kernel, scatter));
  }

  exec::KernelOp kernel;
  LoopNest &nest;
  TileEmitter &tiles;
  ArrayRef<int64_t> rows;
  Memory result;
  Value scratch;
  exec::ScheduleAttr schedule;
  int64_t dim;
  SmallVector<RankedTensorType> types;
  SmallVector<linalg::GenericOp> ops;
};

} // namespace

LogicalResult gradc::cpu::emitScatters(exec::KernelOp kernel, LoopNest &nest, TileEmitter &tiles,
                                       ArrayRef<int64_t> rows, SpaceEmitter &root,
                                       const Memory &result, Value begin, Value end,
                                       Value scratch) {
  ScatterSums sums(kernel, nest, tiles, rows, result, scratch);
  bool emitted = sums.areReadByTheirRows();
  if (emitted)
    forGroups(nest, begin, end, kernel.getScheduleAttr().getScatterUnits(),
              [&](Value from, Value to) {
                emitted = sums.add(from, to);
                if (!sums.areInPlace())
                  root.emitUnits(from, to);
              });
  return emitted ? success()
                 : kernel.emitOpError("expected scatters of fixed size with one index per row, "
                                      "and elementwise ops on them, to add up updates");
}
