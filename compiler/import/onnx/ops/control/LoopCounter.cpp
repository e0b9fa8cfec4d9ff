// Bounds the iterations of a loop by the counter in its condition: PyTorch writes `for` with
// `break`, and torch.while_loop, as loops without a trip count.
#include "dialects/Pch.h"

#include "compiler/import/onnx/ops/control/LoopCounter.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

namespace {

/// Counters of larger numbers might wrap, and no gradient saves values of as many iterations.
constexpr int64_t largest = int64_t(1) << 28;

/// A carried value plus a constant.
struct Sum {
  unsigned carried;
  int64_t offset;
};

class CounterSearch {
public:
  explicit CounterSearch(const LoopRegion &loop) : loop(loop) {}

  /// Searches conditions that all have to hold, at most `depth` of them in each other.
  std::optional<int64_t> most(Value condition, int depth) {
    Operation *op = unshaped(condition).getDefiningOp();
    if (auto comparison = dyn_cast_if_present<CompareOp>(op))
      return most(comparison);
    if (depth == 0 || !isa_and_present<AndOp>(op))
      return std::nullopt;
    std::optional<int64_t> a = most(op->getOperand(0), depth - 1),
                           b = most(op->getOperand(1), depth - 1);
    return a && b ? std::min(*a, *b) : a ? a : b;
  }

private:
  std::optional<int64_t> most(CompareOp comparison) {
    Value lhs = comparison.getLhs(), rhs = comparison.getRhs();
    switch (comparison.getPredicate()) {
    case ComparePredicate::lt:
      return most(lhs, rhs, 0);
    case ComparePredicate::le:
      return most(lhs, rhs, 1);
    case ComparePredicate::gt:
      return most(rhs, lhs, 0);
    case ComparePredicate::ge:
      return most(rhs, lhs, 1);
    default:
      return std::nullopt;
    }
  }

  /// The most iterations while `low` < `high` + `more`, one of which is a counter.
  std::optional<int64_t> most(Value low, Value high, int64_t more) {
    std::optional<int64_t> lowest = constant(low), limit = constant(high);
    if (lowest.has_value() == limit.has_value())
      return std::nullopt;
    std::optional<Sum> counter = sum(limit ? low : high);
    if (!counter)
      return std::nullopt;
    std::optional<int64_t> start = constant(loop.initial[counter->carried]);
    std::optional<Sum> next = sum(loop.yielded[counter->carried]);
    if (!start || !next || next->carried != counter->carried)
      return std::nullopt;
    int64_t first = *start + counter->offset;
    int64_t room = (limit ? *limit - first : first - *lowest) + more;
    int64_t step = limit ? next->offset : -next->offset;
    if (step <= 0)
      return std::nullopt;
    // One iteration runs before the first test, and one after each test that holds.
    return 1 + (room > 0 ? (room + step - 1) / step : 0);
  }

  /// The value before it was reshaped or broadcast: exporters also write scalars as [1].
  static Value unshaped(Value value) {
    while (isa_and_present<ReshapeOp, BroadcastOp>(value.getDefiningOp()))
      value = value.getDefiningOp()->getOperand(0);
    return value;
  }

  /// A small integer.
  std::optional<int64_t> constant(Value value) const {
    value = unshaped(value);
    if (auto argument = dyn_cast<BlockArgument>(value); argument && isOfLoop(argument)) {
      if (argument.getArgNumber() < loop.initial.size())
        return std::nullopt;
      value = unshaped(loop.captured[argument.getArgNumber() - loop.initial.size()]);
    }
    ElementsAttr elements;
    if (!isCounted(value) || !matchPattern(value, m_Constant(&elements)))
      return std::nullopt;
    int64_t number = HostTensor(elements).getInt(0);
    return std::abs(number) <= largest ? std::optional(number) : std::nullopt;
  }

  /// Follows at most `depth` additions.
  std::optional<Sum> sum(Value value, int depth = 8) const {
    value = unshaped(value);
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      bool isCarried = isOfLoop(argument) && argument.getArgNumber() < loop.initial.size();
      return isCarried && isCounted(value) ? std::optional(Sum{argument.getArgNumber(), 0})
                                           : std::nullopt;
    }
    Operation *op = value.getDefiningOp();
    if (depth-- == 0 || !isa_and_present<AddOp, SubOp>(op))
      return std::nullopt;
    std::optional<int64_t> added = constant(op->getOperand(1));
    std::optional<Sum> before = added ? sum(op->getOperand(0), depth) : std::nullopt;
    if (!before && isa<AddOp>(op)) {
      added = constant(op->getOperand(0));
      before = added ? sum(op->getOperand(1), depth) : std::nullopt;
    }
    if (!before)
      return std::nullopt;
    int64_t offset = before->offset + (isa<AddOp>(op) ? *added : -*added);
    return std::abs(offset) <= largest ? std::optional(Sum{before->carried, offset}) : std::nullopt;
  }

  bool isOfLoop(BlockArgument argument) const { return argument.getOwner() == &loop.block; }

  /// Whether it is one integer that does not wrap up to several times the largest one.
  static bool isCounted(Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    auto element = dyn_cast<IntegerType>(type.getElementType());
    return element && !element.isUnsigned() && element.getWidth() >= 32 &&
           type.getNumElements() == 1;
  }

  const LoopRegion &loop;
};

} // namespace

std::optional<int64_t> gradc::mostIterations(const LoopRegion &loop) {
  return CounterSearch(loop).most(loop.proceed, /*depth=*/8);
}
