// Loops over register tiles. Each sum has a fixed order, independent of the thread.
#include "compiler/codegen/cpu/ops/AttentionTiles.h"

#include "compiler/codegen/cpu/ops/OneOp.h"
#include "dialects/grad/HostTensor.h"
#include "dialects/grad/math/Philox.h"
#include "dialects/grad/math/Random.h"

using namespace mlir;
using namespace gradc::cpu;
using namespace gradc::tile;
using namespace gradc::cpu::attention;

static constexpr double infinity = std::numeric_limits<double>::infinity();

Point Tensor::at(const LinearExpr &batch, const LinearExpr &head, const LinearExpr &position,
                 const LinearExpr &element, int64_t valid) const {
  LinearExpr logical[] = {batch, head, position, element};
  logical[3].lane = valid ? 1 : 0;
  Point point{{}, valid};
  for (auto [dim, size] : llvm::zip(order, type.getShape()))
    point.coordinates.push_back(size == 1 && dim < 3 ? LinearExpr(0) : logical[dim]);
  return point;
}

Point attention::lanesAt(const LoopNest &nest, const LinearExpr &row, LinearExpr column) {
  column.lane = 1;
  return {{row, column}, nest.lanes};
}
Point attention::elementAt(const LinearExpr &row, const LinearExpr &column) {
  return {{row, column}, 0};
}

Tiles::Tiles(LoopNest &nest, exec::KernelOp kernel, grad::AttentionOpInterface op,
             ArrayRef<Memory> slices, Value scratch)
    : nest(nest), form(op.getAttention()), sizes(form),
      element(getElementTypeOrSelf(form.query.getType())),
      block(attentionBlock(form, kernel.getScheduleAttr())) {
  auto tensor = [&](Value v, const Memory &memory) {
    return Tensor(memory, cast<RankedTensorType>(v.getType()), form.order);
  };
  auto bind = [&](Value v) {
    auto argument = dyn_cast_or_null<BlockArgument>(v);
    return argument ? tensor(v, slices[argument.getArgNumber()]) : Tensor();
  };
  query = bind(form.query);
  key = bind(form.key);
  value = bind(form.value);
  mask = bind(form.mask);
  result = bind(form.result);
  statistic = bind(form.statistic);
  gradient = bind(form.gradient);
  if (form.dropout)
    for (auto [scalar, given] : {std::pair(&seed, form.dropout->seed), {&step, form.dropout->step}})
      *scalar = nest.splat(
          slices[cast<BlockArgument>(given).getArgNumber()].load(nest, Point{{}, /*valid=*/0}));
  size_t slot = kernel.getBlock().getNumArguments();
  for (Value yielded : kernel.getYielded())
    results[cast<OpResult>(yielded).getResultNumber()] = tensor(yielded, slices[slot++]);

  int64_t offset = 0, bytes = grad::elementBytes(element);
  for (auto [piece, shape] : llvm::zip(pieces, attentionScratch(form, block, nest.lanes))) {
    Value base = nest.addressBehind(scratch, nest.builder.getI8Type(), offset);
    piece = Memory(base, RankedTensorType::get(shape, element), {});
    offset += scratchBytes(shape, bytes, nest.level);
  }
}

// Loops -------------------------------------------------------------------------------------------

void Tiles::forAll(Value count, Body body) {
  nest.loop(nest.constant(0), count, {}, [&](LinearExpr i, ValueRange) {
    body(i);
    return Values();
  });
}

Tiles::Values Tiles::forRows(const Rows &rows, ValueRange carried,
                             llvm::function_ref<Values(LinearExpr, int64_t, ValueRange)> body) {
  OpBuilder &b = nest.builder;
  int64_t height = nest.level.tileRows;
  Value step = nest.constant(height);
  Value full = arith::DivUIOp::create(b, nest.location, rows.count, step);
  Values values = nest.loop(nest.constant(0), full, carried, [&](LinearExpr i, ValueRange now) {
    return body(i * height, height, now);
  });
  if (rows.rest == 0)
    return values;
  Value done = arith::MulIOp::create(b, nest.location, full, step);
  if (rows.rest < 0)
    return nest.loop(done, rows.count, values,
                     [&](LinearExpr row, ValueRange now) { return body(row, 1, now); });
  Value isLeft =
      arith::CmpIOp::create(b, nest.location, arith::CmpIPredicate::slt, done, rows.count);
  LinearExpr row = nest.variable(done);
  if (!values.empty())
    return nest.choose(isLeft, values, [&] { return body(row, rows.rest, values); });
  nest.when(isLeft, [&] { body(row, rows.rest, {}); });
  return values;
}

void Tiles::forColumns(int64_t width,
                       llvm::function_ref<void(LinearExpr, ArrayRef<int64_t>)> body) {
  int64_t panel = nest.lanes * nest.level.tileVectors, full = width / panel;
  auto columnsOf = [&](int64_t rest) {
    SmallVector<int64_t> valid;
    for (; rest > 0; rest -= nest.lanes)
      valid.push_back(std::min(rest, nest.lanes));
    return valid;
  };
  if (full > 0)
    forAll(full, [&](LinearExpr i) { body(i * panel, columnsOf(panel)); });
  if (width % panel)
    body(LinearExpr(full * panel), columnsOf(width % panel));
}

// Products ----------------------------------------------------------------------------------------

Tiles::Values Tiles::product(Values initial, int64_t vectors, Value steps, Operand lhs,
                             Operand rhs) {
  int64_t height = initial.size() / vectors;
  return nest.loop(nest.constant(0), steps, initial, [&](LinearExpr step, ValueRange sums) {
    Values columns, next;
    for (int64_t v = 0; v < vectors; ++v)
      columns.push_back(rhs(step, v));
    for (int64_t row = 0; row < height; ++row) {
      Value scalar = nest.splat(lhs(step, row));
      for (int64_t v = 0; v < vectors; ++v)
        next.push_back(vector::FMAOp::create(nest.builder, nest.location, scalar, columns[v],
                                             sums[row * vectors + v]));
    }
    return next;
  });
}

void Tiles::addProduct(const Memory &sums, Sums at, const Rows &rows, int64_t width, Value steps,
                       llvm::function_ref<Value(LinearExpr)> factor,
                       llvm::function_ref<Value(LinearExpr, LinearExpr)> lhs,
                       llvm::function_ref<Value(LinearExpr, LinearExpr, int64_t)> rhs) {
  forColumns(width, [&](LinearExpr column, ArrayRef<int64_t> valid) {
    int64_t vectors = valid.size();
    forRows(rows, {}, [&](LinearExpr row, int64_t height, ValueRange) {
      Values initial;
      SmallVector<Point> points;
      for (int64_t i = 0; i < height; ++i) {
        LinearExpr r = row + LinearExpr(i);
        Value scale = factor ? nest.splat(factor(r)) : Value();
        for (int64_t v = 0; v < vectors; ++v) {
          points.push_back(at(r, column + LinearExpr(v * nest.lanes), valid[v]));
          Value sum = sums.load(nest, points.back());
          initial.push_back(scale ? multiply(sum, scale) : sum);
        }
      }
      Values next = product(
          initial, vectors, steps,
          [&](LinearExpr step, int64_t i) { return lhs(step, row + LinearExpr(i)); },
          [&](LinearExpr step, int64_t v) {
            return rhs(step, column + LinearExpr(v * nest.lanes), valid[v]);
          });
      for (auto [point, sum] : llvm::zip_equal(points, next))
        sums.store(nest, point, sum);
      return Values();
    });
  });
}

// Transposed blocks -------------------------------------------------------------------------------

void Tiles::transposeSquare(LinearExpr row, int64_t valid,
                            llvm::function_ref<Value(LinearExpr)> load,
                            llvm::function_ref<void(int64_t, Value)> store) {
  Values square;
  for (int64_t i = 0; i < nest.lanes; ++i)
    square.push_back(load(row + LinearExpr(i)));
  square = transposeRegisters(nest, square);
  for (int64_t i = 0; i < valid; ++i)
    store(i, square[i]);
}

void Tiles::transpose(int64_t rows, int64_t width, const Memory &to,
                      llvm::function_ref<Value(LinearExpr, LinearExpr, int64_t)> load) {
  int64_t lanes = nest.lanes;
  forAll(rows / lanes, [&](LinearExpr i) {
    LinearExpr row = i * lanes;
    auto square = [&](LinearExpr column, int64_t valid) {
      transposeSquare(
          row, valid, [&](LinearExpr r) { return load(r, column, valid); },
          [&](int64_t c, Value v) {
            to.store(nest, lanesAt(nest, column + LinearExpr(c), row), v);
          });
    };
    if (width >= lanes)
      forAll(width / lanes, [&](LinearExpr j) { square(j * lanes, lanes); });
    if (width % lanes)
      square(LinearExpr(width - width % lanes), width % lanes);
  });
}

// Values ------------------------------------------------------------------------------------------

Value Tiles::number(double value) {
  auto vector = nest.vectorOf(element);
  return arith::ConstantOp::create(
      nest.builder, nest.location,
      DenseElementsAttr::get(vector, nest.builder.getFloatAttr(element, value)));
}
Value Tiles::add(Value x, Value y) {
  return arith::AddFOp::create(nest.builder, nest.location, x, y);
}
Value Tiles::subtract(Value x, Value y) {
  return arith::SubFOp::create(nest.builder, nest.location, x, y);
}
Value Tiles::multiply(Value x, Value y) {
  return arith::MulFOp::create(nest.builder, nest.location, x, y);
}
Value Tiles::maximum(Value x, Value y) {
  return arith::MaximumFOp::create(nest.builder, nest.location, x, y, arith::FastMathFlags::nsz);
}
Value Tiles::exponential(Value x) { return math::ExpOp::create(nest.builder, nest.location, x); }

Value Tiles::sumOfLanes(Value vector) {
  return nest.combineLanes(vector, [&](Value x, Value y) { return add(x, y); });
}

Value Tiles::maskTerm(Value mask) {
  Type type = mask.getType();
  if (!getElementTypeOrSelf(type).isInteger(1))
    return nest.splat(mask);
  return arith::SelectOp::create(nest.builder, nest.location, nest.splat(mask), number(0),
                                 number(-infinity));
}

Value Tiles::position(const LinearExpr &e, bool alongLanes) {
  OpBuilder &b = nest.builder;
  Type integer = b.getIntegerType(element.getIntOrFloatBitWidth());
  Value first = nest.index(e);
  if (integer != first.getType())
    first = arith::TruncIOp::create(b, nest.location, integer, first);
  first = nest.splat(first);
  if (!alongLanes)
    return first;
  SmallVector<Attribute> lanes;
  for (int64_t l = 0; l < nest.lanes; ++l)
    lanes.push_back(b.getIntegerAttr(integer, l));
  Value steps = arith::ConstantOp::create(b, nest.location,
                                          DenseElementsAttr::get(nest.vectorOf(integer), lanes));
  return arith::AddIOp::create(b, nest.location, first, steps);
}

Value Tiles::hide(Value score, Value query, Value key) {
  Value sees =
      arith::CmpIOp::create(nest.builder, nest.location, arith::CmpIPredicate::sge, query, key);
  return arith::SelectOp::create(nest.builder, nest.location, sees, score, number(-infinity));
}

Value Tiles::smaller(Value x, Value y) {
  return arith::MinSIOp::create(nest.builder, nest.location, x, y);
}

Value Tiles::isBefore(const LinearExpr &e, int64_t end) {
  return arith::CmpIOp::create(nest.builder, nest.location, arith::CmpIPredicate::slt,
                               position(e, /*alongLanes=*/true),
                               position(LinearExpr(end), /*alongLanes=*/false));
}

Value Tiles::noMask() {
  if (!getElementTypeOrSelf(form.mask.getType()).isInteger(1))
    return number(0);
  auto type = nest.vectorOf(nest.builder.getI1Type());
  return arith::ConstantOp::create(nest.builder, nest.location, DenseElementsAttr::get(type, true));
}

Value Tiles::drop(Value weights, const Head &head, const LinearExpr &query, const LinearExpr &key,
                  bool keysAlongLanes) {
  if (!form.dropout)
    return weights;
  OpBuilder &b = nest.builder;
  Location loc = nest.location;
  Type word = b.getI32Type();
  int64_t scores = sizes.queries * sizes.keys, stride = keysAlongLanes ? 1 : sizes.keys;
  Value first = nest.index(head.batch * (sizes.heads * scores) + head.query * scores +
                           query * sizes.keys + key);
  first = nest.splat(arith::TruncIOp::create(b, loc, word, first));
  SmallVector<Attribute> lanes;
  for (int64_t l = 0; l < nest.lanes; ++l)
    lanes.push_back(b.getI32IntegerAttr(int32_t(uint32_t(l * stride))));
  Value steps =
      arith::ConstantOp::create(b, loc, DenseElementsAttr::get(nest.vectorOf(word), lanes));
  Value threshold = arith::ConstantOp::create(
      b, loc,
      DenseElementsAttr::get(nest.vectorOf(word),
                             APInt(32, grad::dropThreshold(form.dropout->ratio))));
  Value bits = grad::buildRandomBits(b, loc, arith::AddIOp::create(b, loc, first, steps),
                                     form.dropout->stream, seed, step);
  Value isKept = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::uge, bits, threshold);
  Value kept = multiply(weights, number(1 / (1 - form.dropout->ratio)));
  return arith::SelectOp::create(b, loc, isKept, kept, number(0));
}

LinearExpr Tiles::clamp(const LinearExpr &row, int64_t last) {
  return nest.variable(smaller(nest.index(row), nest.constant(last)));
}

/// Units are counted along the batch, so no other dim may hold rows of the run.
static bool hasRowsInBatchOnly(exec::KernelOp kernel, ArrayRef<int64_t> order) {
  auto extents = kernel.getExtentsAttr();
  return !extents || llvm::all_of(extents.getAsRange<DenseI64ArrayAttr>(), [&](auto operand) {
    ArrayRef<int64_t> dims = operand;
    return llvm::all_of(llvm::enumerate(dims),
                        [&](auto dim) { return dim.value() <= 0 || order[dim.index()] == 0; });
  });
}

LogicalResult gradc::cpu::emitAttention(OneOp &op) {
  grad::AttentionOpInterface attention = findAttention(op.kernel);
  bool isAlone = attention && llvm::hasSingleElement(op.kernel.getBlock().without_terminator());
  if (!isAlone)
    return op.kernel.emitOpError("expected one attention or its gradient, and nothing beside it");
  if (!hasRowsInBatchOnly(op.kernel, attention.getAttention().order))
    return op.kernel.emitOpError(
        "expected rows of the batch along the batch dim of an attention only");
  Tiles tiles(op.nest, op.kernel, attention, op.slices, op.scratch);
  if (tiles.form.isGradient())
    emitGradient(tiles, op.begin, op.end);
  else
    emitForward(tiles, op.begin, op.end);
  return success();
}
