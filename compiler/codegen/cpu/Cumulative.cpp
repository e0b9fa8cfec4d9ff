// Each unit is a row, or neighbouring rows in vectors. One loop carries the sum or product so far.
// That of floats is in f64: to a long sum in f32, each element would add only its leading digits.
#include "compiler/codegen/cpu/Cumulative.h"

#include "compiler/codegen/cpu/RowWalk.h"
#include "passes/schedule/CumulativeKernel.h"

using namespace mlir;
using namespace gradc::cpu;
using namespace gradc::tile;

namespace {

class Accumulation {
public:
  Accumulation(exec::KernelOp kernel, LoopNest &nest, const Memory &operand, const Memory &result)
      : plan(*gradc::CumulativePlan::of(kernel)), nest(nest), b(nest.builder), operand(operand),
        result(result), shape(kernel.getRoot().getShape()),
        element(kernel.getRoot().getElementType()), isFloat(isa<FloatType>(element)),
        width(plan.dim + 1 == int64_t(shape.size()) ? 1
                                                    : kernel.getScheduleAttr().getTile().back()) {}

  /// The rows of the tile that begins at `first`: `width` of them, or what is left of the last dim.
  void emitTile(ArrayRef<LinearExpr> first) {
    int64_t rows = shape.back(), rest = rows % width;
    if (width == 1 || rest == 0)
      return emitRows(first, width);
    if (rows < width)
      return emitRows(first, rest);
    Value column = nest.index(first.back()), lastWhole = nest.constant(rows - width);
    auto when = [&](arith::CmpIPredicate how, int64_t count) {
      nest.when(arith::CmpIOp::create(b, nest.location, how, column, lastWhole),
                [&] { emitRows(first, count); });
    };
    when(arith::CmpIPredicate::sle, width);
    when(arith::CmpIPredicate::sgt, rest);
  }

private:
  /// `count` rows, from `first` on along the last dim.
  void emitRows(ArrayRef<LinearExpr> first, int64_t count) {
    auto rank = int64_t(shape.size());
    auto dims = llvm::to_vector(llvm::seq<int64_t>(0, rank));
    SmallVector<int64_t> extents(rank, 1);
    extents.back() = count;
    SmallVector<Value> start(llvm::divideCeil(count, nest.lanes), initial());
    nest.loop(
        nest.constant(0), nest.constant(plan.size), start, [&](LinearExpr i, ValueRange before) {
          SmallVector<LinearExpr> at(first);
          at[size_t(plan.dim)] = plan.isReversed ? fromEnd(i) : i;
          SmallVector<Point> points =
              tilePoints(dims, at, extents, /*laneDim=*/width > 1 ? rank - 1 : -1, nest.lanes);
          SmallVector<Value> next;
          for (auto [point, all] : llvm::zip_equal(points, before)) {
            next.push_back(combine(all, widen(operand.load(nest, point))));
            result.store(nest, point, round(plan.isExclusive ? all : next.back()));
          }
          return next;
        });
  }

  LinearExpr fromEnd(const LinearExpr &i) {
    return nest.variable(apply<arith::SubIOp>(nest.constant(plan.size - 1), nest.index(i)));
  }

  /// The sum or product of no elements, in each lane.
  Value initial() {
    int64_t number = plan.isSum ? 0 : 1;
    TypedAttr attribute = isFloat ? TypedAttr(b.getF64FloatAttr(double(number)))
                                  : TypedAttr(b.getIntegerAttr(element, number));
    Value scalar = arith::ConstantOp::create(b, nest.location, attribute);
    return width > 1 ? nest.splat(scalar) : scalar;
  }

  Value combine(Value x, Value y) {
    if (isFloat)
      return plan.isSum ? apply<arith::AddFOp>(x, y) : apply<arith::MulFOp>(x, y);
    return plan.isSum ? apply<arith::AddIOp>(x, y) : apply<arith::MulIOp>(x, y);
  }
  template <typename Op> Value apply(Value x, Value y) {
    return Op::create(b, nest.location, x, y);
  }

  // Between 16 bits and f64 no machine converts in one step.
  Value widen(Value x) {
    for (Type wider : {Type(b.getF32Type()), Type(b.getF64Type())})
      if (isFloat && bitsOf(x.getType()) < bitsOf(wider))
        x = arith::ExtFOp::create(b, nest.location, like(x, wider), x);
    return x;
  }
  Value round(Value x) {
    for (Type narrower : {Type(b.getF32Type()), element})
      if (isFloat && bitsOf(x.getType()) > bitsOf(narrower) && bitsOf(narrower) >= bitsOf(element))
        x = arith::TruncFOp::create(b, nest.location, like(x, narrower), x);
    return x;
  }
  static unsigned bitsOf(Type type) { return getElementTypeOrSelf(type).getIntOrFloatBitWidth(); }
  /// `type` for a number, vectors of it for a vector.
  static Type like(Value x, Type type) {
    auto vector = dyn_cast<VectorType>(x.getType());
    return vector ? Type(vector.clone(type)) : type;
  }

  gradc::CumulativePlan plan;
  LoopNest &nest;
  OpBuilder &b;
  const Memory &operand, &result;
  ArrayRef<int64_t> shape;
  Type element;
  bool isFloat;
  int64_t width; ///< rows of a tile along the last dim; 1: numbers, not vectors
};

} // namespace

LogicalResult gradc::cpu::emitCumulative(exec::KernelOp kernel, LoopNest &nest,
                                         const Memory &operand, const Memory &result, Value begin,
                                         Value end) {
  if (kernel.getRowsOf(gradc::CumulativePlan::of(kernel)->dim))
    return kernel.emitOpError("expected a fixed number of elements along the dim");
  Accumulation tile(kernel, nest, operand, result);
  return forEachRow(kernel, nest, begin, end,
                    [&](ArrayRef<LinearExpr> first) { tile.emitTile(first); });
}
