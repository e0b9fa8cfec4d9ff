// Numbers, means and polynomials among the ops of a graph.
#include "passes/raise/Match.h"

#include "dialects/grad/control/Control.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

std::optional<double> gradc::numberOf(Value value) {
  DenseElementsAttr splat = value ? splatOf(value) : DenseElementsAttr();
  if (!splat || !isa<FloatType>(splat.getElementType()))
    return std::nullopt;
  return splat.getSplatValue<APFloat>().convertToDouble();
}

bool gradc::isNear(double a, double b, Type type) {
  // Constants of f64 come from f32 sources, too.
  const llvm::fltSemantics *semantics =
      &cast<FloatType>(getElementTypeOrSelf(type)).getFloatSemantics();
  if (APFloat::semanticsPrecision(*semantics) > 24)
    semantics = &APFloat::IEEEsingle();
  APFloat rounded(b);
  bool isRounded = false;
  rounded.convert(*semantics, APFloat::rmNearestTiesToEven, &isRounded);
  if (!isRounded)
    return a == b;
  int digits = int(APFloat::semanticsPrecision(*semantics));
  return std::fabs(a - b) <= std::ldexp(std::fabs(b), 2 - digits);
}

std::optional<MeanForm> gradc::meanForm(Value value) {
  if (auto mean = value.getDefiningOp<ReduceMeanOp>())
    return MeanForm{mean.getOperand(), SmallVector<int64_t>(mean.getDims())};
  Operation *op = value.getDefiningOp();
  if (!isa_and_nonnull<MulOp, DivOp>(op))
    return std::nullopt;
  for (unsigned i : {0u, 1u}) {
    auto sum = op->getOperand(i).getDefiningOp<ReduceSumOp>();
    std::optional<double> number = numberOf(op->getOperand(1 - i));
    if (!sum || !number || (i == 1 && isa<DivOp>(op)))
      continue;
    RankedTensorType type = sum.getOperand().getType();
    double count = 1;
    for (int64_t d : sum.getDims())
      count *= double(type.getDimSize(d));
    if (!isNear(*number, isa<DivOp>(op) ? count : 1 / count, type))
      return std::nullopt;
    return MeanForm{sum.getOperand(), SmallVector<int64_t>(sum.getDims())};
  }
  return std::nullopt;
}

Value gradc::repeatedOver(Value value, ArrayRef<int64_t> dims) {
  auto broadcast = value.getDefiningOp<BroadcastOp>();
  int64_t rank = cast<RankedTensorType>(value.getType()).getRank();
  if (!broadcast || broadcast.getDims() != ArrayRef(otherDims(rank, dims)))
    return {};
  return broadcast.getOperand();
}

Value gradc::otherOperand(Operation *op, Value known) {
  Value lhs = op->getOperand(0), rhs = op->getOperand(1);
  if ((lhs == known) == (rhs == known))
    return {};
  return lhs == known ? rhs : lhs;
}

static std::optional<Polynomial> product(const Polynomial &a, const Polynomial &b) {
  Polynomial result{};
  for (size_t i = 0; i < a.size(); ++i)
    for (size_t j = 0; j < b.size(); ++j) {
      double term = a[i] * b[j];
      if (term != 0 && i + j >= result.size())
        return std::nullopt;
      if (term != 0)
        result[i + j] += term;
    }
  return result;
}

namespace {
/// Walks from a polynomial's value to the one it is a polynomial in.
class PolynomialParser {
public:
  explicit PolynomialParser(Value x) : x(x) {}

  std::optional<Polynomial> parse(Value value) {
    if (value == x)
      return Polynomial{0, 1, 0, 0};
    if (std::optional<double> number = numberOf(value))
      return Polynomial{*number, 0, 0, 0};
    Operation *op = value.getDefiningOp();
    if (!isa_and_nonnull<AddOp, SubOp, MulOp, DivOp, NegOp, PowOp>(op) || ++steps > 16)
      return std::nullopt;
    inside.insert(op);
    std::optional<Polynomial> a = parse(op->getOperand(0));
    if (!a)
      return std::nullopt;
    if (isa<NegOp>(op))
      return product(*a, {-1, 0, 0, 0});
    if (isa<PowOp>(op))
      return power(*a, op->getOperand(1));
    std::optional<Polynomial> b = parse(op->getOperand(1));
    if (!b)
      return std::nullopt;
    if (isa<MulOp>(op))
      return product(*a, *b);
    if (isa<DivOp>(op))
      return isNumber(*b) ? product(*a, {1 / (*b)[0], 0, 0, 0}) : std::nullopt;
    for (auto [left, right] : llvm::zip(*a, *b))
      left += isa<SubOp>(op) ? -right : right;
    return a;
  }

  /// Whether the values in between have no other readers.
  bool isOwned(Value result) const {
    return llvm::all_of(inside, [&](Operation *op) {
      return op == result.getDefiningOp() ||
             llvm::all_of(op->getUsers(), [&](Operation *user) { return inside.contains(user); });
    });
  }

private:
  static bool isNumber(const Polynomial &p) { return !p[1] && !p[2] && !p[3] && p[0]; }

  std::optional<Polynomial> power(const Polynomial &base, Value exponent) const {
    std::optional<double> number = numberOf(exponent);
    if (number == 2.0)
      return product(base, base);
    std::optional<Polynomial> square = number == 3.0 ? product(base, base) : std::nullopt;
    return square ? product(*square, base) : std::nullopt;
  }

  Value x;
  int steps = 0; ///< of formulas no form is as long as
  llvm::SmallPtrSet<Operation *, 8> inside;
};
} // namespace

std::optional<Polynomial> gradc::polynomialIn(Value x, Value value) {
  PolynomialParser parser(x);
  std::optional<Polynomial> result = parser.parse(value);
  return result && parser.isOwned(value) ? result : std::nullopt;
}
