// Short ways to build grad ops: gradients and decompositions that are formulas should read as such.
#ifndef DIALECTS_GRAD_BUILD_H
#define DIALECTS_GRAD_BUILD_H

#include "dialects/grad/Grad.h"

namespace mlir::grad {

/// A value that builds: `a * b + 1.0` creates (and folds) grad ops at the builder. All operands of
/// an operator have the same type; a number stands for a splat of the other side's type.
class Expr {
public:
  Expr(OpBuilder &builder, Location location, Value value)
      : builder(&builder), location(location), value(value) {}
  operator Value() const { return value; }
  Value get() const { return value; }
  RankedTensorType type() const { return cast<RankedTensorType>(value.getType()); }
  ArrayRef<int64_t> shape() const { return type().getShape(); }
  OpBuilder &getBuilder() const { return *builder; }
  Location getLoc() const { return location; }

  /// A splat of this value's type.
  Expr splat(double number) const;
  /// Another value, built at the same place.
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
  Expr broadcast(RankedTensorType type, ArrayRef<int64_t> dims) const;
  Expr broadcastScalar(RankedTensorType type) const { return broadcast(type, {}); }
  Expr reshape(ArrayRef<int64_t> shape) const;
  Expr transpose(ArrayRef<int64_t> permutation) const;
  Expr sum(ArrayRef<int64_t> dims) const;

private:
  OpBuilder *builder;
  Location location;
  Value value;
};

/// A scalar. The last dim is summed first: the rows are independent, so that threads may share
/// them.
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

/// Whether the batch of the entry that is being built may be in `dims` of `type`.
bool mayHoldBatch(OpBuilder &builder, RankedTensorType type, ArrayRef<int64_t> dims);

/// Zeros of `x`'s type that hold rows of the batch where `x` does, which no constant shows: sums
/// over them are over the rows of a run.
Expr zerosWithRowsOf(Expr x);

/// Runs `build`, which fills `block`, a region of an op that will stand at `around`: until it is
/// there, the block answers for the entry around it.
void buildRegion(OpBuilder &around, Block &block, llvm::function_ref<void()> build);

/// A splat constant of `type`.
Value splat(OpBuilder &builder, Location location, RankedTensorType type, double value);
/// A constant from host memory.
Value constant(OpBuilder &builder, Location location, const HostTensor &value);

/// The dims of a tensor of `rank` that are not in `dims`.
SmallVector<int64_t> otherDims(int64_t rank, ArrayRef<int64_t> dims);

/// `[0, 2, 1]`, as errors quote dims.
std::string formatDims(ArrayRef<int64_t> dims);

/// `type` with unsigned integers made signless: what loops compute on.
RankedTensorType signlessType(Type type);

/// A tensor of `type` filled with the first element of `value`.
Value fillLoops(OpBuilder &builder, Location location, RankedTensorType type,
                const HostTensor &value);

/// A tensor of `shape` filled with `value`.
Value fillLoops(OpBuilder &builder, Location location, ArrayRef<int64_t> shape, TypedAttr value);

/// The accumulator type of sums and products of `element`: f32 for f16 and bf16.
Type accumulatorOf(Type element);
/// `wide`, which may be of an accumulator's type, rounded to the type of `op`'s first result.
SmallVector<Value> roundLoops(OpBuilder &builder, Operation *op, Value wide);

/// Builds a pointwise linalg.generic: `body(builder, location, scalars)` returns one scalar per
/// result. The body computes on f32 instead of f16 and bf16.
SmallVector<Value>
pointwiseLoops(OpBuilder &builder, Operation *op, ValueRange operands,
               llvm::function_ref<SmallVector<Value>(OpBuilder &, Location, ValueRange)> body);

} // namespace mlir::grad

#endif
