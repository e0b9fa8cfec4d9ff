// Pools: shapes, gradients and plain loop nests.
#include "dialects/grad/Movement.h"
#include "dialects/grad/math/Reduction.h"
#include "dialects/grad/math/Window.h"

using namespace mlir;
using namespace mlir::grad;

// Types -------------------------------------------------------------------------------------------

/// The shape with the leading dims replaced by the windows over them.
static FailureOr<RankedTensorType> windowsOf(std::optional<Location> location,
                                             RankedTensorType operand, WindowAttr window) {
  SmallVector<int64_t> shape;
  if (failed(inferWindows(location, operand, window, shape)))
    return failure();
  llvm::append_range(shape, operand.getShape().drop_front(window.getRank()));
  return operand.clone(shape);
}

/// Whether `index` has the type that window_max gives for windows of `shape`.
static LogicalResult checkIndex(std::optional<Location> location, Type index,
                                ArrayRef<int64_t> shape, WindowAttr window) {
  auto expected = RankedTensorType::get(shape, tapNumberType(window));
  if (index == expected)
    return success();
  return emitOptionalError(location, "expected index ", expected, ", found ", index);
}

LogicalResult WindowSumOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                                            Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto type =
      windowsOf(loc, cast<RankedTensorType>(adaptor.getOperand().getType()), adaptor.getWindow());
  if (failed(type))
    return failure();
  Type element = type->getElementType();
  types.push_back(type->clone(adaptor.getWide() ? accumulatorOf(element) : element));
  return success();
}

LogicalResult WindowMaxOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                                            Adaptor adaptor, SmallVectorImpl<Type> &types) {
  WindowAttr window = adaptor.getWindow();
  if (window.getReversed() || llvm::any_of(window.getBase(), [](int64_t n) { return n != 1; }))
    return emitOptionalError(loc, "expected a window of base 1 that is not reversed, found ",
                             window);
  auto type = windowsOf(loc, cast<RankedTensorType>(adaptor.getOperand().getType()), window);
  if (failed(type))
    return failure();
  types.append({*type, type->clone(tapNumberType(window))});
  return success();
}

LogicalResult WindowGatherOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                                               Adaptor adaptor, SmallVectorImpl<Type> &types) {
  WindowAttr window = adaptor.getWindow();
  auto type = windowsOf(loc, cast<RankedTensorType>(adaptor.getOperand().getType()), window);
  if (failed(type) ||
      failed(checkIndex(loc, adaptor.getIndex().getType(), type->getShape(), window)))
    return failure();
  types.push_back(*type);
  return success();
}

LogicalResult WindowScatterOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                                                Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto operand = cast<RankedTensorType>(adaptor.getOperand().getType());
  WindowAttr window = adaptor.getWindow();
  SmallVector<int64_t> shape(adaptor.getSize());
  if (int64_t(shape.size()) != window.getRank() ||
      llvm::any_of(shape, [](int64_t n) { return n < 1; }))
    return emitOptionalError(loc, "expected ", window.getRank(), " sizes of 1 or more, found ",
                             formatDims(shape));
  if (operand.getRank() < window.getRank())
    return emitOptionalError(loc, "expected rank ", window.getRank(),
                             " or more for the window's dims, found ", operand);
  llvm::append_range(shape, operand.getShape().drop_front(window.getRank()));
  auto windows = windowsOf(loc, operand.clone(shape), window);
  if (failed(windows))
    return failure();
  if (*windows != operand)
    return emitOptionalError(loc, "expected operand ", *windows, ", found ", operand);
  if (failed(checkIndex(loc, adaptor.getIndex().getType(), operand.getShape(), window)))
    return failure();
  types.push_back(operand.clone(shape));
  return success();
}

// Gradients ---------------------------------------------------------------------------------------

LogicalResult WindowSumOp::buildGradient(OpBuilder &b, ValueRange resultGradients,
                                         SmallVectorImpl<Value> &operandGradients) {
  if (getOperand().getType().getNumElements() == 0)
    return success();
  WindowAttr adjoint =
      getWindow().getAdjoint(getOperand().getType().getShape(), getType().getShape());
  // A gradient of f32 is stored like the operand; its sums are rounded to that type anyway.
  RankedTensorType stored = getType().clone(getOperand().getType().getElementType());
  Value gradient = resultGradients[0];
  if (getWide())
    gradient = b.createOrFold<CastOp>(getLoc(), stored, gradient, /*storage=*/true);
  operandGradients[0] = WindowSumOp::create(b, getLoc(), gradient, adjoint);
  return success();
}

/// The gradient of each window goes back to the tap that the window chose.
static Value scatter(OpBuilder &b, Location loc, Value gradient, Value index, Value operand,
                     WindowAttr window) {
  auto type = cast<RankedTensorType>(operand.getType());
  if (type.getNumElements() == 0)
    return {};
  return WindowScatterOp::create(b, loc, gradient, index,
                                 type.getShape().take_front(window.getRank()), window);
}

LogicalResult WindowMaxOp::buildGradient(OpBuilder &b, ValueRange resultGradients,
                                         SmallVectorImpl<Value> &operandGradients) {
  operandGradients[0] =
      scatter(b, getLoc(), resultGradients[0], getIndex(), getOperand(), getWindow());
  return success();
}

LogicalResult WindowGatherOp::buildGradient(OpBuilder &b, ValueRange resultGradients,
                                            SmallVectorImpl<Value> &operandGradients) {
  operandGradients[0] =
      scatter(b, getLoc(), resultGradients[0], getIndex(), getOperand(), getWindow());
  return success();
}

LogicalResult WindowScatterOp::buildGradient(OpBuilder &b, ValueRange resultGradients,
                                             SmallVectorImpl<Value> &operandGradients) {
  operandGradients[0] =
      WindowGatherOp::create(b, getLoc(), resultGradients[0], getIndex(), getWindow());
  return success();
}

// Windows ----------------------------------------------------------------------------------------

bool WindowSumOp::readsOnce(unsigned) {
  return !overlaps(getWindow(), getOperand().getType().getShape());
}
bool WindowMaxOp::readsOnce(unsigned) {
  return !overlaps(getWindow(), getOperand().getType().getShape());
}
// Each window reads only its own element of `index`.
bool WindowGatherOp::readsOnce(unsigned operand) {
  return operand == 1 || !overlaps(getWindow(), getOperand().getType().getShape());
}
// Every element of the result checks the windows that may have selected it.
bool WindowScatterOp::readsOnce(unsigned) {
  ArrayRef<int64_t> windows = getOperand().getType().getShape();
  return !overlaps(getWindow().getAdjoint(getType().getShape(), windows), windows);
}

// Evaluation --------------------------------------------------------------------------------------

static int64_t pairsOf(WindowAttr window, RankedTensorType operand) {
  return countTaps(window, operand.getShape()) *
         llvm::product_of(operand.getShape().drop_front(window.getRank()));
}

int64_t WindowSumOp::getFlops() { return pairsOf(getWindow(), getOperand().getType()); }
int64_t WindowMaxOp::getFlops() { return pairsOf(getWindow(), getOperand().getType()); }

/// Calls `body(result position, tap, operand position)` for the taps of each window on `shape`,
/// completing one result element before the next.
static void forEachPair(WindowAttr window, ArrayRef<int64_t> shape, ArrayRef<int64_t> windows,
                        llvm::function_ref<void(int64_t, int64_t, int64_t)> body) {
  int64_t position = 0;
  forEachIndex(windows, [&](ArrayRef<int64_t> index) {
    SmallVector<int64_t> at(index);
    forEachTap(window, shape, index, [&](int64_t tap, ArrayRef<int64_t> element) {
      llvm::copy(element, at.begin());
      body(position, tap, linearize(at, shape));
    });
    ++position;
  });
}

/// Accumulates in f64 (integers wrap) and rounds once.
namespace {
struct Sums {
  explicit Sums(int64_t size) : floats(size), ints(size) {}
  void add(int64_t to, const HostTensor &from, int64_t position) {
    if (isa<FloatType>(from.getElementType()))
      floats[to] += from.getFloat(position);
    else
      ints[to] += uint64_t(from.getInt(position));
  }
  void store(HostTensor &result) const {
    bool floating = isa<FloatType>(result.getElementType());
    for (int64_t i = 0; i < result.size(); ++i)
      floating ? result.setFloat(i, floats[i]) : result.setInt(i, int64_t(ints[i]));
  }
  std::vector<double> floats;
  std::vector<uint64_t> ints;
};
} // namespace

void WindowSumOp::evaluate(ArrayRef<HostTensor> operands, MutableArrayRef<HostTensor> results) {
  Sums sums(results[0].size());
  forEachPair(getWindow(), operands[0].getShape(), results[0].getShape(),
              [&](int64_t to, int64_t, int64_t from) { sums.add(to, operands[0], from); });
  sums.store(results[0]);
}

void WindowMaxOp::evaluate(ArrayRef<HostTensor> operands, MutableArrayRef<HostTensor> results) {
  const HostTensor &x = operands[0];
  Type element = x.getElementType();
  bool isUnsigned = element.isUnsignedInteger(), isFloat = isa<FloatType>(element);
  std::vector<int64_t> best(results[0].size(), -1);
  forEachPair(getWindow(), x.getShape(), results[0].getShape(),
              [&](int64_t to, int64_t tap, int64_t from) {
                if (best[to] >= 0 && !isBeyond(x, from, best[to]))
                  return;
                best[to] = from;
                results[1].setInt(to, tap);
              });
  int64_t lowest =
      isUnsigned ? 0 : INT64_MIN >> (64 - std::min(64u, element.getIntOrFloatBitWidth()));
  for (auto [i, from] : llvm::enumerate(best)) {
    if (from >= 0)
      copyElement(x, from, results[0], i);
    else if (isFloat)
      results[0].setFloat(i, -std::numeric_limits<double>::infinity());
    else
      results[0].setInt(i, lowest);
  }
}

void WindowGatherOp::evaluate(ArrayRef<HostTensor> operands, MutableArrayRef<HostTensor> results) {
  forEachPair(getWindow(), operands[0].getShape(), results[0].getShape(),
              [&](int64_t to, int64_t tap, int64_t from) {
                if (operands[1].getInt(to) == tap)
                  copyElement(operands[0], from, results[0], to);
              });
}

void WindowScatterOp::evaluate(ArrayRef<HostTensor> operands, MutableArrayRef<HostTensor> results) {
  Sums sums(results[0].size());
  forEachPair(getWindow(), results[0].getShape(), operands[0].getShape(),
              [&](int64_t from, int64_t tap, int64_t to) {
                if (operands[1].getInt(from) == tap)
                  sums.add(to, operands[0], from);
              });
  sums.store(results[0]);
}
