// Expr's operators and the loop builders shared by the families.
#include "dialects/grad/Build.h"
#include "dialects/grad/EntryAttributes.h"

using namespace mlir;
using namespace mlir::grad;

Value grad::splat(OpBuilder &b, Location loc, RankedTensorType type, double value) {
  Type e = type.getElementType();
  HostTensor one(RankedTensorType::get({}, e));
  one.setFloat(0, value);
  DenseElementsAttr attr = e.isInteger(1) ? DenseElementsAttr::get(type, value != 0)
                                          : DenseElementsAttr::getFromRawBuffer(type, one.bytes());
  return ConstantOp::create(b, loc, type, attr);
}

Value grad::constant(OpBuilder &b, Location loc, const HostTensor &value) {
  return ConstantOp::create(b, loc, value.getType(), value.toAttribute());
}

SmallVector<int64_t> grad::otherDims(int64_t rank, ArrayRef<int64_t> dims) {
  SmallVector<int64_t> rest;
  for (int64_t d = 0; d < rank; ++d)
    if (!llvm::is_contained(dims, d))
      rest.push_back(d);
  return rest;
}

std::string grad::formatDims(ArrayRef<int64_t> dims) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << '[';
  llvm::interleaveComma(dims, os);
  os << ']';
  return text;
}

RankedTensorType grad::signlessType(Type type) {
  auto t = cast<RankedTensorType>(type);
  Type e = t.getElementType();
  if (isa<IntegerType>(e))
    e = IntegerType::get(type.getContext(), e.getIntOrFloatBitWidth());
  return RankedTensorType::get(t.getShape(), e);
}

Expr Expr::splat(double number) const {
  return with(grad::splat(*builder, location, type(), number));
}
Expr Expr::compare(ComparePredicate predicate, Value rhs) const {
  return with(builder->createOrFold<CompareOp>(location, predicate, value, rhs));
}
Expr Expr::select(Value onTrue, Value onFalse) const {
  return with(builder->createOrFold<SelectOp>(location, value, onTrue, onFalse));
}
Expr Expr::cast(Type element) const {
  if (type().getElementType() == element)
    return *this;
  return with(builder->createOrFold<CastOp>(location, type().clone(element), value));
}
Expr Expr::wide() const { return cast(accumulatorOf(element())); }
Expr Expr::broadcast(RankedTensorType to, ArrayRef<int64_t> dims) const {
  if (to == type())
    return *this;
  return with(builder->createOrFold<BroadcastOp>(location, to, value, dims));
}
Expr Expr::reshape(ArrayRef<int64_t> to) const {
  if (to == shape())
    return *this;
  return with(builder->createOrFold<ReshapeOp>(location, type().clone(to), value));
}
Expr Expr::transpose(ArrayRef<int64_t> permutation) const {
  return with(builder->createOrFold<TransposeOp>(location, value, permutation));
}
Expr Expr::sum(ArrayRef<int64_t> dims) const {
  if (dims.empty())
    return *this;
  return with(builder->createOrFold<ReduceSumOp>(location, value, dims));
}

Expr Expr::slice(int64_t dim, int64_t start, int64_t size, int64_t stride) const {
  SmallVector<int64_t> starts(shape().size(), 0), sizes(shape()), strides(shape().size(), 1);
  starts[dim] = start;
  sizes[dim] = size;
  strides[dim] = stride;
  return with(builder->createOrFold<SliceOp>(location, value, starts, sizes, strides));
}

Value grad::concatenate(OpBuilder &builder, Location location, ArrayRef<Value> parts, int64_t dim) {
  return parts.size() == 1 ? parts.front()
                           : builder.createOrFold<ConcatenateOp>(location, parts, dim);
}

Expr grad::sumOfSquares(Expr x) {
  int64_t rank = x.type().getRank();
  Expr squares = x * x;
  if (rank > 1)
    squares = squares.sum(rank - 1);
  return squares.sum(llvm::to_vector(llvm::seq<int64_t>(0, rank > 1 ? rank - 1 : rank)));
}

Expr grad::operator+(Expr a, Expr b) { return a.apply<AddOp>(b); }
Expr grad::operator-(Expr a, Expr b) { return a.apply<SubOp>(b); }
Expr grad::operator*(Expr a, Expr b) { return a.apply<MulOp>(b); }
Expr grad::operator/(Expr a, Expr b) { return a.apply<DivOp>(b); }
Expr grad::operator-(Expr a) { return a.apply<NegOp>(); }
Expr grad::operator+(Expr a, double b) { return a + a.splat(b); }
Expr grad::operator-(Expr a, double b) { return a - a.splat(b); }
Expr grad::operator*(Expr a, double b) { return a * a.splat(b); }
Expr grad::operator/(Expr a, double b) { return a / a.splat(b); }
Expr grad::operator+(double a, Expr b) { return b.splat(a) + b; }
Expr grad::operator-(double a, Expr b) { return b.splat(a) - b; }
Expr grad::operator*(double a, Expr b) { return b.splat(a) * b; }
Expr grad::operator/(double a, Expr b) { return b.splat(a) / b; }

/// The function under construction; the builder may be within regions of its ops.
static func::FuncOp entryAround(OpBuilder &builder) {
  Operation *parent =
      builder.getInsertionBlock() ? builder.getInsertionBlock()->getParentOp() : nullptr;
  while (isa_and_nonnull<IfOp, ScanOp>(parent))
    parent = parent->getParentOp();
  return dyn_cast_or_null<func::FuncOp>(parent);
}

void grad::buildRegion(OpBuilder &around, Block &block, llvm::function_ref<void()> build) {
  auto standIn =
      func::FuncOp::create(around.getUnknownLoc(), "region", around.getFunctionType({}, {}));
  func::FuncOp entry = entryAround(around);
  if (Attribute batch = entry ? entry->getAttr(batchName) : Attribute())
    standIn->setAttr(batchName, batch);
  standIn.getBody().push_back(&block);
  build();
  standIn.getBody().getBlocks().remove(&block);
  standIn.erase();
}

bool grad::mayHoldBatch(OpBuilder &builder, RankedTensorType type, ArrayRef<int64_t> dims) {
  if (func::FuncOp function = entryAround(builder))
    if (auto batch = function->getAttrOfType<IntegerAttr>(batchName))
      return batch.getInt() > 1 && llvm::any_of(dims, [&](int64_t d) {
               return type.getDimSize(d) > 0 && type.getDimSize(d) % batch.getInt() == 0;
             });
  return false;
}

Expr grad::zerosWithRowsOf(Expr x) {
  // A product with 0 is not simplified, because it is NaN for an infinity; this factor is 0 or 1.
  Expr factor = x.with(IsFiniteOp::create(x.getBuilder(), x.getLoc(), x.get()));
  return factor.cast(x.element()) * 0.0;
}

Value grad::fillLoops(OpBuilder &b, Location loc, RankedTensorType type, const HostTensor &value) {
  Type e = type.getElementType();
  // Unsigned values wrap into the signless type.
  auto integer = [&] {
    return APInt(e.getIntOrFloatBitWidth(), value.getInt(0), /*isSigned=*/true,
                 /*implicitTrunc=*/true);
  };
  TypedAttr scalar = isa<FloatType>(e) ? TypedAttr(b.getFloatAttr(e, value.getFloat(0)))
                                       : TypedAttr(b.getIntegerAttr(e, integer()));
  return fillLoops(b, loc, type.getShape(), scalar);
}

Value grad::fillLoops(OpBuilder &b, Location loc, ArrayRef<int64_t> shape, TypedAttr value) {
  Value scalar = arith::ConstantOp::create(b, loc, value);
  Value empty = tensor::EmptyOp::create(b, loc, shape, value.getType());
  return linalg::FillOp::create(b, loc, scalar, empty).getResult(0);
}

static bool isShortFloat(Type t) { return isa<FloatType>(t) && t.getIntOrFloatBitWidth() < 32; }

Type grad::accumulatorOf(Type element) {
  return isShortFloat(element) ? Float32Type::get(element.getContext()) : element;
}

SmallVector<Value> grad::roundLoops(OpBuilder &b, Operation *op, Value wide) {
  Type element = signlessType(op->getResult(0).getType()).getElementType();
  if (getElementTypeOrSelf(wide) == element)
    return {wide};
  return pointwiseLoops(b, op, wide, [&](OpBuilder &nested, Location loc, ValueRange args) {
    return SmallVector<Value>{arith::TruncFOp::create(nested, loc, element, args[0])};
  });
}

SmallVector<Value> grad::pointwiseLoops(
    OpBuilder &b, Operation *op, ValueRange operands,
    llvm::function_ref<SmallVector<Value>(OpBuilder &, Location, ValueRange)> body) {
  SmallVector<Type> types;
  SmallVector<Value> outputs;
  for (Type t : op->getResultTypes()) {
    types.push_back(signlessType(t));
    auto ranked = cast<RankedTensorType>(types.back());
    outputs.push_back(
        tensor::EmptyOp::create(b, op->getLoc(), ranked.getShape(), ranked.getElementType()));
  }
  int64_t rank = cast<RankedTensorType>(types.front()).getRank();
  SmallVector<AffineMap> maps(operands.size() + outputs.size(), b.getMultiDimIdentityMap(rank));
  SmallVector<utils::IteratorType> iterators(rank, utils::IteratorType::parallel);
  auto generic = linalg::GenericOp::create(
      b, op->getLoc(), types, operands, outputs, maps, iterators,
      [&](OpBuilder &nested, Location loc, ValueRange args) {
        SmallVector<Value> scalars(args.take_front(operands.size()));
        for (Value &scalar : scalars)
          if (isShortFloat(scalar.getType()))
            scalar = arith::ExtFOp::create(nested, loc, nested.getF32Type(), scalar);
        SmallVector<Value> yields = body(nested, loc, scalars);
        for (auto [yield, out] : llvm::zip_equal(yields, args.drop_front(operands.size())))
          if (isShortFloat(out.getType()) && yield.getType() != out.getType())
            yield = nested.createOrFold<arith::TruncFOp>(loc, out.getType(), yield);
        linalg::YieldOp::create(nested, loc, yields);
      });
  return SmallVector<Value>(generic.getResults());
}
