// Wraps a float value (scalar or vector, f32 or f64), so that the code that builds a computation
// reads like its formula. Formulas are evaluated exactly as written.
#ifndef COMPILER_CODEGEN_LOWER_FLOATS_H
#define COMPILER_CODEGEN_LOWER_FLOATS_H

#include "dialects/Pch.h"

#include <optional>

namespace gradc::lower {

class Float {
public:
  /// `hasScales`: the machine scales vectors by powers of two, with AVX-512.
  Float(mlir::OpBuilder &builder, mlir::Location location, mlir::Value value,
        bool hasScales = false)
      : b(&builder), location(location), value(value), hasScales(hasScales) {}
  mlir::Value get() const { return value; }
  bool isF64() const { return mlir::getElementTypeOrSelf(value).isF64(); }

  Float with(mlir::Value other) const { return Float(*b, location, other, hasScales); }
  /// A number in every lane; `wide` if the type is f64.
  Float number(double x) const { return with(constant(value.getType(), x)); }
  Float number(double narrow, double wide) const { return number(isF64() ? wide : narrow); }

  Float operator+(Float y) const { return make<mlir::arith::AddFOp>(y); }
  Float operator-(Float y) const { return make<mlir::arith::SubFOp>(y); }
  Float operator*(Float y) const { return make<mlir::arith::MulFOp>(y); }
  Float operator/(Float y) const { return make<mlir::arith::DivFOp>(y); }
  Float operator+(double y) const { return *this + number(y); }
  Float operator-(double y) const { return *this - number(y); }
  Float operator*(double y) const { return *this * number(y); }
  Float operator-() const { return with(mlir::arith::NegFOp::create(*b, location, value)); }
  /// this * y + z, rounded once.
  Float fma(Float y, Float z) const;
  Float abs() const { return with(mlir::math::AbsFOp::create(*b, location, value)); }
  Float sqrt() const { return with(mlir::math::SqrtOp::create(*b, location, value)); }
  Float floor() const { return with(mlir::math::FloorOp::create(*b, location, value)); }
  Float roundEven() const { return with(mlir::math::RoundEvenOp::create(*b, location, value)); }
  Float copySign(Float sign) const { return make<mlir::math::CopySignOp>(sign); }
  /// The polynomial with these coefficients, highest power first.
  Float polynomial(llvm::ArrayRef<double> coefficients) const;

  /// Bools (scalar or vector).
  mlir::Value compare(mlir::arith::CmpFPredicate how, Float y) const;
  mlir::Value operator<(Float y) const { return compare(mlir::arith::CmpFPredicate::OLT, y); }
  mlir::Value operator<(double y) const { return *this < number(y); }
  mlir::Value operator>(double y) const {
    return compare(mlir::arith::CmpFPredicate::OGT, number(y));
  }
  mlir::Value operator==(Float y) const { return compare(mlir::arith::CmpFPredicate::OEQ, y); }
  mlir::Value operator==(double y) const { return *this == number(y); }
  Float select(mlir::Value condition, Float otherwise) const;
  /// Applies `step` to this value, and again to its result as long as the bool that it returns
  /// holds in any lane.
  Float repeat(llvm::function_ref<std::pair<Float, mlir::Value>(Float)> step) const;
  mlir::Value both(mlir::Value x, mlir::Value y) const;
  mlir::Value either(mlir::Value x, mlir::Value y) const;
  /// Lower and upper limits; NaN stays. The constant is the first operand of the comparison, so
  /// that LLVM makes one instruction of it.
  Float atLeast(double low) const;
  Float atMost(double high) const;

  /// An integer |n| < 2^22 (f64: 2^51), as a float and, where nothing scales by floats, as an
  /// integer of the same width.
  struct Whole {
    mlir::Value number, integer;
  };
  Whole nearest() const;
  /// 2^(n + more) in the range of normal exponents.
  Float powerOfTwo(Whole n, int more = 0) const;
  /// this * 2^n, where 2^n is in the range of normal exponents.
  Float scaleNormal(Whole n) const;
  /// this * 2^n: correct through overflow and denormals.
  Float scale(Whole n) const;
  /// The integer (|n| < 2^22) as a float of this type.
  Float fromInteger(mlir::Value n) const;
  mlir::Value bits() const;
  Float fromBits(mlir::Value bits) const;
  mlir::Value integer(int64_t x) const;
  template <typename Op> mlir::Value integerOp(mlir::Value x, mlir::Value y) const {
    return Op::create(*b, location, x, y);
  }
  /// The same value in f64, or a f64 value rounded to f32.
  Float toF64() const;
  Float toF32() const;

private:
  template <typename Op> Float make(Float y) const {
    return with(Op::create(*b, location, value, y.value));
  }
  mlir::Value constant(mlir::Type type, double x) const;
  mlir::Type sameShape(mlir::Type element) const;
  bool isScaled() const;
  int64_t mantissaBits() const { return isF64() ? 52 : 23; }

  mlir::OpBuilder *b;
  mlir::Location location;
  mlir::Value value;
  bool hasScales;
};

/// The float in every lane, if it is constant.
std::optional<llvm::APFloat> constantOf(mlir::Value value);

} // namespace gradc::lower

#endif
