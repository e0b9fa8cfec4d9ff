// Shorthands for building grad ops, so that gradients and decompositions read as formulas.
#ifndef DIALECTS_GRAD_BUILD_H
#define DIALECTS_GRAD_BUILD_H

#include "dialects/grad/Grad.h"

namespace mlir::grad {

/// A value with operators: `a * b + 1.0` creates (and folds) grad ops at the builder. All operands
/// of an operator have the same type; a number means a splat of the other side's type.
class Expr {
public:
  Expr(OpBuilder &builder, Location location, Value value)
      : builder(&builder), location(location), value(value) {}
  operator Value() const { return value; }
  Value get() const { return value; }
  RankedTensorType type() const { return cast<RankedTensorType>(value.getType()); }
  ArrayRef<int64_t> shape() const { return type().getShape(); }
  Type element() const { return type().getElementType(); }
  OpBuilder &getBuilder() const { return *builder; }
  Location getLoc() const { return location; }

  /// A splat of this value's type.
  Expr splat(double number) const;
  /// Wraps another value with the same builder and location.
  Expr with(Value other) const { return Expr(*builder, location, other); }
  /// Applies a unary op of the same result type: `x.apply<ExpOp>()`.
  template <typename Op> Expr apply() const {
    return with(builder->createOrFold<Op>(location, value));
  }
  template <typename Op> Expr apply(Value rhs) const {
    return with(builder->createOrFold<Op>(location, value, rhs));
  }
  Expr compare(ComparePredicate predicate, Value rhs) const;
  /// This (a bool) ? a : b.
  Expr select(Value onTrue, Value onFalse) const;
  Expr cast(Type element) const;
  /// This in the type in which sums of it accumulate: formulas of several ops compute on f32
  /// instead of f16 and bf16, since f16 has no square of 300.
  Expr wide() const;
  Expr broadcast(RankedTensorType type, ArrayRef<int64_t> dims) const;
  Expr broadcastScalar(RankedTensorType type) const { return broadcast(type, {}); }
  Expr reshape(ArrayRef<int64_t> shape) const;
  Expr transpose(ArrayRef<int64_t> permutation) const;
  Expr sum(ArrayRef<int64_t> dims) const;
  /// `size` elements of `dim` from `start` on, `stride` apart.
  Expr slice(int64_t dim, int64_t start, int64_t size, int64_t stride = 1) const;

private:
  OpBuilder *builder;
  Location location;
  Value value;
};

/// The sum of squares, as a scalar. The last dim is summed first, since threads can share the
/// independent rows.
Expr sumOfSquares(Expr x);

Expr operator+(Expr a, Expr b);
Expr operator-(Expr a, Expr b);
Expr operator*(Expr a, Expr b);
Expr operator/(Expr a, Expr b);
Expr operator-(Expr a);
Expr operator+(Expr a, double b);
Expr operator-(Expr a, double b);
Expr operator*(Expr a, double b);
Expr operator/(Expr a, double b);
Expr operator+(double a, Expr b);
Expr operator-(double a, Expr b);
Expr operator*(double a, Expr b);
Expr operator/(double a, Expr b);

/// The parts after each other along `dim`; a single part is the result itself.
Value concatenate(OpBuilder &builder, Location location, ArrayRef<Value> parts, int64_t dim);

/// Whether `dims` of `type` may hold the batch of the entry under construction.
bool mayHoldBatch(OpBuilder &builder, RankedTensorType type, ArrayRef<int64_t> dims);

/// Zeros of `x`'s type that hold rows of the batch where `x` does, so that sums over them are over
/// the rows of a run. A constant would not hold rows.
Expr zerosWithRowsOf(Expr x);

/// Runs `build`, which fills `block`, the future region of an op at `around`. Until that op exists,
/// the block provides the information about the enclosing entry.
void buildRegion(OpBuilder &around, Block &block, llvm::function_ref<void()> build);

/// A splat constant of `type`.
Value splat(OpBuilder &builder, Location location, RankedTensorType type, double value);
/// A constant from host memory.
Value constant(OpBuilder &builder, Location location, const HostTensor &value);

/// The dims of a tensor of `rank` that are not in `dims`.
SmallVector<int64_t> otherDims(int64_t rank, ArrayRef<int64_t> dims);

/// Formats dims for errors: `[0, 2, 1]`.
std::string formatDims(ArrayRef<int64_t> dims);

/// `type` with unsigned integers made signless, as loops use it.
RankedTensorType signlessType(Type type);

/// A tensor of `type` filled with the first element of `value`.
Value fillLoops(OpBuilder &builder, Location location, RankedTensorType type,
                const HostTensor &value);

/// A tensor of `shape` filled with `value`.
Value fillLoops(OpBuilder &builder, Location location, ArrayRef<int64_t> shape, TypedAttr value);

/// The accumulator type of sums and products of `element`: f32 for f16 and bf16.
Type accumulatorOf(Type element);
/// `wide`, which may have the accumulator type, rounded to the type of `op`'s first result.
SmallVector<Value> roundLoops(OpBuilder &builder, Operation *op, Value wide);

/// Builds a pointwise linalg.generic: `body(builder, location, scalars)` returns one scalar per
/// result. The body computes on f32 instead of f16 and bf16.
SmallVector<Value>
pointwiseLoops(OpBuilder &builder, Operation *op, ValueRange operands,
               llvm::function_ref<SmallVector<Value>(OpBuilder &, Location, ValueRange)> body);

} // namespace mlir::grad

#endif
