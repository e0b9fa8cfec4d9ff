// Goes from the tensor to its codes: moved, scaled, widened, and relative to a zero point.
#include "passes/raise/Dequantized.h"

#include "dialects/grad/TensorTypes.h"
#include "dialects/grad/control/Control.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

/// What is repeated over a tensor of its shape.
static Spread spreadOf(Value value) {
  if (auto broadcast = value.getDefiningOp<BroadcastOp>()) {
    ArrayRef<int64_t> dims = broadcast.getDims();
    if (dims.size() > 1)
      return {};
    return {broadcast.getOperand(), dims.empty() ? std::nullopt : std::optional(dims[0])};
  }
  if (typeOf(value).getRank() == 0)
    return {value, std::nullopt};
  DenseElementsAttr splat = splatOf(value);
  if (!splat)
    return {};
  OpBuilder b(value.getContext());
  b.setInsertionPointAfterValue(value);
  auto scalar = RankedTensorType::get({}, splat.getElementType());
  return {ConstantOp::create(b, value.getLoc(), scalar, splat.resizeSplat(scalar)), std::nullopt};
}

/// The 8-bit codes that are widened to the value.
static Value narrowed(Value value) {
  auto cast = value.getDefiningOp<CastOp>();
  if (!cast)
    return {};
  Value from = cast.getOperand();
  return getElementTypeOrSelf(from).isInteger(8) ? from : Value();
}

/// code - zero point, in 32 bits.
static std::optional<Dequantized> findShifted(Value value) {
  if (!getElementTypeOrSelf(value).isSignlessInteger(32))
    return std::nullopt;
  if (Value codes = narrowed(value))
    return Dequantized{codes, {}, {}};
  auto difference = value.getDefiningOp<SubOp>();
  Value codes = difference ? narrowed(difference.getLhs()) : Value();
  Spread zero = codes ? spreadOf(difference.getRhs()) : Spread();
  return zero ? std::optional(Dequantized{codes, zero, {}}) : std::nullopt;
}

/// (code - zero point) * scale, or without scale.
static std::optional<Dequantized> findScaled(Value value) {
  if (!getElementTypeOrSelf(value).isF32())
    return findShifted(value);
  auto product = value.getDefiningOp<MulOp>();
  if (!product)
    return std::nullopt;
  for (unsigned i : {0u, 1u}) {
    auto number = product->getOperand(i).getDefiningOp<CastOp>();
    if (!number)
      continue;
    Value codes = narrowed(number);
    std::optional<Dequantized> found =
        codes ? Dequantized{codes, {}, {}} : findShifted(number.getOperand());
    Spread scale = found ? spreadOf(product->getOperand(1 - i)) : Spread();
    if (!scale)
      continue;
    found->scale = scale;
    return found;
  }
  return std::nullopt;
}

/// The dim of `to` that holds what dim `d` of `from` holds, if a reshape leaves it alone.
static std::optional<int64_t> keptDim(ArrayRef<int64_t> from, ArrayRef<int64_t> to, int64_t d) {
  int64_t before = llvm::product_of(from.take_front(d)), product = 1;
  for (auto [i, size] : llvm::enumerate(to)) {
    if (product == before && size == from[d])
      return int64_t(i);
    product *= size;
  }
  return std::nullopt;
}

Value gradc::moved(Expr value, ArrayRef<Operation *> moves) {
  for (Operation *move : llvm::reverse(moves))
    if (auto transpose = dyn_cast<TransposeOp>(move))
      value = value.transpose(transpose.getPermutation());
    else
      value = value.reshape(typeOf(move->getResult(0)).getShape());
  return value;
}

Value gradc::padded(Expr codes, const Padding &by, int64_t number) {
  auto isNone = [](int64_t v) { return v == 0; };
  if (llvm::all_of(by.low, isNone) && llvm::all_of(by.high, isNone))
    return codes;
  auto transpose = codes.get().getDefiningOp<TransposeOp>();
  // States are stored in the order in which they are read.
  if (transpose && !transpose.getOperand().getDefiningOp<ReadOp>()) {
    Padding before(typeOf(codes).getRank());
    for (auto [to, from] : llvm::enumerate(transpose.getPermutation())) {
      before.low[from] = by.low[to];
      before.high[from] = by.high[to];
    }
    Expr whole = codes.with(padded(codes.with(transpose.getOperand()), before, number));
    return whole.transpose(transpose.getPermutation());
  }
  SmallVector<int64_t> none(by.low.size(), 0);
  return PadOp::create(codes.getBuilder(), codes.getLoc(), codes, by.low, by.high, none,
                       APFloat(double(number)));
}

std::optional<Dequantized> gradc::findDequantized(OpBuilder &builder, Value value) {
  SmallVector<Operation *> moves;
  Value source = value;
  while (isa_and_nonnull<TransposeOp, ReshapeOp>(source.getDefiningOp())) {
    moves.push_back(source.getDefiningOp());
    source = moves.back()->getOperand(0);
  }
  std::optional<Dequantized> found = findScaled(source);
  if (!found)
    return std::nullopt;
  for (Operation *move : llvm::reverse(moves))
    for (std::optional<int64_t> *dim : {&found->zero.dim, &found->scale.dim}) {
      if (!*dim)
        continue;
      if (auto transpose = dyn_cast<TransposeOp>(move))
        *dim = llvm::find(transpose.getPermutation(), **dim) - transpose.getPermutation().begin();
      else if (!(*dim = keptDim(typeOf(move->getOperand(0)).getShape(),
                                typeOf(move->getResult(0)).getShape(), **dim)))
        return std::nullopt;
    }
  found->codes = moved(Expr(builder, value.getLoc(), found->codes), moves);
  return found;
}

// Blocks ------------------------------------------------------------------------------------------

namespace {
/// What each element is repeated from: one for all of a block.
struct BlockSpread {
  Value value;
  int64_t dim, block;

  bool operator==(const BlockSpread &other) const {
    return dim == other.dim && block == other.block;
  }
};
} // namespace

/// Repeated along a new dim, which is then merged with the one before it.
static std::optional<BlockSpread> blockSpreadOf(Value value) {
  auto merge = value.getDefiningOp<ReshapeOp>();
  auto repeat = merge ? merge.getOperand().getDefiningOp<BroadcastOp>() : BroadcastOp();
  if (!repeat)
    return std::nullopt;
  ArrayRef<int64_t> whole = typeOf(repeat).getShape(), dims = repeat.getDims();
  int64_t rank = typeOf(repeat.getOperand()).getRank(), added = 0;
  while (added < rank && dims[added] == added)
    ++added;
  for (int64_t d = added; d < rank; ++d)
    if (dims[d] != d + 1)
      return std::nullopt;
  if (added == 0 || int64_t(whole.size()) != rank + 1 || whole[added] == 0)
    return std::nullopt;
  SmallVector<int64_t> merged(whole);
  merged.erase(merged.begin() + added);
  merged[added - 1] *= whole[added];
  if (typeOf(value).getShape() != ArrayRef(merged))
    return std::nullopt;
  return BlockSpread{repeat.getOperand(), added - 1, whole[added]};
}

/// A zero point in `like`'s blocks, or one number.
static Value zeroInBlocks(Value value, const BlockSpread &like) {
  if (auto blocks = blockSpreadOf(value); blocks && *blocks == like)
    return blocks->value;
  Spread spread = spreadOf(value);
  return spread && !spread.dim ? spread.value : Value();
}

/// (code - zero point) * scale of a matrix; the difference is one of 32-bit integers, or of floats.
static std::optional<DequantizedBlocks> findScaledBlocks(Value value) {
  auto product = value.getDefiningOp<MulOp>();
  if (!product || typeOf(value).getRank() != 2 || !getElementTypeOrSelf(value).isF32())
    return std::nullopt;
  for (unsigned i : {0u, 1u}) {
    std::optional<BlockSpread> scale = blockSpreadOf(product->getOperand(1 - i));
    if (!scale)
      continue;
    Value number = product->getOperand(i);
    DequantizedBlocks found{narrowed(number), scale->dim, scale->block, scale->value, {}};
    if (found.codes)
      return found;
    if (auto cast = number.getDefiningOp<CastOp>())
      number = cast.getOperand();
    auto difference = number.getDefiningOp<SubOp>();
    found.codes = difference ? narrowed(difference.getLhs()) : Value();
    found.zero = found.codes ? zeroInBlocks(difference.getRhs(), *scale) : Value();
    if (found.zero)
      return found;
  }
  return std::nullopt;
}

std::optional<DequantizedBlocks> gradc::findDequantizedBlocks(OpBuilder &builder, Value value) {
  auto transpose = value.getDefiningOp<TransposeOp>();
  auto found = findScaledBlocks(transpose ? Value(transpose.getOperand()) : value);
  if (!found || !transpose)
    return found;
  ArrayRef<int64_t> order = transpose.getPermutation();
  for (Value *moves : {&found->codes, &found->scale, &found->zero})
    if (*moves && typeOf(*moves).getRank() == int64_t(order.size()))
      *moves = Expr(builder, value.getLoc(), *moves).transpose(order);
  found->dim = llvm::find(order, found->dim) - order.begin();
  return found;
}
