// Rules that need a whole tensor: its norm, or its product with itself.
#include "dialects/grad/training/Optimizer.h"

using namespace mlir;
using namespace mlir::grad;

static double norm(const std::vector<double> &values) {
  double sum = 0;
  for (double x : values)
    sum += x * x;
  return std::sqrt(sum);
}

static Expr norm(Expr x) { return sumOfSquares(x).apply<SqrtOp>(); }

/// parameter / update, or 1 if one of them is 0.
static double trustRatio(double parameter, double update) {
  return parameter == 0 || update == 0 ? 1 : parameter / update;
}

static Expr trustRatio(Expr parameter, Expr update, Expr ratio) {
  Expr zero = parameter.splat(0), one = parameter.splat(1);
  Expr orOne = update.compare(ComparePredicate::eq, zero).select(one, ratio);
  return parameter.compare(ComparePredicate::eq, zero).select(one, orOne);
}

// LAMB --------------------------------------------------------------------------------------------

bool LambOp::isElementwise() { return false; }

void LambOp::evaluate(ArrayRef<HostTensor> operands, MutableArrayRef<HostTensor> results) {
  double b1 = real(getBeta1()), b2 = real(getBeta2()), epsilon = real(getEpsilon());
  evaluateWholeUpdate(*this, operands, results, [&](UpdateTensors &t) {
    std::vector<double> update(t.parameter.size());
    for (size_t i = 0; i < update.size(); ++i) {
      double &first = t.slots[0][i], &second = t.slots[1][i], g = t.gradient[i];
      first = b1 * first + (1 - b1) * g;
      second = b2 * second + (1 - b2) * g * g;
      double root = std::sqrt(second / biasCorrection(t.step, b2)) + epsilon;
      update[i] =
          first / biasCorrection(t.step, b1) / root + real(getWeightDecay()) * t.parameter[i];
    }
    double size = t.rate * trustRatio(norm(t.parameter), norm(update));
    for (auto [p, u] : llvm::zip_equal(t.parameter, update))
      p -= size * u;
  });
}

SmallVector<Value> LambOp::decompose(OpBuilder &b) {
  double b1 = real(getBeta1()), b2 = real(getBeta2()), decay = real(getWeightDecay());
  return decomposeUpdate(b, *this, [&](const UpdateExprs &u) -> SmallVector<Expr> {
    Expr first = u.slots[0] * b1 + u.gradient * (1 - b1);
    Expr second = u.slots[1] * b2 + u.gradient * u.gradient * (1 - b2);
    Expr root = u.spread(biasCorrection(u.step(), b2).apply<RsqrtOp>());
    Expr denominator = second.apply<SqrtOp>() * root + real(getEpsilon());
    Expr one = u.step().splat(1);
    Expr update = u.spread(one / biasCorrection(u.step(), b1)) * first / denominator;
    if (decay != 0)
      update = update + u.parameter * decay;
    Expr length = norm(u.parameter), other = norm(update);
    Expr ratio = trustRatio(length, other, length / other);
    Expr size = u.rate() * ratio.cast(u.rate().element());
    return {u.parameter - u.spread(size) * update, first, second};
  });
}

// LARS --------------------------------------------------------------------------------------------

bool LarsOp::isElementwise() { return false; }

void LarsOp::evaluate(ArrayRef<HostTensor> operands, MutableArrayRef<HostTensor> results) {
  double mu = real(getMomentum()), trust = real(getTrustCoefficient());
  evaluateWholeUpdate(*this, operands, results, [&](UpdateTensors &t) {
    double length = norm(t.parameter), other = norm(t.gradient);
    bool isZero = length == 0 || other == 0;
    double size = t.rate * (isZero ? 1 : trust * length / (other + real(getEpsilon())));
    for (size_t i = 0; i < t.parameter.size(); ++i) {
      double g = size * t.gradient[i], &velocity = t.slots[0][i];
      velocity = mu * velocity + g;
      t.parameter[i] = t.parameter[i] * t.kept - (getNesterov() ? g + mu * velocity : velocity);
    }
  });
}

SmallVector<Value> LarsOp::decompose(OpBuilder &b) {
  double mu = real(getMomentum()), trust = real(getTrustCoefficient());
  return decomposeUpdate(b, *this, [&](const UpdateExprs &u) -> SmallVector<Expr> {
    Expr length = norm(u.parameter), other = norm(u.gradient);
    Expr ratio = trustRatio(length, other, length * trust / (other + real(getEpsilon())));
    Expr g = u.spread(u.rate() * ratio.cast(u.rate().element())) * u.gradient;
    Expr velocity = u.slots[0] * mu + g;
    return {u.decayed - (getNesterov() ? g + velocity * mu : velocity), velocity};
  });
}

// Muon --------------------------------------------------------------------------------------------

bool MuonOp::isElementwise() { return false; }
int64_t MuonOp::getLeastRank() { return 2; }
bool MuonOp::dependsOnDimOrder() { return true; }

LogicalResult MuonOp::verify() {
  if (getParameter().getType().getRank() < getLeastRank())
    return emitOpError("expected a parameter of 2 dims or more, found ")
           << getParameter().getType();
  if (getCoefficients().size() != 3)
    return emitOpError("expected three coefficients, found ") << getCoefficients().size();
  return success();
}

namespace {
/// The parameter viewed as a matrix.
struct MuonShape {
  explicit MuonShape(RankedTensorType type)
      : rows(type.getDimSize(0)), columns(type.getNumElements() / std::max<int64_t>(rows, 1)) {}
  bool isTall() const { return rows > columns; }
  /// The factor from learning rate to step length.
  double scale(bool matchesAdamw) const {
    double r = double(rows), c = double(columns);
    return matchesAdamw ? 0.2 * std::sqrt(std::max(r, c)) : std::sqrt(std::max(1.0, r / c));
  }
  int64_t rows, columns;
};
} // namespace

/// lhs [m, k] times rhs [k, n].
static std::vector<double> product(const std::vector<double> &lhs, const std::vector<double> &rhs,
                                   int64_t m, int64_t k, int64_t n) {
  std::vector<double> result(size_t(m * n));
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j)
      for (int64_t l = 0; l < k; ++l)
        result[size_t(i * n + j)] += lhs[size_t(i * k + l)] * rhs[size_t(l * n + j)];
  return result;
}

static std::vector<double> transposed(const std::vector<double> &x, int64_t rows, int64_t columns) {
  std::vector<double> result(x.size());
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      result[size_t(j * rows + i)] = x[size_t(i * columns + j)];
  return result;
}

void MuonOp::evaluate(ArrayRef<HostTensor> operands, MutableArrayRef<HostTensor> results) {
  MuonShape shape(getParameter().getType());
  double mu = real(getMomentum()), a = getCoefficients()[0], b = getCoefficients()[1],
         c = getCoefficients()[2];
  evaluateWholeUpdate(*this, operands, results, [&](UpdateTensors &t) {
    std::vector<double> &buffer = t.slots[0], x(buffer.size());
    for (size_t i = 0; i < x.size(); ++i) {
      buffer[i] = mu * buffer[i] + (1 - mu) * t.gradient[i];
      x[i] = getNesterov() ? (1 - mu) * t.gradient[i] + mu * buffer[i] : buffer[i];
    }
    // Uses X or its transpose, whichever has the smaller X X^T.
    if (shape.isTall())
      x = transposed(x, shape.rows, shape.columns);
    int64_t m = std::min(shape.rows, shape.columns), n = std::max(shape.rows, shape.columns);
    double length = std::max(norm(x), real(getEpsilon()));
    for (double &value : x)
      value /= length;
    for (int64_t i = 0; i < int64_t(getIterations()); ++i) {
      std::vector<double> gram = product(x, transposed(x, m, n), m, n, m);
      std::vector<double> mixed = product(gram, gram, m, m, m);
      for (size_t k = 0; k < gram.size(); ++k)
        mixed[k] = b * gram[k] + c * mixed[k];
      std::vector<double> moved = product(mixed, x, m, m, n);
      for (size_t k = 0; k < x.size(); ++k)
        x[k] = a * x[k] + moved[k];
    }
    if (shape.isTall())
      x = transposed(x, n == shape.rows ? m : n, n == shape.rows ? n : m);
    for (auto [p, u] : llvm::zip_equal(t.parameter, x))
      p = p * t.kept - t.rate * shape.scale(getMatchAdamw()) * u;
  });
}

SmallVector<Value> MuonOp::decompose(OpBuilder &builder) {
  MuonShape shape(getParameter().getType());
  double mu = real(getMomentum()), a = getCoefficients()[0], b = getCoefficients()[1],
         c = getCoefficients()[2];
  return decomposeUpdate(builder, *this, [&](const UpdateExprs &u) -> SmallVector<Expr> {
    Expr buffer = u.slots[0] * mu + u.gradient * (1 - mu);
    Expr update = getNesterov() ? u.gradient * (1 - mu) + buffer * mu : buffer;
    Expr x = update.reshape({shape.rows, shape.columns});
    Expr length = norm(x), least = length.splat(real(getEpsilon()));
    x = x / length.apply<MaxOp>(least).broadcastScalar(x.type());
    auto multiply = [&](Expr lhs, Expr rhs, bool transposeLhs, bool transposeRhs) {
      return x.with(MatmulOp::create(builder, getLoc(), lhs, rhs, transposeLhs, transposeRhs));
    };
    for (int64_t i = 0; i < int64_t(getIterations()); ++i) {
      // Uses X or its transpose, whichever has the smaller X X^T.
      Expr gram = multiply(x, x, shape.isTall(), !shape.isTall());
      Expr mixed = gram * b + multiply(gram, gram, false, false) * c;
      x = x * a +
          (shape.isTall() ? multiply(x, mixed, false, false) : multiply(mixed, x, false, false));
    }
    Expr size = u.spread(u.rate() * shape.scale(getMatchAdamw()));
    return {u.decayed - size * x.reshape(u.parameter.shape()), buffer};
  });
}
