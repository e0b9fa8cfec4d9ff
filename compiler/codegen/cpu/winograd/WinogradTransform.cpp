// Builds the rows of the matrices from the points, and emits sums of their nonzero terms.
#include "compiler/codegen/cpu/winograd/WinogradTransform.h"

#include <cmath>

using namespace mlir;
using namespace gradc::cpu;
using namespace gradc::cpu::winograd;
using namespace gradc::tile;

/// Points near 1 keep the magnitudes of patches, filters and products alike. Errors of F(4x4)
/// by these points are 3 to 5 times those of direct sums, by 1 and 2 they are 6 to 10 times.
static ArrayRef<double> pointsOf(int64_t outputs) {
  static constexpr double two[] = {1}, four[] = {0.75, 1.5};
  return outputs == 2 ? ArrayRef(two) : ArrayRef(four);
}

Transform::Transform(LoopNest &nest, int64_t outputs)
    : outputs(outputs), patch(outputs + taps - 1), slots(patch * patch), nest(nest),
      points(pointsOf(outputs)) {
  addPatchRows();
  addEvaluations(filterRows, taps, /*divide=*/true);
  addEvaluations(resultRows, outputs, /*divide=*/false);
}

/// The rows of `size` powers of each point; divided by the product of its differences to the other
/// points, of which 0 takes the magnitude.
void Transform::addEvaluations(Rows &rows, int64_t size, bool divide) const {
  rows.first.assign(size, 0);
  rows.last.assign(size, 0);
  rows.first.front() = rows.last.back() = 1;
  for (double p : points) {
    double differences = 2 * p * p;
    for (double q : points)
      if (q != p)
        differences *= p * p - q * q;
    if (divide)
      rows.first.front() /= p * p;
    RowPair pair{Coefficients(size, 0), Coefficients(size, 0), p};
    for (int64_t k = 0; k < size; ++k)
      (k % 2 ? pair.odd : pair.even)[k] = std::pow(p, k - k % 2);
    if (divide) {
      for (double &even : pair.even)
        even /= differences;
      pair.factor /= differences;
    }
    rows.pairs.push_back(pair);
  }
}

/// The coefficients of x (x^2 - p^2) .. over all points but one, the row's. Multiplied by x - p or
/// x + p for a pair, their last coefficient is 1; the row of 0 has the sign that makes its first
/// one positive.
void Transform::addPatchRows() {
  auto withRoots = [&](Coefficients polynomial, double except) {
    for (double q : points) {
      if (q == except)
        continue;
      for (int64_t k = patch - 1; k >= 0; --k)
        polynomial[k] = (k >= 2 ? polynomial[k - 2] : 0) - q * q * polynomial[k];
    }
    return polynomial;
  };
  auto power = [&](int64_t k) {
    Coefficients polynomial(patch, 0);
    polynomial[k] = 1;
    return polynomial;
  };
  patchRows.first = withRoots(power(0), 0);
  patchRows.last = withRoots(power(1), 0);
  if (patchRows.first.front() < 0)
    for (double &c : patchRows.first)
      c = -c;
  for (double p : points)
    patchRows.pairs.push_back({withRoots(power(2), p), withRoots(power(1), p), p});
}

Value Transform::sum(ArrayRef<double> factors, ArrayRef<Value> x) const {
  OpBuilder &b = nest.builder;
  auto constant = [&](double c) {
    return nest.splat(
        arith::ConstantOp::create(b, nest.location, b.getF32FloatAttr(static_cast<float>(c))));
  };
  Value result;
  auto add = [&](double c, Value x) {
    if (!result)
      result = c == 1 ? x : Value(arith::MulFOp::create(b, nest.location, x, constant(c)));
    else if (c == 1)
      result = arith::AddFOp::create(b, nest.location, result, x);
    else if (c == -1)
      result = arith::SubFOp::create(b, nest.location, result, x);
    else
      result = vector::FMAOp::create(b, nest.location, x, constant(c), result);
  };
  for (auto [c, v] : llvm::zip_equal(factors, x)) // one that needs no product begins
    if (c == 1)
      add(c, v);
  for (auto [c, v] : llvm::zip_equal(factors, x))
    if (c != 0 && c != 1)
      add(c, v);
  return result;
}

SmallVector<Value> Transform::times(const Rows &rows, ArrayRef<Value> x) const {
  Line result{sum(rows.first, x)};
  for (const RowPair &pair : rows.pairs) {
    Value parts[] = {sum(pair.even, x), sum(pair.odd, x)};
    result.push_back(sum({1, pair.factor}, parts));
    result.push_back(sum({1, -pair.factor}, parts));
  }
  result.push_back(sum(rows.last, x));
  return result;
}

SmallVector<Value> Transform::transposedTimes(const Rows &rows, ArrayRef<Value> x) const {
  SmallVector<Value> sums, differences;
  for (size_t i = 1; i + 1 < x.size(); i += 2) {
    sums.push_back(arith::AddFOp::create(nest.builder, nest.location, x[i], x[i + 1]));
    differences.push_back(arith::SubFOp::create(nest.builder, nest.location, x[i], x[i + 1]));
  }
  Line result;
  for (size_t k = 0; k < rows.first.size(); ++k) {
    SmallVector<double> factors{rows.first[k], rows.last[k]};
    SmallVector<Value> terms{x.front(), x.back()};
    for (const RowPair &pair : rows.pairs)
      factors.push_back(k % 2 ? pair.factor * pair.odd[k] : pair.even[k]);
    llvm::append_range(terms, k % 2 ? differences : sums);
    result.push_back(sum(factors, terms));
  }
  return result;
}

/// Transforms each line of a square as it is read, then each column, which is written at once: few
/// values are live.
static void alongBoth(int64_t size, Read read, Write write,
                      llvm::function_ref<SmallVector<Value>(ArrayRef<Value>)> transform) {
  SmallVector<SmallVector<Value>> lines;
  for (int64_t i = 0; i < size; ++i)
    lines.push_back(
        transform(llvm::map_to_vector(llvm::seq(size), [&](int64_t j) { return read(i, j); })));
  for (size_t j = 0; j < lines.front().size(); ++j) {
    auto column = llvm::map_to_vector(lines, [&](ArrayRef<Value> line) { return line[j]; });
    for (auto [i, value] : llvm::enumerate(transform(column)))
      write(i, j, value);
  }
}

void Transform::times(const Rows &rows, int64_t size, Read read, Write write) const {
  alongBoth(size, read, write, [&](ArrayRef<Value> x) { return times(rows, x); });
}

void Transform::transposedTimes(const Rows &rows, Read read, Write write) const {
  alongBoth(patch, read, write, [&](ArrayRef<Value> x) { return transposedTimes(rows, x); });
}
