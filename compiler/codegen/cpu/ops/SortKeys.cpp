// Keys are the bits of elements, with the order of magnitudes of negative numbers reversed.
#include "compiler/codegen/cpu/ops/SortKeys.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace gradc::cpu;
using namespace gradc::tile;

// Arithmetic --------------------------------------------------------------------------------------

Value SortArithmetic::constant(const APInt &value, Type type) {
  Type element = getElementTypeOrSelf(type);
  Value scalar = arith::ConstantOp::create(b, nest.location, b.getIntegerAttr(element, value));
  if (auto vector = dyn_cast<VectorType>(type))
    return vector::BroadcastOp::create(b, nest.location, vector, scalar);
  return scalar;
}

Value SortArithmetic::constant(int64_t value, Type type) {
  unsigned width = getElementTypeOrSelf(type).getIntOrFloatBitWidth();
  return constant(APInt(width, uint64_t(value), /*isSigned=*/true, /*implicitTrunc=*/true), type);
}

Value SortArithmetic::compare(arith::CmpIPredicate how, Value x, Value y) {
  return arith::CmpIOp::create(b, nest.location, how, x, y);
}

Value SortArithmetic::choose(Value condition, Value x, Value y) {
  return arith::SelectOp::create(b, nest.location, condition, x, y);
}

Value SortArithmetic::extend(Value x, Type element) {
  if (getElementTypeOrSelf(x.getType()) == element)
    return x;
  auto vector = dyn_cast<VectorType>(x.getType());
  return arith::ExtUIOp::create(b, nest.location, vector ? vector.clone(element) : element, x);
}

// Rows --------------------------------------------------------------------------------------------

SortRow::SortRow(OneOp &op)
    : SortArithmetic(op.nest), plan(*SortPlan::of(op.kernel)),
      keyType(b.getIntegerType(unsigned(plan.keyBits))), scratch(op.scratch),
      element(getElementTypeOrSelf(op.kernel.getBlock().getArgument(0))), operand(op.operand()),
      result(op.result()) {
  int64_t perRow = op.kernel.getExtentsOf(0)[size_t(plan.dim)];
  size = nest.extent(plan.size, perRow);
  count = nest.extent(plan.count, op.kernel.getRowsOf(plan.dim));
  mayLack = perRow > 0;
}

Point SortRow::at(const LinearExpr &i) const {
  Point point{row, /*valid=*/0};
  point.coordinates[size_t(plan.dim)] = i;
  return point;
}

bool SortRow::isAdjacent() const {
  Point point = at(LinearExpr(0));
  point.coordinates[size_t(plan.dim)].lane = 1;
  point.valid = nest.lanes;
  return !operand.isStrided(nest, point);
}

bool SortRow::putsMaskedLast() const {
  return isa<FloatType>(element) && plan.descending && plan.count == plan.size && !mayLack;
}

Value SortRow::isMasked(Value key) {
  const llvm::fltSemantics &semantics = cast<FloatType>(element).getFloatSemantics();
  APInt last = APFloat::getInf(semantics, /*Negative=*/true).bitcastToAPInt(); // as keyOf has it
  return compare(arith::CmpIPredicate::eq, key,
                 constant(last.zext(unsigned(plan.keyBits)), keyType));
}

Value SortRow::keyOf(Value bits) {
  auto width = unsigned(plan.elementBits);
  auto number = [&](const APInt &value) { return constant(value, bits.getType()); };
  Value sign = number(APInt::getSignMask(width)), key;
  if (auto type = dyn_cast<FloatType>(element)) {
    Value magnitude = apply<arith::AndIOp>(bits, number(APInt::getSignedMaxValue(width)));
    Value infinity = number(APFloat::getInf(type.getFloatSemantics()).bitcastToAPInt());
    Value negative = apply<arith::ShRSIOp>(bits, number(APInt(width, width - 1)));
    key = apply<arith::XOrIOp>(bits, apply<arith::OrIOp>(negative, sign));
    Value isZero = compare(arith::CmpIPredicate::eq, magnitude, number(APInt::getZero(width)));
    key = choose(isZero, sign, key);
    Value isNan = compare(arith::CmpIPredicate::ugt, magnitude, infinity);
    key = choose(isNan, number(APInt::getAllOnes(width)), key);
  } else {
    key = apply<arith::XOrIOp>(bits, sign);
  }
  if (plan.descending)
    key = apply<arith::XOrIOp>(key, number(APInt::getAllOnes(width)));
  return extend(key, keyType);
}

Value SortRow::keyAt(const LinearExpr &i) {
  return keyOf(operand.loadBits(nest, at(i), /*count=*/1));
}

Value SortRow::keysAt(const LinearExpr &i) {
  Value bits = operand.loadBits(nest, at(i), unsigned(nest.lanes));
  Type vector = nest.vectorOf(b.getIntegerType(unsigned(plan.elementBits)));
  return keyOf(LLVM::BitcastOp::create(b, nest.location, vector, bits));
}

void SortRow::store(const LinearExpr &i, Value position) {
  if (mayLack)
    position =
        choose(compare(arith::CmpIPredicate::slt, nest.index(i), size), position, nest.constant(0));
  result.store(nest, at(i), position);
}
