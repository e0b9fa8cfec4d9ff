// Scalar's operators: float, signed and unsigned variants of arith ops.
#include "dialects/grad/Scalar.h"

using namespace mlir;
using namespace mlir::grad;

Scalar Scalar::number(double constant) const {
  if (!isFloat())
    return integer(int64_t(constant));
  return with(
      arith::ConstantOp::create(*builder, location, builder->getFloatAttr(type(), constant)));
}

Scalar Scalar::integer(int64_t constant) const {
  // Truncates on purpose: -1 is all ones at any width.
  APInt bits(type().getIntOrFloatBitWidth(), constant, /*isSigned=*/true, /*implicitTrunc=*/true);
  return with(arith::ConstantOp::create(*builder, location, builder->getIntegerAttr(type(), bits)));
}

Scalar Scalar::select(Scalar onTrue, Scalar onFalse) const {
  return onTrue.with(
      builder->createOrFold<arith::SelectOp>(location, value, Value(onTrue), Value(onFalse)));
}

template <typename FloatOp, typename IntOp> static Scalar binary(Scalar a, Scalar b) {
  return a.isFloat() ? a.apply<FloatOp>(Value(b)) : a.apply<IntOp>(Value(b));
}

Scalar grad::operator+(Scalar a, Scalar b) { return binary<arith::AddFOp, arith::AddIOp>(a, b); }
Scalar grad::operator-(Scalar a, Scalar b) { return binary<arith::SubFOp, arith::SubIOp>(a, b); }
Scalar grad::operator*(Scalar a, Scalar b) { return binary<arith::MulFOp, arith::MulIOp>(a, b); }
Scalar grad::operator/(Scalar a, Scalar b) {
  assert(a.isFloat() && "integer division needs its guards");
  return a.apply<arith::DivFOp>(Value(b));
}
Scalar grad::operator-(Scalar a) {
  return a.isFloat() ? a.apply<arith::NegFOp>() : a.integer(0) - a;
}
Scalar grad::operator+(Scalar a, double b) { return a + a.number(b); }
Scalar grad::operator*(Scalar a, double b) { return a * a.number(b); }
Scalar grad::operator/(double a, Scalar b) { return b.number(a) / b; }

static arith::CmpFPredicate floatPredicate(ComparePredicate predicate) {
  switch (predicate) {
  case ComparePredicate::eq:
    return arith::CmpFPredicate::OEQ;
  case ComparePredicate::ne:
    return arith::CmpFPredicate::UNE;
  case ComparePredicate::lt:
    return arith::CmpFPredicate::OLT;
  case ComparePredicate::le:
    return arith::CmpFPredicate::OLE;
  case ComparePredicate::gt:
    return arith::CmpFPredicate::OGT;
  case ComparePredicate::ge:
    return arith::CmpFPredicate::OGE;
  }
  llvm_unreachable("all predicates are covered");
}

static arith::CmpIPredicate intPredicate(ComparePredicate predicate, bool isUnsigned) {
  switch (predicate) {
  case ComparePredicate::eq:
    return arith::CmpIPredicate::eq;
  case ComparePredicate::ne:
    return arith::CmpIPredicate::ne;
  case ComparePredicate::lt:
    return isUnsigned ? arith::CmpIPredicate::ult : arith::CmpIPredicate::slt;
  case ComparePredicate::le:
    return isUnsigned ? arith::CmpIPredicate::ule : arith::CmpIPredicate::sle;
  case ComparePredicate::gt:
    return isUnsigned ? arith::CmpIPredicate::ugt : arith::CmpIPredicate::sgt;
  case ComparePredicate::ge:
    return isUnsigned ? arith::CmpIPredicate::uge : arith::CmpIPredicate::sge;
  }
  llvm_unreachable("all predicates are covered");
}

Scalar grad::compare(ComparePredicate predicate, Scalar a, Scalar b) {
  OpBuilder &builder = a.getBuilder();
  if (a.isFloat())
    return a.with(builder.createOrFold<arith::CmpFOp>(a.getLoc(), floatPredicate(predicate),
                                                      Value(a), Value(b)));
  return a.with(builder.createOrFold<arith::CmpIOp>(
      a.getLoc(), intPredicate(predicate, a.isUnsigned()), Value(a), Value(b)));
}
Scalar grad::operator<(Scalar a, Scalar b) { return compare(ComparePredicate::lt, a, b); }
Scalar grad::operator>(Scalar a, Scalar b) { return compare(ComparePredicate::gt, a, b); }
Scalar grad::operator==(Scalar a, Scalar b) { return compare(ComparePredicate::eq, a, b); }
Scalar grad::operator!=(Scalar a, Scalar b) { return compare(ComparePredicate::ne, a, b); }
Scalar grad::operator|(Scalar a, Scalar b) { return a.apply<arith::OrIOp>(Value(b)); }
