// Narrow types are codes in bytes. Conversions are integer arithmetic on the codes, so no pass,
// kernel, or device knows these types.
#include "dialects/Pch.h"

#include "compiler/import/onnx/model/Narrow.h"

#include <cmath>

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

static constexpr NarrowType types[] = {
    {17, NarrowType::floating, 8, true, 3, 7, 0x7e, 0x7f},                // float8e4m3fn
    {18, NarrowType::floating, 8, true, 3, 8, 0x7f, 0x80, false, false},  // float8e4m3fnuz
    {19, NarrowType::floating, 8, true, 2, 15, 0x7b, 0x7e, true},         // float8e5m2
    {20, NarrowType::floating, 8, true, 2, 16, 0x7f, 0x80, false, false}, // float8e5m2fnuz
    {21, NarrowType::integer, 4, false},                                  // uint4
    {22, NarrowType::integer, 4, true},                                   // int4
    {23, NarrowType::floating, 4, true, 1, 1, 0x7, 0x8},                  // float4e2m1
    {24, NarrowType::exponent, 8, false, 0, 127, 0xfe, 0xff},             // float8e8m0
    {25, NarrowType::integer, 2, false},                                  // uint2
    {26, NarrowType::integer, 2, true},                                   // int2
};

const NarrowType *gradc::findNarrow(int32_t number) {
  const NarrowType *found =
      llvm::find_if(types, [&](const NarrowType &t) { return t.number == number; });
  return found == std::end(types) ? nullptr : found;
}

Type gradc::fileElementType(MLIRContext &context, int32_t number) {
  const NarrowType *narrow = findNarrow(number);
  if (!narrow)
    return elementType(context, number);
  if (narrow->family == NarrowType::integer)
    return IntegerType::get(&context, narrow->bits,
                            narrow->isSigned ? IntegerType::Signless : IntegerType::Unsigned);
  if (narrow->family == NarrowType::exponent)
    return Float8E8M0FNUType::get(&context);
  if (narrow->bits == 4)
    return Float4E2M1FNType::get(&context);
  if (narrow->mantissa == 3)
    return narrow->hasMinusZero ? Type(Float8E4M3FNType::get(&context))
                                : Type(Float8E4M3FNUZType::get(&context));
  return narrow->hasInfinity ? Type(Float8E5M2Type::get(&context))
                             : Type(Float8E5M2FNUZType::get(&context));
}

std::vector<char> gradc::unpacked(ArrayRef<char> packed, const NarrowType &type, int64_t count) {
  if (type.bits == 8)
    return packed.vec();
  std::vector<char> codes(count);
  unsigned perByte = 8 / type.bits, mask = (1u << type.bits) - 1;
  bool extends = type.family == NarrowType::integer && type.isSigned;
  for (int64_t i = 0; i < count; ++i) {
    // The first element is in the lowest bits.
    unsigned code = uint8_t(packed[i / perByte]) >> i % perByte * type.bits & mask;
    codes[i] = char(extends ? llvm::SignExtend32(code, type.bits) : code);
  }
  return codes;
}

static Expr bitCast(Expr x, Type element) {
  return x.with(
      x.getBuilder().createOrFold<BitCastOp>(x.getLoc(), x.type().clone(element), x.get()));
}

// From codes --------------------------------------------------------------------------------------

static Expr decodeInteger(Expr codes, const NarrowType &type) {
  Expr wide = codes.cast(codes.getBuilder().getI32Type());
  Expr bits = wide.apply<AndOp>(wide.splat((1 << type.bits) - 1));
  if (!type.isSigned)
    return bits;
  int half = 1 << (type.bits - 1);
  return bits.apply<XorOp>(bits.splat(half)) - half;
}

/// The exponent, and the implicit first bit of a normal number, are encoded as in f32.
static Expr decodeFloat(Expr codes, const NarrowType &type) {
  Builder &b = codes.getBuilder();
  Type f32 = b.getF32Type();
  Expr bits = codes.cast(b.getIntegerType(32, /*isSigned=*/false));
  unsigned sign = 1u << (type.bits - 1);
  Expr magnitude = bits.apply<AndOp>(bits.splat(sign - 1));
  Expr moved = magnitude.apply<ShiftLeftOp>(bits.splat(23 - type.mantissa));
  Expr normal = bitCast(moved + double((127 - type.bias) << 23), f32);
  Expr denormal = magnitude.cast(f32) * std::ldexp(1.0, 1 - type.bias - int(type.mantissa));
  Expr isDenormal = magnitude.compare(ComparePredicate::lt, bits.splat(1 << type.mantissa));
  Expr value = isDenormal.select(denormal, normal);
  if (type.hasInfinity)
    value = magnitude.compare(ComparePredicate::eq, bits.splat(type.most + 1))
                .select(value.splat(INFINITY), value);
  Expr isNegative =
      bits.apply<AndOp>(bits.splat(sign)).compare(ComparePredicate::ne, bits.splat(0));
  value = isNegative.select(-value, value);
  if (!type.hasMinusZero) // the code of -0 is NaN
    return bits.compare(ComparePredicate::eq, bits.splat(sign)).select(value.splat(NAN), value);
  unsigned last = type.most + type.hasInfinity;
  if (last == sign - 1)
    return value;
  return magnitude.compare(ComparePredicate::gt, bits.splat(last)).select(value.splat(NAN), value);
}

/// Powers of two: the exponent of an f32; the smallest one is a denormal's.
static Expr decodeExponent(Expr codes, const NarrowType &type) {
  Builder &b = codes.getBuilder();
  Expr bits = codes.cast(b.getIntegerType(32, /*isSigned=*/false));
  Expr value = bitCast(bits.apply<ShiftLeftOp>(bits.splat(23)), b.getF32Type());
  value = bits.compare(ComparePredicate::eq, bits.splat(0))
              .select(value.splat(std::ldexp(1.0, -type.bias)), value);
  return bits.compare(ComparePredicate::eq, bits.splat(type.nan)).select(value.splat(NAN), value);
}

Expr gradc::decode(Expr codes, const NarrowType &type) {
  switch (type.family) {
  case NarrowType::integer:
    return decodeInteger(codes, type);
  case NarrowType::floating:
    return decodeFloat(codes, type);
  case NarrowType::exponent:
    return decodeExponent(codes, type);
  }
  llvm_unreachable("a family");
}

// To codes ----------------------------------------------------------------------------------------

static Expr encodeInteger(Expr x, const NarrowType &type) {
  Expr wide = x.cast(x.getBuilder().getI32Type());
  Expr bits = wide.apply<AndOp>(wide.splat((1 << type.bits) - 1));
  int half = 1 << (type.bits - 1);
  return type.isSigned ? bits.apply<XorOp>(bits.splat(half)) - half : bits;
}

/// Rounds the bits of a float: the lost mantissa bits decide, and a carry goes into the exponent.
/// Denormal results are rounded after an exact multiplication by a power of two.
static Expr encodeFloat(Expr x, const NarrowType &type, Narrowing how) {
  Builder &b = x.getBuilder();
  bool isDouble = x.element().isF64();
  unsigned width = isDouble ? 64 : 32;
  int mantissa = isDouble ? 52 : 23, bias = isDouble ? 1023 : 127;
  Type unsignedType = b.getIntegerType(width, /*isSigned=*/false);
  Expr isNegative =
      bitCast(x, unsignedType).apply<ShiftRightOp>(bitCast(x, unsignedType).splat(width - 1));
  Expr size = x.apply<AbsOp>(), bits = bitCast(size, unsignedType);
  int lost = mantissa - int(type.mantissa);
  Expr moved = bits - std::ldexp(bias - type.bias, mantissa);
  Expr isOdd = moved.apply<ShiftRightOp>(bits.splat(lost)).apply<AndOp>(bits.splat(1));
  Expr rounded =
      (moved + isOdd + (std::ldexp(1.0, lost - 1) - 1)).apply<ShiftRightOp>(bits.splat(lost));
  Expr isDenormal = size.compare(ComparePredicate::lt, size.splat(std::ldexp(1.0, 1 - type.bias)));
  Expr steps = (size * std::ldexp(1.0, type.bias - 1 + int(type.mantissa))).apply<RoundOp>();
  Expr code = isDenormal.select(steps.cast(unsignedType), rounded);

  bool saturates = how.saturates || !type.hasNan();
  unsigned beyond = saturates ? type.most : type.hasInfinity ? type.most + 1 : type.nan;
  Expr isBeyond = code.compare(ComparePredicate::gt, bits.splat(type.most));
  code = isBeyond.select(bits.splat(beyond), code);
  code = x.compare(ComparePredicate::ne, x).select(bits.splat(type.nan), code);
  Expr sign = isNegative.apply<ShiftLeftOp>(bits.splat(type.bits - 1));
  Expr negative = code.apply<OrOp>(sign);
  if (type.hasMinusZero)
    return negative;
  Expr isZero = code.compare(ComparePredicate::eq, bits.splat(0));
  return isZero.select(code, negative);
}

/// The exponent of the f32, plus one if `how` rounds the mantissa up.
static Expr encodeExponent(Expr x, const NarrowType &type, Narrowing how) {
  Builder &b = x.getBuilder();
  Type u32 = b.getIntegerType(32, /*isSigned=*/false);
  Expr size = x.cast(b.getF32Type()).apply<AbsOp>(), bits = bitCast(size, u32);
  // Below the smallest normal f32, 2^-126, the bits count multiples of 2^-149, and code 0 is
  // 2^-127.
  constexpr unsigned one = 1u << 23, least = one / 2;
  Expr exponent = bits.apply<ShiftRightOp>(bits.splat(23));
  Expr rest = bits.apply<AndOp>(bits.splat(one - 1));
  Expr isDenormal = exponent.compare(ComparePredicate::eq, bits.splat(0));
  auto roundsFrom = [&](unsigned normal, unsigned denormal) {
    Expr limit = isDenormal.select(bits.splat(denormal), bits.splat(normal));
    return rest.compare(ComparePredicate::ge, limit).select(exponent + 1, exponent);
  };
  Expr code = how.rounding == Narrowing::down ? exponent
              : how.rounding == Narrowing::up ? roundsFrom(1, least + 1)
                                              : roundsFrom(one / 2, least + least / 2);
  Expr isBeyond = code.compare(ComparePredicate::gt, bits.splat(type.most));
  code = isBeyond.select(bits.splat(how.saturates ? type.most : type.nan), code);
  if (!how.saturates)
    code = bits.compare(ComparePredicate::lt, bits.splat(least)).select(bits.splat(type.nan), code);
  return size.compare(ComparePredicate::ne, size).select(bits.splat(type.nan), code);
}

Expr gradc::encode(Expr x, const NarrowType &type, Narrowing how) {
  Builder &b = x.getBuilder();
  Type element = x.element();
  if (type.family != NarrowType::integer && !element.isF64())
    x = x.cast(b.getF32Type());
  Expr codes = type.family == NarrowType::integer    ? encodeInteger(x, type)
               : type.family == NarrowType::floating ? encodeFloat(x, type, how)
                                                     : encodeExponent(x, type, how);
  return codes.cast(b.getIntegerType(8, /*isSigned=*/false));
}
