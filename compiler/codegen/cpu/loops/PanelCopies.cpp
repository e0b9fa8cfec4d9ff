// A factor's rows are copied step by step, a panel at a time, and prefetched some steps ahead.
#include "compiler/codegen/cpu/loops/PanelCopies.h"

#include "passes/layout/FactorPanels.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace gradc::cpu;
using namespace gradc::tile;

void gradc::cpu::forGroups(LoopNest &nest, Value begin, Value end, int64_t together,
                           llvm::function_ref<void(Value, Value)> body) {
  OpBuilder &b = nest.builder;
  Value count = arith::SubIOp::create(b, nest.location, end, begin);
  Value groups = arith::CeilDivSIOp::create(b, nest.location, count, nest.constant(together));
  // Without units there are no groups.
  Value some = arith::MaxSIOp::create(b, nest.location, groups, nest.constant(1));
  Value each = arith::CeilDivSIOp::create(b, nest.location, count, some);
  nest.again(groups, [&](LinearExpr i) {
    Value from = arith::MulIOp::create(b, nest.location, nest.index(i), each);
    from = arith::AddIOp::create(b, nest.location, begin, from);
    Value to = arith::AddIOp::create(b, nest.location, from, each);
    body(from, arith::MinSIOp::create(b, nest.location, to, end));
  });
}

void gradc::cpu::forColumns(LoopNest &nest, Value begin, Value end, int64_t all, int64_t width,
                            llvm::function_ref<void(const LinearExpr &, int64_t)> body) {
  OpBuilder &b = nest.builder;
  Value full = nest.constant(all / width);
  Value fullEnd = arith::MinSIOp::create(b, nest.location, end, full);
  nest.loop(begin, fullEnd, {}, [&](LinearExpr unit, ValueRange) {
    body(unit * width, width);
    return SmallVector<Value>();
  });
  if (all % width == 0)
    return;
  Value isLast = arith::CmpIOp::create(b, nest.location, arith::CmpIPredicate::sgt, end, full);
  nest.when(isLast, [&] { body(LinearExpr(all / width * width), all % width); });
}

PanelCopies::PanelCopies(exec::KernelOp kernel, LoopNest &nest, TileEmitter &tiles,
                         ArrayRef<Memory> operands, Value scratch)
    : kernel(kernel), nest(nest), tiles(tiles), operands(operands), scratch(scratch),
      schedule(kernel.getScheduleAttr()), panels(schedule.getPanels()) {
  panels.resize(2);
  if (!schedule.getOrder().empty())
    outer = unsigned(schedule.getOrder().front());
}

BlockArgument PanelCopies::operandOf(unsigned factor) const {
  return cast<BlockArgument>(gradc::productOf(kernel)->getOperand(factor));
}

bool gradc::cpu::isReadAtItsIndex(Value value) {
  llvm::SetVector<Value> reached;
  reached.insert(value);
  for (size_t i = 0; i < reached.size(); ++i)
    for (OpOperand &use : reached[i].getUses()) {
      if (isa<exec::YieldOp>(use.getOwner()))
        continue;
      auto op = dyn_cast<linalg::GenericOp>(use.getOwner());
      if (!op || op.getNumReductionLoops() != 0 || !op.getMatchingIndexingMap(&use).isIdentity())
        return false;
      reached.insert(op->result_begin(), op->result_end());
    }
  return true;
}

FailureOr<bool> PanelCopies::areWanted() {
  if (schedule.getPanels().empty())
    return false;
  auto op = dyn_cast_or_null<linalg::GenericOp>(gradc::productOf(kernel));
  auto isRoot = [&](Value v) {
    return cast<RankedTensorType>(v.getType()).getShape() == kernel.getRoot().getShape();
  };
  SmallVector<unsigned> dims = op ? reducedDims(op) : SmallVector<unsigned>();
  if (dims.size() != 1 || op.getNumLoops() != 3 || op.getNumDpsInputs() != 2 ||
      !isRoot(op.getResult(0)) || !isReadAtItsIndex(op.getResult(0)) ||
      !llvm::all_of(kernel.getYielded(), isRoot))
    return kernel.emitOpError("expected a product of two matrices, elementwise ops on it, and "
                              "results of its shape, to copy factors in panels");
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  for (unsigned factor : {0u, 1u}) {
    Value operand = op->getOperand(factor);
    bool runsAcross = isa<BlockArgument>(operand) && operand.hasOneUse() &&
                      maps[factor].getNumResults() == 2 &&
                      maps[factor].getResult(0) == getAffineDimExpr(dims[0], op.getContext()) &&
                      maps[factor].getResult(1) == maps[2].getResult(factor);
    if (panels[factor] && !runsAcross)
      return kernel.emitOpError("expected factor ")
             << factor << " to be an operand that runs across the sum, to copy it in panels";
  }
  return true;
}

void PanelCopies::emitUnits(SpaceEmitter &space, Value from, Value to, const Steps &steps) {
  if (panels[outer])
    copyUnits(from, to, steps);
  unsigned inner = 1 - outer;
  space.emitUnits(from, to, [&](const LinearExpr &first, int64_t width) {
    if (panels[inner])
      copyPanels(inner, panelsAt(inner, first, steps.first), first, width, steps);
  });
  for (unsigned factor : {0u, 1u})
    if (panels[factor])
      tiles.bind(operandOf(factor), operands[operandOf(factor).getArgNumber()]);
}

/// Where the panels from a column on are copied to, with the steps from `firstStep` on.
Memory PanelCopies::panelsAt(unsigned factor, const LinearExpr &column,
                             const LinearExpr &firstStep) {
  OpBuilder &b = nest.builder;
  int64_t offset = gradc::panelsOffset(kernel, factor, nest.level);
  int64_t width = schedule.getTile()[factor];
  Value base = nest.addressBehind(scratch, b.getI8Type(), offset);
  return Memory(base, gradc::panelsType(kernel, factor),
                exec::PanelAttr::get(b.getContext(), 1, width), {firstStep, column});
}

/// Copies full panels, several at once because they share lines, then what is left of the last one.
void PanelCopies::copyUnits(Value begin, Value end, const Steps &steps) {
  constexpr int64_t atOnce = 4;
  OpBuilder &b = nest.builder;
  int64_t width = schedule.getTile()[outer], size = kernel.getRoot().getDimSize(outer);
  Memory to = panelsAt(outer, nest.variable(begin) * width, steps.first);
  Value fullEnd = arith::MinSIOp::create(b, nest.location, end, nest.constant(size / width));
  Value count = arith::SubIOp::create(b, nest.location, fullEnd, begin);
  Value groups = arith::DivSIOp::create(b, nest.location, count, nest.constant(atOnce));
  nest.again(groups, [&](LinearExpr i) {
    LinearExpr first = nest.variable(begin) + i * atOnce;
    copyPanels(outer, to, first * width, atOnce * width, steps);
  });
  LinearExpr rest = nest.variable(begin) + nest.variable(groups) * atOnce;
  forColumns(nest, nest.index(rest), end, size, width,
             [&](const LinearExpr &column, int64_t columns) {
               copyPanels(outer, to, column, columns, steps);
             });
}

/// Copies `width` columns of the steps, the first of a panel; from now on tiles read them there.
void PanelCopies::copyPanels(unsigned factor, const Memory &to, const LinearExpr &column,
                             int64_t width, const Steps &steps) {
  constexpr int64_t stepsAhead = 16;
  BlockArgument operand = operandOf(factor);
  const Memory &from = operands[operand.getArgNumber()];
  tiles.bind(operand, to);
  int64_t panel = schedule.getTile()[factor];
  int64_t line = nest.level.lineBytes / grad::elementBytes(getElementTypeOrSelf(operand));
  auto pointAt = [&](const LinearExpr &step, int64_t lane) {
    Point p;
    p.coordinates = {step, column + LinearExpr(lane)};
    p.coordinates[1].lane = 1;
    p.valid = std::min({nest.lanes, width - lane, panel - lane % panel});
    return p;
  };
  auto copyStep = [&](LinearExpr step, ValueRange) {
    for (int64_t lane = 0; lane < width; lane += line)
      if (auto ahead = from.line(nest, pointAt(step + LinearExpr(stepsAhead), lane)))
        from.prefetch(nest, *ahead);
    for (int64_t lane = 0; lane < width;) {
      Point p = pointAt(step, lane);
      to.store(nest, p, from.load(nest, p));
      lane += p.valid;
    }
    return SmallVector<Value>();
  };
  nest.loop(nest.index(steps.first), nest.index(steps.second), {}, copyStep);
}
