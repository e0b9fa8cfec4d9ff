// Fourier transforms. The decomposition is a product with the matrix of each factor of the length.
#include "dialects/grad/math/Fourier.h"

#include "dialects/grad/Movement.h"
#include "llvm/Support/MathExtras.h"

#include <numbers>

using namespace mlir;
using namespace mlir::grad;

/// The most multiplications for each row and part with which one product takes less time than two
/// products with a rotation between them: those of 70 complex numbers, or of half the spectrum of
/// 140 real ones.
static constexpr int64_t maxDirect = 10'000;

bool grad::hasSmallFactors(int64_t n) {
  for (int64_t prime : {2, 3, 5, 7, 11, 13})
    while (n % prime == 0)
      n /= prime;
  return n == 1;
}

bool grad::isShortFourier(int64_t numbers) {
  // 16 rows of 8 bytes for each number: 1 MB, or, with the half spectrum of real numbers, 2 MB.
  constexpr int64_t most = 1 << 13;
  return numbers >= 2 && numbers <= most && hasSmallFactors(numbers);
}

std::complex<double> grad::fourierWave(int64_t k, int64_t n, bool inverse) {
  k %= n;
  if (4 * k % n == 0) { // exactly
    constexpr double quarters[] = {0, 1, 0, -1};
    double sine = quarters[4 * k / n];
    return {quarters[(4 * k / n + 1) % 4], inverse ? sine : -sine};
  }
  double angle = 2 * std::numbers::pi * double(k) / double(n);
  return {std::cos(angle), inverse ? std::sin(angle) : -std::sin(angle)};
}

int64_t grad::middleFactor(int64_t n) {
  int64_t factor = 1;
  for (int64_t d = 2; d * d <= n; ++d)
    factor = n % d == 0 ? d : factor;
  return factor;
}

/// The transform of `n` numbers that are `step` apart.
static SmallVector<std::complex<double>> transformStrided(const std::complex<double> *x, int64_t n,
                                                          int64_t step, bool inverse) {
  if (n == 1)
    return {x[0]};
  int64_t factor = 2;
  while (n % factor != 0)
    ++factor;
  int64_t rest = n / factor;
  SmallVector<std::complex<double>> result(n);
  for (int64_t q = 0; q < factor; ++q) {
    auto part = transformStrided(x + q * step, rest, step * factor, inverse);
    for (int64_t j = 0; j < n; ++j)
      result[j] += part[j % rest] * fourierWave(q * j, n, inverse);
  }
  return result;
}

SmallVector<std::complex<double>> grad::fourierOf(ArrayRef<std::complex<double>> x, bool inverse) {
  return transformStrided(x.data(), int64_t(x.size()), 1, inverse);
}

// Parts -------------------------------------------------------------------------------------------

Expr grad::multiplyComplex(Expr x, ArrayRef<std::complex<double>> factors) {
  OpBuilder &b = x.getBuilder();
  int64_t n = x.shape()[1];
  HostTensor own(RankedTensorType::get({n, 2}, x.element())), other(own.getType());
  for (auto [k, factor] : llvm::enumerate(factors)) {
    auto at = int64_t(2 * k);
    own.setFloat(at, factor.real());
    own.setFloat(at + 1, factor.real());
    other.setFloat(at, -factor.imag());
    other.setFloat(at + 1, factor.imag());
  }
  auto repeated = [&](const HostTensor &table) {
    return x.with(constant(b, x.getLoc(), table)).broadcast(x.type(), {1, 2});
  };
  Expr swapped = x.with(b.createOrFold<SliceOp>(x.getLoc(), x, ArrayRef<int64_t>{0, 0, 1},
                                                x.shape(), ArrayRef<int64_t>{1, 1, -1}));
  return x * repeated(own) + swapped * repeated(other);
}

Expr grad::fitNumbers(Expr x, int64_t count) {
  OpBuilder &b = x.getBuilder();
  int64_t n = x.shape()[1];
  if (count == n)
    return x;
  if (count > n)
    return x.with(b.createOrFold<PadOp>(x.getLoc(), x, ArrayRef<int64_t>{0, 0, 0},
                                        ArrayRef<int64_t>{0, count - n, 0},
                                        ArrayRef<int64_t>{0, 0, 0}, APFloat(0.0)));
  SmallVector<int64_t> sizes(x.shape());
  sizes[1] = count;
  return x.with(b.createOrFold<SliceOp>(x.getLoc(), x, ArrayRef<int64_t>{0, 0, 0}, sizes,
                                        ArrayRef<int64_t>{1, 1, 1}));
}

Expr grad::fourierProduct(Expr x, int64_t wanted, bool inverse) {
  OpBuilder &b = x.getBuilder();
  int64_t rows = x.shape()[0], n = x.shape()[1], parts = x.shape()[2];
  HostTensor table(RankedTensorType::get({n * parts, wanted * 2}, x.element()));
  for (int64_t k = 0; k < n; ++k)
    for (int64_t j = 0; j < wanted; ++j) {
      std::complex<double> wave = fourierWave(j * k, n, inverse);
      int64_t real = k * parts * wanted * 2 + j * 2, imaginary = real + wanted * 2;
      table.setFloat(real, wave.real());
      table.setFloat(real + 1, wave.imag());
      if (parts == 1)
        continue;
      table.setFloat(imaginary, -wave.imag());
      table.setFloat(imaginary + 1, wave.real());
    }
  Value matrix = constant(b, x.getLoc(), table);
  return x.with(b.createOrFold<MatmulOp>(x.getLoc(), x.reshape({rows, n * parts}).get(), matrix))
      .reshape({rows, wanted, 2});
}

Expr grad::fourierInParts(Expr x, int64_t factor, bool inverse,
                          llvm::function_ref<Expr(Expr)> transform) {
  int64_t rows = x.shape()[0], n = x.shape()[1], rest = n / factor;
  // The rows of [outer, inner] numbers each, as rows of `outer` numbers.
  auto turn = [&](Expr a, int64_t outer, int64_t inner) {
    int64_t parts = a.shape()[2];
    return a.reshape({rows, outer, inner, parts})
        .transpose({0, 2, 1, 3})
        .reshape({rows * inner, outer, parts});
  };
  // k = rest k1 + k2 and j = j1 + factor j2: sums over k1 first, then rotates, then sums over k2.
  Expr inner = transform(turn(x, factor, rest)).reshape({rows, n, 2});
  SmallVector<std::complex<double>> waves;
  for (int64_t k = 0; k < rest; ++k)
    for (int64_t j = 0; j < factor; ++j)
      waves.push_back(fourierWave(j * k, n, inverse));
  Expr outer = transform(turn(multiplyComplex(inner, waves), rest, factor)).reshape({rows, n, 2});
  return turn(outer, factor, rest).reshape({rows, n, 2});
}

/// The first `wanted` numbers of the transform of x, [rows, n, 1 or 2].
static Expr products(Expr x, int64_t wanted, bool inverse) {
  int64_t n = x.shape()[1];
  int64_t factor = n * wanted * x.shape()[2] > maxDirect ? middleFactor(n) : 1;
  if (factor == 1)
    return fourierProduct(x, wanted, inverse);
  auto part = [&](Expr a) { return products(a, a.shape()[1], inverse); };
  return fitNumbers(fourierInParts(x, factor, inverse, part), wanted);
}

// The op ------------------------------------------------------------------------------------------

LogicalResult FourierOp::verify() {
  RankedTensorType from = getOperand().getType(), to = getResult().getType();
  auto hasNumbers = [](RankedTensorType type) {
    return type.getRank() == 3 && type.getDimSize(1) > 0 &&
           (type.getDimSize(2) == 1 || type.getDimSize(2) == 2);
  };
  if (!hasNumbers(from) || !hasNumbers(to) || from.getDimSize(0) != to.getDimSize(0) ||
      from.getElementType() != to.getElementType()) // C1
    return emitOpError("expected the same rows of numbers, [rows, numbers, 1 or 2], found ")
           << from << " and " << to;
  bool isFromReal = from.getDimSize(2) == 1, isToReal = to.getDimSize(2) == 1;
  int64_t given = from.getDimSize(1), wanted = to.getDimSize(1);
  if (!isFromReal && !isToReal && given != wanted) // C2
    return emitOpError("expected ") << given << " complex numbers as the result, found " << wanted;
  if ((isFromReal && isToReal) || (isFromReal && getInverse()) || (isToReal && !getInverse())) // C3
    return emitOpError("expected real numbers as the operand of a transform or the result of an "
                       "inverse one, found ")
           << from << " and " << to;
  int64_t real = isFromReal ? given : wanted, half = isFromReal ? wanted : given;
  if ((isFromReal || isToReal) && (real % 2 != 0 || half != real / 2 + 1)) // C4
    return emitOpError("expected an even number n of real numbers and n / 2 + 1 complex ones, "
                       "found ")
           << real << " and " << half;
  return success();
}

int64_t FourierOp::getFlops() {
  int64_t size =
      std::max(getOperand().getType().getNumElements(), getResult().getType().getNumElements());
  int64_t numbers =
      std::max(getOperand().getType().getDimSize(1), getResult().getType().getDimSize(1));
  return size * 5 / 2 * llvm::Log2_64_Ceil(uint64_t(numbers));
}

void FourierOp::evaluate(ArrayRef<HostTensor> operands, MutableArrayRef<HostTensor> results) {
  const HostTensor &x = operands[0];
  HostTensor &y = results[0];
  int64_t given = x.getShape()[1], parts = x.getShape()[2];
  int64_t wanted = y.getShape()[1], kept = y.getShape()[2];
  for (int64_t row = 0; row < x.getShape()[0]; ++row) {
    SmallVector<std::complex<double>> numbers(std::max(given, wanted));
    for (int64_t k = 0; k < given; ++k) {
      int64_t at = (row * given + k) * parts;
      numbers[k] = {x.getFloat(at), parts == 2 ? x.getFloat(at + 1) : 0};
    }
    numbers = fourierOf(numbers, getInverse());
    for (int64_t j = 0; j < wanted; ++j) {
      int64_t at = (row * wanted + j) * kept;
      y.setFloat(at, numbers[j].real());
      if (kept == 2)
        y.setFloat(at + 1, numbers[j].imag());
    }
  }
}

SmallVector<Value> FourierOp::decompose(OpBuilder &b) {
  RankedTensorType type = getResult().getType();
  Expr x = Expr(b, getLoc(), getOperand()).wide();
  int64_t wanted = type.getDimSize(1);
  // Half of a spectrum, for a real result, is followed by zeros.
  Expr y = products(fitNumbers(x, std::max(x.shape()[1], wanted)), wanted, getInverse());
  if (type.getDimSize(2) == 1)
    y = y.with(b.createOrFold<SliceOp>(getLoc(), y, ArrayRef<int64_t>{0, 0, 0}, type.getShape(),
                                       ArrayRef<int64_t>{1, 1, 1}));
  return {y.cast(type.getElementType())};
}

// Each result is a sum of operands times constants, and the other direction has the same ones.
LogicalResult FourierOp::buildGradient(OpBuilder &b, ValueRange resultGradients,
                                       SmallVectorImpl<Value> &operandGradients) {
  operandGradients[0] = b.createOrFold<FourierOp>(getLoc(), getOperand().getType(),
                                                  resultGradients[0], !getInverse());
  return success();
}
