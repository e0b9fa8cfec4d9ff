// Scalars of a loop body; formulas on them create arith and math ops.
#ifndef DIALECTS_GRAD_SCALAR_H
#define DIALECTS_GRAD_SCALAR_H

#include "dialects/grad/Grad.h"

namespace mlir::grad {

/// A signless scalar that knows how its op interprets it: as float, signed or unsigned. Both sides
/// of an operator have the same type; a number means a constant of the other side's type.
class Scalar {
public:
  Scalar(OpBuilder &builder, Location location, Value value, bool isUnsigned = false)
      : builder(&builder), location(location), value(value), readUnsigned(isUnsigned) {}
  operator Value() const { return value; }
  Type type() const { return value.getType(); }
  bool isFloat() const { return isa<FloatType>(type()); }
  bool isUnsigned() const { return readUnsigned; }
  OpBuilder &getBuilder() const { return *builder; }
  Location getLoc() const { return location; }

  /// Wraps another value with the same builder, location and signedness.
  Scalar with(Value other) const { return Scalar(*builder, location, other, readUnsigned); }
  /// A constant of this type; integers wrap.
  Scalar number(double constant) const;
  Scalar integer(int64_t constant) const;
  /// Creates an op on this scalar: `x.apply<math::ExpOp>()`.
  template <typename Op, typename... Args> Scalar apply(Args &&...args) const {
    return with(builder->createOrFold<Op>(location, value, std::forward<Args>(args)...));
  }
  /// Converts this scalar: `x.to<arith::ExtFOp>(b.getF32Type())`.
  template <typename Op> Scalar to(Type type) const {
    return with(builder->createOrFold<Op>(location, type, value));
  }
  /// This (an i1) ? a : b.
  Scalar select(Scalar onTrue, Scalar onFalse) const;

private:
  OpBuilder *builder;
  Location location;
  Value value;
  bool readUnsigned;
};

Scalar operator+(Scalar a, Scalar b);
Scalar operator-(Scalar a, Scalar b);
Scalar operator*(Scalar a, Scalar b);
/// Floats only, because integer division needs guards.
Scalar operator/(Scalar a, Scalar b);
Scalar operator-(Scalar a);
Scalar operator+(Scalar a, double b);
Scalar operator*(Scalar a, double b);
Scalar operator/(double a, Scalar b);

/// Ordered comparisons (false with NaN), except `ne`, which is true with NaN.
Scalar compare(ComparePredicate predicate, Scalar a, Scalar b);
Scalar operator<(Scalar a, Scalar b);
Scalar operator>(Scalar a, Scalar b);
Scalar operator==(Scalar a, Scalar b);
Scalar operator!=(Scalar a, Scalar b);
Scalar operator|(Scalar a, Scalar b);

} // namespace mlir::grad

#endif
