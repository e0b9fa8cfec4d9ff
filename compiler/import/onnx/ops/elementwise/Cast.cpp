// Casts of values, including narrow types, and casts of bits.
#include "dialects/Pch.h"

#include "compiler/import/onnx/ImportGraph.h"
#include "compiler/import/onnx/model/Narrow.h"
#include "dialects/grad/Build.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

/// The attributes that define how floats are converted to narrow types.
static FailureOr<Narrowing> narrowing(Node &n) {
  Narrowing how;
  how.saturates = n.integer("saturate", 1);
  StringRef rounding = n.string("round_mode", "up");
  if (rounding == "down")
    how.rounding = Narrowing::down;
  else if (rounding == "nearest")
    how.rounding = Narrowing::nearest;
  else if (rounding != "up")
    return n.error() << "expected round_mode \"up\", \"down\" or \"nearest\", found \"" << rounding
                     << "\"";
  return how;
}

/// The numbers that the codes of operand 0 represent. Gradients pass the rounding to float8 or
/// float4 like casts between other floats.
static Expr decoded(Node &n) {
  Expr numbers = decode(n.expr(0u), *n.narrow(0));
  Value rounded = n.getEntry().roundedTo(n.operand(0));
  if (!rounded)
    return numbers;
  Expr x = n.expr(rounded).cast(numbers.element());
  return x.apply<StraightThroughOp>(numbers);
}

/// Casts operand 0 to the element type `narrow`, or to `element` if that is null.
static FailureOr<Value> castTo(Node &n, const NarrowType *narrow, Type element) {
  FailureOr<Narrowing> how = narrowing(n);
  if (failed(how))
    return failure();
  if (narrow && narrow == n.narrow(0))
    return n.operand(0);
  Expr x = n.narrow(0) ? decoded(n) : n.expr(0u);
  if (!narrow)
    return x.cast(element).get();
  bool isRounded = narrow->family != NarrowType::integer && isa<FloatType>(x.element());
  Value codes = encode(x, *narrow, *how);
  n.getEntry().markNarrow(codes, narrow, isRounded ? x.get() : Value());
  return codes;
}

static LogicalResult importCast(Node &n) {
  int32_t to = int32_t(n.integer("to", 0));
  const NarrowType *narrow = findNarrow(to);
  Type element = elementType(*n.builder().getContext(), to);
  if (!element && !narrow)
    return n.error() << "to " << dataTypeName(to) << " is not supported";
  FailureOr<Value> result = castTo(n, narrow, element);
  return failed(result) ? failure() : n.set(*result);
}

/// Only the type of operand 1 matters.
static LogicalResult importCastLike(Node &n) {
  FailureOr<Value> result = castTo(n, n.narrow(1), n.element(1));
  if (failed(result))
    return failure();
  auto extent = n.extent(0);
  return n.setLike(0, *result, extent ? extent->dim : 0);
}

/// A bool is a byte with value 0 or 1.
static LogicalResult importBitCast(Node &n) {
  int32_t to = int32_t(n.integer("to", 0));
  Type element = elementType(*n.builder().getContext(), to);
  auto bits = [](Type t) { return t.isInteger(1) ? 8 : t.getIntOrFloatBitWidth(); };
  if (!element)
    return n.error() << "to " << dataTypeName(to) << " is not supported";
  if (bits(element) != bits(n.element(0)))
    return n.error() << "expected a type of " << bits(n.element(0)) << " bits for "
                     << n.describeOperand(0) << ", found " << dataTypeName(to);
  if (n.element(0).isInteger(1) || element.isInteger(1) || n.element(0) == element)
    return n.set(n.expr(0u).cast(element));
  return n.set(n.builder().createOrFold<BitCastOp>(
      n.loc(), RankedTensorType::get(n.shape(0), element), n.operand(0)));
}

void gradc::addCastOps(OpTable &ops) {
  ops["Cast"] = {importCast, 1, 1};
  ops["CastLike"] = {importCastLike, 2, 2};
  ops["BitCast"] = {importBitCast, 1, 1};
  takeExtents(ops, TakesExtents::itself, {"CastLike"});
  takeExtents(ops, TakesExtents::pointwise, {"Cast", "BitCast"});
  takeNarrow(ops, TakesNarrow::itself, {"Cast", "CastLike"});
}
