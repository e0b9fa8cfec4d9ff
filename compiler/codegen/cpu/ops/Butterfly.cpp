// Even lengths are halved; odd ones pair numbers from both ends, whose waves are conjugates.
#include "compiler/codegen/cpu/ops/Butterfly.h"

#include "dialects/grad/math/Fourier.h"

using namespace mlir;
using namespace gradc::cpu;

Value ComplexArithmetic::constant(double value) {
  Value scalar =
      arith::ConstantOp::create(b, nest.location, TypedAttr(b.getFloatAttr(element, value)));
  return nest.splat(scalar);
}
Value ComplexArithmetic::add(Value x, Value y) {
  return arith::AddFOp::create(b, nest.location, x, y);
}
Value ComplexArithmetic::subtract(Value x, Value y) {
  return arith::SubFOp::create(b, nest.location, x, y);
}
Value ComplexArithmetic::multiply(Value x, Value y) {
  return arith::MulFOp::create(b, nest.location, x, y);
}
Value ComplexArithmetic::negate(Value x) { return arith::NegFOp::create(b, nest.location, x); }
Value ComplexArithmetic::multiplyAdd(Value x, Value y, Value z) {
  return math::FmaOp::create(b, nest.location, x, y, z);
}

ComplexVector ComplexArithmetic::add(const ComplexVector &x, const ComplexVector &y) {
  return {add(x.real, y.real), add(x.imaginary, y.imaginary)};
}
ComplexVector ComplexArithmetic::subtract(const ComplexVector &x, const ComplexVector &y) {
  return {subtract(x.real, y.real), subtract(x.imaginary, y.imaginary)};
}
ComplexVector ComplexArithmetic::multiply(const ComplexVector &x, Value real, Value imaginary) {
  return {multiplyAdd(x.real, real, negate(multiply(x.imaginary, imaginary))),
          multiplyAdd(x.real, imaginary, multiply(x.imaginary, real))};
}

ComplexVector ComplexArithmetic::rotate(const ComplexVector &x, int64_t k, int64_t n,
                                        bool inverse) {
  if (k == 0)
    return x;
  if (4 * k == n) // by i or -i
    return inverse ? ComplexVector{negate(x.imaginary), x.real}
                   : ComplexVector{x.imaginary, negate(x.real)};
  std::complex<double> wave = grad::fourierWave(k, n, inverse);
  return multiply(x, constant(wave.real()), constant(wave.imag()));
}

SmallVector<ComplexVector> ComplexArithmetic::transform(ArrayRef<ComplexVector> x, bool inverse) {
  if (x.size() == 1)
    return {x[0]};
  return x.size() % 2 == 0 ? transformEven(x, inverse) : transformOdd(x, inverse);
}

SmallVector<ComplexVector> ComplexArithmetic::transformEven(ArrayRef<ComplexVector> x,
                                                            bool inverse) {
  size_t half = x.size() / 2;
  SmallVector<ComplexVector> halves[2], result(x.size());
  for (auto [k, number] : llvm::enumerate(x))
    halves[k % 2].push_back(number);
  for (SmallVector<ComplexVector> &numbers : halves)
    numbers = transform(numbers, inverse);
  for (size_t j = 0; j < half; ++j) {
    ComplexVector odd = rotate(halves[1][j], int64_t(j), int64_t(x.size()), inverse);
    result[j] = add(halves[0][j], odd);
    result[half + j] = subtract(halves[0][j], odd);
  }
  return result;
}

SmallVector<ComplexVector> ComplexArithmetic::transformOdd(ArrayRef<ComplexVector> x,
                                                           bool inverse) {
  auto n = int64_t(x.size()), half = n / 2;
  SmallVector<ComplexVector> sums, differences, result(n);
  for (int64_t k = 1; k <= half; ++k) {
    sums.push_back(add(x[k], x[n - k]));
    differences.push_back(subtract(x[k], x[n - k]));
  }
  result[0] = x[0];
  for (const ComplexVector &sum : sums)
    result[0] = add(result[0], sum);
  for (int64_t j = 1; j <= half; ++j) {
    // The sums times cosines; the differences times sines, and by i.
    ComplexVector even = x[0], odd;
    for (int64_t k = 1; k <= half; ++k) {
      std::complex<double> wave = grad::fourierWave(j * k, n, inverse);
      Value cosine = constant(wave.real()), sine = constant(wave.imag());
      const ComplexVector &sum = sums[k - 1], &difference = differences[k - 1];
      even = {multiplyAdd(sum.real, cosine, even.real),
              multiplyAdd(sum.imaginary, cosine, even.imaginary)};
      odd = k == 1 ? ComplexVector{multiply(difference.real, sine),
                                   multiply(difference.imaginary, sine)}
                   : ComplexVector{multiplyAdd(difference.real, sine, odd.real),
                                   multiplyAdd(difference.imaginary, sine, odd.imaginary)};
    }
    result[j] = {subtract(even.real, odd.imaginary), add(even.imaginary, odd.real)};
    result[n - j] = {add(even.real, odd.imaginary), subtract(even.imaginary, odd.real)};
  }
  return result;
}
