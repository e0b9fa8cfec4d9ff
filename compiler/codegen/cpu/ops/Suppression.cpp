// Compares each candidate, best first, with the boxes that were kept, a vector of them at a time.
#include "compiler/codegen/cpu/ops/OneOp.h"
#include "compiler/codegen/cpu/ops/RowWalk.h"
#include "passes/schedule/SuppressionKernel.h"

using namespace mlir;
using namespace gradc::cpu;
using namespace gradc::tile;

namespace {

/// The op's operands.
enum Operand { top, left, bottom, right, area, order, candidates, threshold, limit };
constexpr unsigned sides = 5; // and the area

class Suppression {
public:
  Suppression(exec::KernelOp kernel, LoopNest &nest, ArrayRef<Memory> slices, Value scratch)
      : nest(nest), b(nest.builder), slices(slices), op(kernel.getBlock().front()),
        element(getElementTypeOrSelf(op.getOperand(top))),
        boxes(kernel.getRoot().getShape().back()) {
    int64_t bytes = gradc::suppressionPieceBytes(kernel);
    for (unsigned side = 0; side < sides; ++side) {
      Value base = nest.addressBehind(scratch, b.getI8Type(), side * bytes);
      kept.push_back(Memory(base, RankedTensorType::get({boxes}, element), /*panel=*/{}));
    }
    most = scalarOf(limit);
    least = nest.splat(scalarOf(threshold));
  }

  /// 1. Go through the boxes in order. The carried value is the number of boxes kept so far.
  /// 2. A candidate is compared with these, unless there are enough.
  /// 3. It joins them if it overlaps none.
  void emitRow(ArrayRef<LinearExpr> row) {
    Value none = nest.constant(0);
    nest.loop(none, nest.constant(boxes), none, [&](LinearExpr i, ValueRange now) {
      Value count = now[0];
      Value box = load(order, {row[0], row[1], i});
      LinearExpr at = nest.variable(box);
      Value isLess = compare(arith::CmpIPredicate::slt, count, most);
      Value isTried =
          arith::AndIOp::create(b, nest.location, load(candidates, {row[0], row[1], at}), isLess);
      Value isKept = nest.choose(isTried, falseValue(), [&] {
        Values own;
        for (unsigned side = 0; side < sides; ++side)
          own.push_back(load(Operand(side), {row[0], at}));
        Value keeps = compare(arith::CmpIPredicate::eq, overlapsKept(own, count), falseValue());
        // Stored at `count` even if the box is dropped: the next candidate overwrites it.
        for (unsigned side = 0; side < sides; ++side)
          kept[side].store(nest, Point{{nest.variable(count)}, /*valid=*/0}, own[side]);
        return Values{keeps};
      })[0];
      slices.back().store(nest, Point{{row[0], row[1], i}, /*valid=*/0}, isKept);
      Value more = arith::ExtUIOp::create(b, nest.location, b.getI64Type(), isKept);
      return Values{arith::AddIOp::create(b, nest.location, count, more)};
    });
  }

private:
  using Values = SmallVector<Value>;

  Value load(Operand operand, std::vector<LinearExpr> at) {
    auto argument = cast<BlockArgument>(op.getOperand(operand));
    return slices[argument.getArgNumber()].load(nest, Point{std::move(at), /*valid=*/0});
  }
  /// An operand of rank 0, which may be a constant.
  Value scalarOf(Operand operand) {
    DenseElementsAttr constant;
    if (!matchPattern(op.getOperand(operand), m_Constant(&constant)))
      return load(operand, {});
    return arith::ConstantOp::create(b, nest.location, constant.getSplatValue<TypedAttr>());
  }
  Value falseValue() { return arith::ConstantOp::create(b, nest.location, b.getBoolAttr(false)); }
  Value compare(arith::CmpIPredicate how, Value x, Value y) {
    return arith::CmpIOp::create(b, nest.location, how, x, y);
  }
  Value compare(arith::CmpFPredicate how, Value x, Value y) {
    return arith::CmpFOp::create(b, nest.location, how, x, y);
  }
  template <typename Op> Value apply(Value x, Value y) {
    return Op::create(b, nest.location, x, y);
  }
  Value number(double value) {
    return nest.splat(arith::ConstantOp::create(b, nest.location, b.getFloatAttr(element, value)));
  }

  /// Whether a box overlaps one of the first `count` kept ones by more than the threshold.
  Value overlapsKept(ArrayRef<Value> own, Value count) {
    Values box;
    for (Value side : own)
      box.push_back(nest.splat(side));
    Value width = nest.constant(nest.lanes);
    Value vectors = arith::CeilDivUIOp::create(b, nest.location, count, width);
    Value lanes = arith::ConstantOp::create(
        b, nest.location, DenseIntElementsAttr::get(nest.vectorOf(b.getI64Type()), lanesOf()));
    Value start = nest.splat(falseValue());
    Value any = nest.loop(nest.constant(0), vectors, start, [&](LinearExpr v, ValueRange now) {
      LinearExpr first = v * nest.lanes;
      Value before = nest.splat(arith::SubIOp::create(b, nest.location, count, nest.index(first)));
      Value isThere = compare(arith::CmpIPredicate::slt, lanes, before);
      Values others;
      first.lane = 1;
      for (const Memory &memory : kept)
        others.push_back(memory.load(nest, Point{{first}, nest.lanes}));
      Value hit = apply<arith::AndIOp>(isThere, overlaps(box, others));
      return Values{apply<arith::OrIOp>(now[0], hit)};
    })[0];
    return vector::ReductionOp::create(b, nest.location, vector::CombiningKind::OR, any);
  }
  SmallVector<int64_t> lanesOf() { return llvm::to_vector(llvm::seq<int64_t>(0, nest.lanes)); }

  /// Whether the boxes overlap by more than the threshold; with the operations of the op's
  /// decomposition.
  Value overlaps(ArrayRef<Value> own, ArrayRef<Value> other) {
    Value zero = number(0);
    auto along = [&](Operand low, Operand high) {
      Value end = apply<arith::MinimumFOp>(own[high], other[high]);
      Value begin = apply<arith::MaximumFOp>(own[low], other[low]);
      return apply<arith::MaximumFOp>(apply<arith::SubFOp>(end, begin), zero);
    };
    Value both = apply<arith::MulFOp>(along(top, bottom), along(left, right));
    Value either = apply<arith::SubFOp>(apply<arith::AddFOp>(own[area], other[area]), both);
    Value isArea = compare(arith::CmpFPredicate::OGT, either, zero);
    Value divisor = arith::SelectOp::create(b, nest.location, isArea, either, number(1));
    Value share = apply<arith::DivFOp>(both, divisor);
    return apply<arith::AndIOp>(isArea, compare(arith::CmpFPredicate::OGT, share, least));
  }

  LoopNest &nest;
  OpBuilder &b;
  ArrayRef<Memory> slices;
  Operation &op;
  Type element;
  int64_t boxes;
  SmallVector<Memory> kept; ///< sides and areas
  Value most, least;
};

} // namespace

LogicalResult gradc::cpu::emitSuppression(OneOp &op) {
  if (op.kernel.getRowsOf(op.kernel.getRoot().getRank() - 1))
    return op.kernel.emitOpError("expected a fixed number of boxes");
  Suppression suppression(op.kernel, op.nest, op.slices, op.scratch);
  return forEachRow(op, [&](ArrayRef<LinearExpr> row) { suppression.emitRow(row); });
}
