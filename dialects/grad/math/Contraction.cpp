// Matrix products: shapes, gradients, the plain loop nest, and linalg with transpositions in its
// maps.
#include "dialects/grad/math/Contraction.h"
#include "dialects/grad/Permute.h"
#include "dialects/grad/math/Sampling.h"

using namespace mlir;
using namespace mlir::grad;

static bool isByte(Type element) { return element.isInteger(8); }

Type grad::contractedElement(Type element, bool wide) {
  if (!wide)
    return element;
  return isByte(element) ? IntegerType::get(element.getContext(), 32) : accumulatorOf(element);
}

bool grad::canMultiply(Type lhs, Type rhs, bool wide) {
  if (lhs == rhs || !wide)
    return lhs == rhs;
  if (isByte(rhs))
    return isByte(lhs) || isa<FloatType>(lhs);
  return rhs.isF16() ? lhs.isF32() : rhs.isSignlessInteger(16) && isa<FloatType>(lhs);
}

bool grad::isWide(Operation *contraction) {
  Type lhs = getElementTypeOrSelf(contraction->getOperand(0)),
       rhs = getElementTypeOrSelf(contraction->getOperand(1));
  return lhs != rhs || lhs != getElementTypeOrSelf(contraction->getResult(0));
}

Value grad::contract(OpBuilder &b, Location loc, Value lhs, Value rhs, const Twine &dims,
                     bool wide) {
  auto noWindow = WindowAttr::get(b.getContext(), {}, {}, {}, {}, {}, {}, /*reversed=*/false);
  return ConvolutionOp::create(b, loc, lhs, rhs, dims.str(), noWindow, wide);
}

Value grad::storeFactor(OpBuilder &b, Operation *contraction, Value value) {
  Type element = getElementTypeOrSelf(contraction->getOperand(0).getType());
  auto type = cast<RankedTensorType>(value.getType()).clone(element);
  if (type == value.getType())
    return value;
  return b.createOrFold<CastOp>(contraction->getLoc(), type, value, /*storage=*/true);
}

LogicalResult MatmulOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                                         Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto lhs = cast<RankedTensorType>(adaptor.getLhs().getType());
  auto rhs = cast<RankedTensorType>(adaptor.getRhs().getType());
  int64_t rank = lhs.getRank();
  if (rank < 2)
    return emitOptionalError(loc, "expected lhs of rank 2 or more, found ", lhs);
  if (rhs.getRank() != rank)
    return emitOptionalError(loc, "expected lhs and rhs of the same rank, found ", lhs, " and ",
                             rhs);
  for (int64_t d = 0; d < rank - 2; ++d)
    if (lhs.getDimSize(d) != rhs.getDimSize(d))
      return emitOptionalError(loc, "expected batch dim ", d, " of lhs (", lhs.getDimSize(d),
                               ") to match rhs (", rhs.getDimSize(d), ")");
  bool lhsTransposed = adaptor.getTransposeLhs(), rhsTransposed = adaptor.getTransposeRhs();
  int64_t lhsK = lhsTransposed ? rank - 2 : rank - 1, rhsK = rhsTransposed ? rank - 1 : rank - 2;
  if (lhs.getDimSize(lhsK) != rhs.getDimSize(rhsK))
    return emitOptionalError(loc, "expected lhs dim ", lhsK, " (", lhs.getDimSize(lhsK),
                             ") to match rhs dim ", rhsK, " (", rhs.getDimSize(rhsK), ")");
  if (!canMultiply(lhs.getElementType(), rhs.getElementType(), adaptor.getWide()))
    return emitOptionalError(loc, "expected lhs and rhs of one element type, found ",
                             lhs.getElementType(), " and ", rhs.getElementType());
  SmallVector<int64_t> shape(lhs.getShape().drop_back(2));
  shape.push_back(lhs.getDimSize(lhsTransposed ? rank - 1 : rank - 2));
  shape.push_back(rhs.getDimSize(rhsTransposed ? rank - 2 : rank - 1));
  types.push_back(lhs.clone(shape, contractedElement(lhs.getElementType(), adaptor.getWide())));
  return success();
}

// For a product A B, dA = G B^T and dB = A^T G. The gradient of an operand that is stored
// transposed uses the transposed formula, so no element is ever moved.
LogicalResult MatmulOp::buildGradient(OpBuilder &b, ValueRange resultGradients,
                                      SmallVectorImpl<Value> &operandGradients) {
  Value g = storeFactor(b, *this, resultGradients[0]), lhs = getLhs(), rhs = getRhs();
  bool ta = getTransposeLhs(), tb = getTransposeRhs();
  auto product = [&](Value left, Value right, bool transposeLeft, bool transposeRight) {
    Value sum =
        MatmulOp::create(b, getLoc(), left, right, transposeLeft, transposeRight, getWide());
    return storeFactor(b, *this, sum);
  };
  operandGradients[0] = ta ? product(rhs, g, tb, true) : product(g, rhs, false, !tb);
  operandGradients[1] = tb ? product(g, lhs, true, ta) : product(lhs, g, !ta, false);
  return success();
}

void MatmulOp::evaluate(ArrayRef<HostTensor> operands, MutableArrayRef<HostTensor> results) {
  const HostTensor &lhs = operands[0], &rhs = operands[1];
  int64_t rank = lhs.getType().getRank();
  int64_t contracted = lhs.getShape()[getTransposeLhs() ? rank - 2 : rank - 1];
  bool isFloat = isa<FloatType>(lhs.getElementType());
  forEachIndex(results[0].getShape(), [&](ArrayRef<int64_t> index) {
    int64_t position = linearize(index, results[0].getShape());
    if (!SamplingScope::wants(position))
      return;
    SmallVector<int64_t> left(index), right(index);
    double sum = 0;
    uint64_t whole = 0;
    for (int64_t k = 0; k < contracted; ++k) {
      left[rank - 2] = getTransposeLhs() ? k : index[rank - 2];
      left[rank - 1] = getTransposeLhs() ? index[rank - 2] : k;
      right[rank - 2] = getTransposeRhs() ? index[rank - 1] : k;
      right[rank - 1] = getTransposeRhs() ? k : index[rank - 1];
      int64_t l = linearize(left, lhs.getShape()), r = linearize(right, rhs.getShape());
      if (isFloat)
        sum += lhs.getFloat(l) * rhs.getFloat(r);
      else
        whole += uint64_t(lhs.getInt(l)) * uint64_t(rhs.getInt(r));
    }
    if (isFloat)
      results[0].setFloat(position, sum);
    else
      results[0].setInt(position, int64_t(whole));
  });
}

int64_t MatmulOp::getFlops() {
  auto lhs = cast<RankedTensorType>(getLhs().getType());
  int64_t contracted = lhs.getDimSize(lhs.getRank() - (getTransposeLhs() ? 2 : 1));
  return 2 * contracted * getResult().getType().getNumElements();
}

LoopKind MatmulOp::getLoopKind() { return LoopKind::contraction; }

ContractionLetters MatmulOp::getLetters() {
  std::string batch;
  for (int64_t d = 0; d < getType().getRank() - 2; ++d)
    batch += char('A' + d);
  return {batch + (getTransposeLhs() ? "km" : "mk"), batch + (getTransposeRhs() ? "nk" : "kn"),
          batch + "mn", WindowAttr()};
}

bool MatmulOp::readTransposed(unsigned operand, ArrayRef<int64_t> permutation) {
  int64_t rank = permutation.size();
  if (!keepsLeading(permutation, rank - 2) || permutation.back() != rank - 2)
    return false;
  if (operand == 0)
    setTransposeLhs(!getTransposeLhs());
  else
    setTransposeRhs(!getTransposeRhs());
  return true;
}

SmallVector<Value> grad::contractionLoops(OpBuilder &b, Operation *op, ValueRange operands,
                                          ArrayRef<AffineMap> maps, int64_t parallel) {
  Location at = op->getLoc();
  RankedTensorType type = signlessType(op->getResult(0).getType());
  Type element = getElementTypeOrSelf(operands[0].getType());
  bool isFloat = isa<FloatType>(element);
  Type accumulator = isFloat ? accumulatorOf(element) : type.getElementType();
  SmallVector<utils::IteratorType> iterators(maps[0].getNumDims(), utils::IteratorType::reduction);
  std::fill_n(iterators.begin(), parallel, utils::IteratorType::parallel);
  Value initial = fillLoops(b, at, type.getShape(), b.getZeroAttr(accumulator));
  auto body = [&](OpBuilder &nested, Location loc, ValueRange args) {
    auto widen = [&](unsigned i) -> Value {
      bool isUnsigned = getElementTypeOrSelf(op->getOperand(i)).isUnsignedInteger();
      if (args[i].getType() == accumulator)
        return args[i];
      if (isa<FloatType>(args[i].getType()))
        return arith::ExtFOp::create(nested, loc, accumulator, args[i]);
      if (isFloat && isUnsigned)
        return arith::UIToFPOp::create(nested, loc, accumulator, args[i]);
      if (isFloat)
        return arith::SIToFPOp::create(nested, loc, accumulator, args[i]);
      if (isUnsigned)
        return arith::ExtUIOp::create(nested, loc, accumulator, args[i]);
      return arith::ExtSIOp::create(nested, loc, accumulator, args[i]);
    };
    Value l = widen(0), r = widen(1), next;
    if (isFloat) {
      Value product = arith::MulFOp::create(nested, loc, l, r);
      next = arith::AddFOp::create(nested, loc, args[2], product);
    } else {
      Value product = arith::MulIOp::create(nested, loc, l, r);
      next = arith::AddIOp::create(nested, loc, args[2], product);
    }
    linalg::YieldOp::create(nested, loc, next);
  };
  Value sum =
      linalg::GenericOp::create(b, at, initial.getType(), operands, initial, maps, iterators, body)
          .getResult(0);
  return roundLoops(b, op, sum);
}

SmallVector<Value> MatmulOp::lowerToLoops(OpBuilder &b, ValueRange operands) {
  int64_t batch = getResult().getType().getRank() - 2;
  auto map = [&](int64_t row, int64_t column) {
    SmallVector<AffineExpr> dims;
    for (int64_t d = 0; d < batch; ++d)
      dims.push_back(b.getAffineDimExpr(d));
    dims.append({b.getAffineDimExpr(batch + row), b.getAffineDimExpr(batch + column)});
    return AffineMap::get(batch + 3, 0, dims, b.getContext());
  };
  constexpr int64_t m = 0, n = 1, k = 2;
  return contractionLoops(b, *this, operands,
                          {getTransposeLhs() ? map(k, m) : map(m, k),
                           getTransposeRhs() ? map(n, k) : map(k, n), map(m, n)},
                          batch + 2);
}
