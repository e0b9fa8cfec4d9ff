// Squares of the weight go through registers: rows along its panels are loaded, those along the
// lanes are stored.
#include "compiler/codegen/cpu/TurnedCopies.h"

#include "compiler/codegen/cpu/PanelCopies.h"
#include "passes/support/FactorPanels.h"

using namespace mlir;
using namespace gradc::cpu;
using namespace gradc::tile;

TurnedCopies::TurnedCopies(exec::KernelOp kernel, LoopNest &nest, TileEmitter &tiles,
                           ArrayRef<Memory> operands, Value scratch)
    : kernel(kernel), nest(nest), tiles(tiles), operands(operands), scratch(scratch),
      schedule(kernel.getScheduleAttr()), turned(schedule.getTurned()) {}

FailureOr<bool> TurnedCopies::areWanted() {
  if (!turned)
    return false;
  Operation *product = gradc::productOf(kernel);
  if (!product || !isReadAtItsIndex(product->getResult(0)))
    return kernel.emitOpError("expected a product and elementwise ops on it, to turn an operand");
  return true;
}

void TurnedCopies::copy(Value begin, Value end) {
  const Memory &from = operands[turned.getOperand()];
  RankedTensorType type = gradc::turnedType(kernel);
  int64_t width = schedule.getTile().back();
  exec::PanelAttr stored = kernel.getLayout(turned.getOperand());
  SmallVector<LinearExpr> origin(type.getRank());
  origin[turned.getDim()] = nest.variable(begin) * width;
  auto layout = exec::PanelAttr::get(nest.builder.getContext(), turned.getDim(), width);
  Memory to(scratch, type, layout, origin);
  tiles.bind(kernel.getBlock().getArgument(turned.getOperand()), to);

  // The taps, and other dims in between, one after another; then the panels.
  SmallVector<LinearExpr> place(type.getRank());
  std::function<void(int64_t)> walk = [&](int64_t dim) {
    if (dim == type.getRank())
      return copyStrip(from, to, place, begin, end);
    if (dim == turned.getDim())
      return walk(dim + 1);
    int64_t step = dim == stored.getDim() ? stored.getWidth() : 1;
    nest.again(type.getDimSize(dim) / step, [&](LinearExpr i) {
      place[dim] = i * step;
      walk(dim + 1);
    });
  };
  walk(0);
}

/// Copies what the units read of one panel, at one place of the other dims.
void TurnedCopies::copyStrip(const Memory &from, const Memory &to, ArrayRef<LinearExpr> place,
                             Value begin, Value end) {
  SmallVector<LinearExpr> at(place);
  forColumns(nest, begin, end, kernel.getRoot().getShape().back(), schedule.getTile().back(),
             [&](const LinearExpr &column, int64_t columns) {
               at[turned.getDim()] = column;
               copySquares(from, to, at, columns);
             });
}

void TurnedCopies::copySquares(const Memory &from, const Memory &to, ArrayRef<LinearExpr> place,
                               int64_t columns) {
  exec::PanelAttr stored = kernel.getLayout(turned.getOperand());
  // Rows are read to their ends first, so that memory is read line by line.
  for (int64_t column = 0; column < columns; column += nest.lanes)
    for (int64_t row = 0; row < stored.getWidth(); row += nest.lanes) {
      SmallVector<Point> square(nest.lanes);
      for (auto [i, p] : llvm::enumerate(square)) {
        p.coordinates.assign(place.begin(), place.end());
        p.coordinates[stored.getDim()] += LinearExpr(row + int64_t(i));
        p.coordinates[turned.getDim()] += LinearExpr(column);
        p.coordinates[turned.getDim()].lane = 1;
        p.valid = std::min(nest.lanes, columns - column);
      }
      auto values = from.loadTransposed(nest, square);
      for (auto [i, p] : llvm::enumerate(square))
        to.store(nest, p, values ? (*values)[i] : from.load(nest, p));
    }
}
