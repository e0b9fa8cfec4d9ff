// Each unit is a row, or neighbouring rows in vectors. One loop carries the sum or product so far:
// in registers or, of several units whose rows lie far apart, in scratch memory. That of floats is
// in f64: to a long sum in f32, each element would add only its leading digits.
#include "compiler/codegen/cpu/loops/PanelCopies.h"
#include "compiler/codegen/cpu/ops/OneOp.h"
#include "compiler/codegen/cpu/ops/RowWalk.h"
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
    withRows(first, [&](int64_t count) { emitRows(first, count); });
  }

  /// The tiles [from, to), at most `together` of them, whose elements at each step of the dim are
  /// visited before those of the next step.
  LogicalResult emitTogether(exec::KernelOp kernel, Value from, Value to, int64_t together,
                             Value scratch) {
    Type carried = isFloat ? b.getF64Type() : element;
    Memory sums(scratch, RankedTensorType::get({together * width}, carried), /*panel=*/{});
    LinearExpr before = nest.variable(from) * -1;
    auto start = [&](const LinearExpr &unit, ArrayRef<LinearExpr>) {
      for (int64_t row = 0; row < width; row += nest.lanes)
        sums.store(nest, sumsAt(unit + before, row), initial());
    };
    LogicalResult emitted = forEachUnit(kernel, nest, from, to, start);
    nest.loop(nest.constant(0), nest.constant(plan.size), {}, [&](LinearExpr i, ValueRange) {
      auto step = [&](const LinearExpr &unit, ArrayRef<LinearExpr> first) {
        withRows(first, [&](int64_t count) { emitStep(sums, unit + before, first, i, count); });
      };
      if (failed(forEachUnit(kernel, nest, from, to, step)))
        emitted = failure();
      return SmallVector<Value>();
    });
    return emitted;
  }

private:
  /// Calls `emit` with the number of rows of the tile that begins at `first`.
  void withRows(ArrayRef<LinearExpr> first, llvm::function_ref<void(int64_t)> emit) {
    int64_t rows = shape.back(), rest = rows % width;
    if (width == 1 || rest == 0)
      return emit(width);
    if (rows < width)
      return emit(rest);
    Value column = nest.index(first.back()), lastWhole = nest.constant(rows - width);
    auto when = [&](arith::CmpIPredicate how, int64_t count) {
      nest.when(arith::CmpIOp::create(b, nest.location, how, column, lastWhole),
                [&] { emit(count); });
    };
    when(arith::CmpIPredicate::sle, width);
    when(arith::CmpIPredicate::sgt, rest);
  }

  /// A vector of the sums of the tile in `slot`, from one of its rows on.
  Point sumsAt(const LinearExpr &slot, int64_t row) {
    LinearExpr at = slot * width + LinearExpr(row);
    at.lane = 1;
    return Point{{at}, nest.lanes};
  }

  /// Step `i` along the dim for `count` rows, whose sums are in `slot`.
  void emitStep(const Memory &sums, const LinearExpr &slot, ArrayRef<LinearExpr> first,
                const LinearExpr &i, int64_t count) {
    for (auto [k, point] : llvm::enumerate(pointsAt(first, i, count))) {
      Point sum = sumsAt(slot, int64_t(k) * nest.lanes);
      Value before = sums.load(nest, sum);
      Value next = combine(before, widen(operand.load(nest, point)));
      sums.store(nest, sum, next);
      result.store(nest, point, round(plan.isExclusive ? before : next));
    }
  }

  /// The vectors of `count` rows, or the element of one, at step `i` along the dim.
  SmallVector<Point> pointsAt(ArrayRef<LinearExpr> first, const LinearExpr &i, int64_t count) {
    auto rank = int64_t(shape.size());
    auto dims = llvm::to_vector(llvm::seq<int64_t>(0, rank));
    SmallVector<int64_t> extents(rank, 1);
    extents.back() = count;
    SmallVector<LinearExpr> at(first);
    at[size_t(plan.dim)] = plan.isReversed ? fromEnd(i) : i;
    return tilePoints(dims, at, extents, /*laneDim=*/width > 1 ? rank - 1 : -1, nest.lanes);
  }

  /// `count` rows, from `first` on along the last dim.
  void emitRows(ArrayRef<LinearExpr> first, int64_t count) {
    SmallVector<Value> start(llvm::divideCeil(count, nest.lanes), initial());
    nest.loop(nest.constant(0), nest.constant(plan.size), start,
              [&](LinearExpr i, ValueRange before) {
                SmallVector<Value> next;
                for (auto [point, all] : llvm::zip_equal(pointsAt(first, i, count), before)) {
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

LogicalResult gradc::cpu::emitCumulative(OneOp &op) {
  if (op.kernel.getRowsOf(gradc::CumulativePlan::of(op.kernel)->dim))
    return op.kernel.emitOpError("expected a fixed number of elements along the dim");
  Accumulation tile(op.kernel, op.nest, op.operand(), op.result());
  if (int64_t together = gradc::cumulativeTilesTogether(op.kernel, op.nest.level)) {
    LogicalResult emitted = success();
    forGroups(op.nest, op.begin, op.end, together, [&](Value from, Value to) {
      emitted = tile.emitTogether(op.kernel, from, to, together, op.scratch);
    });
    return emitted;
  }
  return forEachRow(op, [&](ArrayRef<LinearExpr> first) { tile.emitTile(first); });
}
