// Propagates errors by evaluating each op again on operands that are shifted by their own errors,
// so no op needs an error formula.
#include "compiler/verify/Bounds.h"

#include "dialects/grad/Build.h"
#include "dialects/grad/math/Sampling.h"

#include <cmath>
#include <random>

using namespace mlir;
using namespace mlir::grad;

namespace gradc {

double roundoff(Type element) {
  auto type = dyn_cast<FloatType>(element);
  return type ? std::ldexp(1.0, -int(APFloat::semanticsPrecision(type.getFloatSemantics()))) : 0;
}

namespace {

/// The rounding of one op, in units of roundoff; math functions are within 3.5 units in the last
/// place.
constexpr double opRoundings = 8;
/// Minimum number of sampled elements: fewer tell little.
constexpr int64_t minSamples = 64;

bool isFloat(const HostTensor &tensor) { return isa<FloatType>(tensor.getElementType()); }

/// The bound of an underflow. Kernels treat denormals as zero, but denormals of f16 are normal in
/// f32.
double smallest(Type element) {
  auto type = dyn_cast<FloatType>(element);
  if (!type)
    return 0;
  const llvm::fltSemantics &semantics = type.getFloatSemantics();
  return (element.isF16() ? APFloat::getSmallest(semantics)
                          : APFloat::getSmallestNormalized(semantics))
      .convertToDouble();
}

/// Floats as f64. Values that overflow `element`, the type that the program computes in, are
/// infinite.
HostTensor widen(const HostTensor &tensor, Type element) {
  if (!isFloat(tensor))
    return tensor;
  double largest =
      APFloat::getLargest(cast<FloatType>(element).getFloatSemantics()).convertToDouble();
  HostTensor wide(tensor.getType().clone(Float64Type::get(element.getContext())));
  for (int64_t i = 0; i < tensor.size(); ++i) {
    double x = tensor.getFloat(i);
    wide.setFloat(i, std::abs(x) > largest ? std::copysign(INFINITY, x) : x);
  }
  return wide;
}

/// The corners of `shape`, where loops have their edges, and `count` randomly drawn elements.
llvm::BitVector sample(ArrayRef<int64_t> shape, int64_t count) {
  llvm::BitVector wanted(llvm::product_of(shape));
  for (uint64_t corner = 0; corner < uint64_t(1) << shape.size(); ++corner) {
    int64_t at = 0;
    for (auto [d, n] : llvm::enumerate(shape))
      at = at * n + (corner >> d & 1 ? n - 1 : 0);
    wanted.set(at);
  }
  std::mt19937_64 random(wanted.size());
  for (int64_t i = 0; i < count; ++i)
    wanted.set(random() % wanted.size());
  return wanted;
}

/// An op that sums many terms into each element of its result.
struct SumOp {
  explicit SumOp(Operation *op) {
    auto loops = dyn_cast<LoopsOpInterface>(op);
    isContraction = loops && loops.getLoopKind() == LoopKind::contraction;
    sums = isContraction || (loops && loops.getLoopKind() == LoopKind::reduction);
    if (!sums)
      return;
    results = std::max<int64_t>(1, cast<ShapedType>(op->getResult(0).getType()).getNumElements());
    int64_t all = isContraction ? cast<CostOpInterface>(op).getFlops() / 2
                                : cast<ShapedType>(op->getOperand(0).getType()).getNumElements();
    terms = std::max<int64_t>(1, all / results);
  }
  /// The number of result elements to compute within `maxTerms`.
  int64_t samples(int64_t maxTerms) const {
    return std::clamp(maxTerms / terms, std::min(minSamples, results), results);
  }

  bool sums = false, isContraction = false;
  int64_t results = 1, terms = 1;
};

/// One op of a kernel: its value, and the bound on its error.
class BoundedOp {
public:
  BoundedOp(Operation *op, ArrayRef<Bounded> operands, const EvaluationOptions &options)
      : op(op), operands(operands), options(options), sum(op) {
    if (int64_t count = sum.samples(options.maxTerms); sum.sums && count < sum.results)
      wanted = sample(cast<ShapedType>(op->getResult(0).getType()).getShape(), count);
  }

  SmallVector<Bounded> run() {
    values = evaluate(llvm::map_to_vector(operands, [](const Bounded &b) { return b.value; }));
    for (const HostTensor &value : values)
      errors.emplace_back(value.size(), 0.0);
    addRounding();
    if (!sum.isContraction)
      for (auto [i, operand] : llvm::enumerate(operands))
        if (!operand.error.empty())
          addErrorOf(i);
    if (sum.sums)
      addErrorOfSums();
    SmallVector<Bounded> results;
    for (auto [value, error] : llvm::zip_equal(values, errors)) {
      for (int64_t i = 0; !wanted.empty() && i < value.size(); ++i)
        if (!wanted[i])
          error[i] = INFINITY;
      if (llvm::all_of(error, [](double e) { return e == 0; }))
        error.clear();
      results.push_back({value, std::move(error)});
    }
    return results;
  }

private:
  SmallVector<HostTensor> evaluate(ArrayRef<HostTensor> inputs) {
    SmallVector<HostTensor> results;
    for (Type t : op->getResultTypes()) {
      auto type = cast<RankedTensorType>(t);
      bool floats = isa<FloatType>(type.getElementType());
      results.emplace_back(floats ? type.clone(Float64Type::get(op->getContext())) : type);
    }
    evaluateInto(results, inputs);
    for (auto [result, type] : llvm::zip_equal(results, op->getResultTypes()))
      result = widen(result, getElementTypeOrSelf(type));
    return results;
  }

  /// The sum of magnitudes, as f64 also of integers: it may be larger than the sum, which fits.
  HostTensor sumOf(ArrayRef<HostTensor> magnitudes) {
    if (isFloat(values[0]))
      return evaluate(magnitudes)[0];
    HostTensor sums(values[0].getType().clone(Float64Type::get(op->getContext())));
    evaluateInto(sums, magnitudes);
    return sums;
  }

  void evaluateInto(MutableArrayRef<HostTensor> results, ArrayRef<HostTensor> inputs) {
    SamplingScope scope(wanted.empty() ? nullptr : &wanted);
    cast<EvaluateOpInterface>(op).evaluate(inputs, results);
  }

  /// Adds the op's own rounding error. Moved values and integers are exact.
  void addRounding() {
    auto loops = dyn_cast<LoopsOpInterface>(op);
    if (op->getNumOperands() && loops &&
        llvm::is_contained({LoopKind::movement, LoopKind::view, LoopKind::assembly},
                           loops.getLoopKind()))
      return;
    for (auto [value, error, type] : llvm::zip_equal(values, errors, op->getResultTypes())) {
      Type element = getElementTypeOrSelf(type);
      double unit = opRoundings * roundoff(element), least = smallest(element);
      for (int64_t i = 0; unit && i < value.size(); ++i)
        if (double x = value.getFloat(i); std::isfinite(x) && x != 0)
          error[i] = unit * std::abs(x) + least;
    }
  }

  /// Adds the effect of operand `i`'s error on the results: runs the op on operands shifted up and
  /// down. A comparison decides between two uncertain numbers, so both may be shifted.
  void addErrorOf(unsigned i) {
    bool isUnknown = llvm::any_of(operands[i].error, [](double e) { return std::isinf(e); });
    SmallVector<double> ways = {1, -1};
    if (isUnknown && isFloat(operands[i].value))
      ways.push_back(NAN);
    double reach = llvm::any_of(values, isFloat) ? 1 : 2;
    std::vector<std::vector<double>> most;
    for (const HostTensor &value : values)
      most.emplace_back(value.size(), 0.0);
    for (double way : ways) {
      auto inputs = llvm::map_to_vector(operands, [](const Bounded &b) { return b.value; });
      inputs[i] = move(operands[i], way * reach);
      for (auto [value, moved, error] : llvm::zip_equal(values, evaluate(inputs), most))
        for (int64_t j = 0; j < value.size(); ++j)
          error[j] = std::max(error[j], distance(value, moved, j));
    }
    for (auto [error, added] : llvm::zip_equal(errors, most))
      for (auto [e, a] : llvm::zip_equal(error, added))
        e += a;
  }

  /// NaN as `way` stands for any value.
  static HostTensor move(const Bounded &operand, double way) {
    HostTensor moved = operand.value;
    for (int64_t j = 0; j < moved.size(); ++j) {
      double error = operand.error[j];
      if (error == 0)
        continue;
      if (moved.getElementType().isInteger(1))
        moved.setInt(j, !moved.getInt(j));
      else if (!isFloat(moved))
        moved.setInt(j, moved.getInt(j) + (way > 0 ? 1 : -1));
      else if (!std::isnan(way))
        moved.setFloat(j, moved.getFloat(j) + way * error);
      else if (std::isinf(error))
        moved.setFloat(j, NAN);
    }
    return moved;
  }

  static double distance(const HostTensor &a, const HostTensor &b, int64_t i) {
    if (!isFloat(a))
      return a.getInt(i) == b.getInt(i) ? 0 : INFINITY;
    double x = a.getFloat(i), y = b.getFloat(i);
    if (x == y || (std::isnan(x) && std::isnan(y)))
      return 0;
    return std::isnan(x) || std::isnan(y) ? INFINITY : std::abs(x - y);
  }

  /// The magnitudes of an operand's elements, and the same plus their errors. Integers that a
  /// contraction multiplies are factors like floats: codes beside floats have signs, too. As f64
  /// they have room for the magnitude of the least one. All other integers are indices.
  std::pair<HostTensor, HostTensor> magnitudesOf(const Bounded &operand) {
    if (!sum.isContraction && !isFloat(operand.value))
      return {operand.value, operand.value};
    HostTensor magnitude(operand.value.getType().clone(Float64Type::get(op->getContext())));
    HostTensor more = magnitude;
    // Sums of integers are exact or unknown. One more tells whether they depend on an unknown one.
    bool isExactSum = !isFloat(values[0]);
    for (int64_t j = 0; j < magnitude.size(); ++j) {
      double size = std::abs(operand.value.getFloat(j)), error = operand.errorAt(j);
      magnitude.setFloat(j, size);
      more.setFloat(j, size + (isExactSum && error != 0 ? 1 : error));
    }
    return {magnitude, more};
  }

  /// A sum rounds relative to the magnitudes of its terms, and its operands' errors add up
  /// regardless of sign: the same sum over magnitudes bounds both. The errors of n additions in
  /// lanes grow like the square root of n.
  void addErrorOfSums() {
    bool isExact = llvm::all_of(operands, [](const Bounded &b) { return b.error.empty(); });
    if (!isFloat(values[0]) && (isExact || !sum.isContraction))
      return;
    SmallVector<HostTensor> magnitudes, moved;
    for (const Bounded &operand : operands) {
      auto [magnitude, more] = magnitudesOf(operand);
      magnitudes.push_back(magnitude);
      moved.push_back(more);
    }
    HostTensor sums = sumOf(magnitudes);
    if (!isExact) {
      HostTensor movedSums = sumOf(moved);
      for (int64_t j = 0; j < sums.size(); ++j) {
        double added = distance(sums, movedSums, j);
        errors[0][j] = std::max(errors[0][j], isFloat(values[0]) || added == 0 ? added : INFINITY);
      }
    }
    if (!isFloat(values[0]))
      return;
    double unit = roundoff(accumulatorOf(getElementTypeOrSelf(op->getResult(0).getType())));
    double growth = 4 + 2 * std::sqrt(double(sum.terms)), around = 0;
    if (options.winogradOutputs && sum.isContraction)
      for (int64_t j = 0; j < sums.size(); ++j)
        if (double s = sums.getFloat(j); std::isfinite(s))
          around = std::max(around, (options.winogradOutputs == 4 ? 16 : 4) * s);
    for (int64_t j = 0; j < sums.size(); ++j)
      if (double s = std::max(sums.getFloat(j), around); std::isfinite(s))
        errors[0][j] += unit * growth * s;
  }

  Operation *op;
  ArrayRef<Bounded> operands;
  const EvaluationOptions &options;
  SumOp sum;
  llvm::BitVector wanted;
  SmallVector<HostTensor> values;
  std::vector<std::vector<double>> errors;
};

} // namespace

Bounded boundedOperand(const HostTensor &operand, double error) {
  Bounded bounded{widen(operand, operand.getElementType()), {}};
  if (error > 0)
    bounded.error.assign(operand.size(), error);
  return bounded;
}

SmallVector<Bounded> evaluateBounded(Block &block, ArrayRef<Bounded> operands,
                                     const EvaluationOptions &options) {
  llvm::DenseMap<Value, Bounded> values;
  for (auto [argument, operand] : llvm::zip_equal(block.getArguments(), operands))
    values[argument] = operand;
  for (Operation &op : block) {
    SmallVector<Bounded> inputs;
    for (Value v : op.getOperands())
      inputs.push_back(values.lookup(v));
    if (op.hasTrait<OpTrait::IsTerminator>())
      return inputs;
    for (auto [result, value] :
         llvm::zip_equal(op.getResults(), BoundedOp(&op, inputs, options).run()))
      values[result] = std::move(value);
  }
  return {};
}

double estimateSeconds(Block &block, int64_t maxTerms) {
  constexpr double secondsPerElement = 1e-7, secondsPerTerm = 8e-8;
  double seconds = 0;
  for (Operation &op : block.without_terminator()) {
    for (Type type : op.getResultTypes())
      seconds += secondsPerElement * cast<ShapedType>(type).getNumElements();
    if (SumOp sum(&op); sum.sums)
      seconds += secondsPerTerm * double(sum.samples(maxTerms)) * double(sum.terms);
  }
  return seconds;
}

} // namespace gradc
