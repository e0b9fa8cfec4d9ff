// Evaluates a mask and compares it with the triangle that its first row begins.
#include "passes/raise/CausalMask.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

/// 2048 queries by 2048 keys.
static constexpr int64_t maxElements = int64_t(1) << 22;

/// A constant state of the module: FormKernels and the import store large constants this way.
static std::optional<HostTensor> readConstant(ReadOp read) {
  auto state = SymbolTable::lookupNearestSymbolFrom<StateOp>(read, read.getStateAttr());
  if (!state || state.getKind() != StateKind::constant)
    return std::nullopt;
  return state.getStoredInitial();
}

namespace {
class KnownValues {
public:
  bool find(Value value) {
    if (values.count(value))
      return true;
    auto type = dyn_cast<RankedTensorType>(value.getType());
    Operation *op = value.getDefiningOp();
    if (!op || !type || type.getNumElements() > maxElements || op->getNumRegions())
      return false;
    if (auto read = dyn_cast<ReadOp>(op)) {
      std::optional<HostTensor> constant = readConstant(read);
      if (constant)
        values[value] = *constant;
      return constant.has_value();
    }
    if (!isa<EvaluateOpInterface>(op) ||
        !llvm::all_of(op->getOperands(), [&](Value v) { return find(v); }))
      return false;
    auto operands = llvm::map_to_vector(op->getOperands(), [&](Value v) { return values[v]; });
    for (auto [result, known] : llvm::zip(op->getResults(), evaluateOp(op, operands)))
      values[result] = known;
    return true;
  }

  DenseMap<Value, HostTensor> values;
};
} // namespace

/// The value of a small computation over constants only; none if it has other inputs or a tensor
/// with too many elements.
static std::optional<HostTensor> evaluateKnown(Value value) {
  KnownValues known;
  return known.find(value) ? std::optional(known.values[value]) : std::nullopt;
}

/// See CausalMasks::offsetOf.
static std::optional<int64_t> causalOffset(const HostTensor &mask, bool hidesOnTrue) {
  ArrayRef<int64_t> shape = mask.getShape();
  int64_t keys = shape.back(), queries = shape[shape.size() - 2];
  bool isBool = mask.getElementType().isInteger(1);
  bool isFinite = false; // a number other than -inf hides a key
  // 1: visible, 0: hidden, -1: neither.
  auto sees = [&](int64_t i) {
    double x = mask.getFloat(i);
    if (isBool)
      return int((x != 0) != hidesOnTrue);
    isFinite |= x != 0 && std::isfinite(x);
    return x == 0 ? 1 : x <= hidingTerm ? 0 : -1;
  };
  int64_t seen = 0;
  while (seen < keys && sees(seen) == 1)
    ++seen;
  for (int64_t i = 0; i < mask.size(); ++i) {
    int64_t t = i / keys % queries, s = i % keys;
    if (sees(i) != int(s < t + seen))
      return std::nullopt;
  }
  // Numbers that hide all keys of a query hide none: its softmax is that of its scores, rounded.
  if (isFinite && seen == 0)
    return std::nullopt;
  return seen - 1;
}

std::optional<int64_t> CausalMasks::offsetOf(Value mask, bool hidesOnTrue) {
  auto [at, isNew] = found.try_emplace({mask, hidesOnTrue});
  if (isNew)
    if (std::optional<HostTensor> known = evaluateKnown(mask))
      at->second = causalOffset(*known, hidesOnTrue);
  return at->second;
}
