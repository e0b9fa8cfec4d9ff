// Codes relative to their zero points are a constant like the codes. One more bit may be needed:
// differences from a zero point that is not the middle of all codes are in i16.
#include "passes/raise/ConstantCodes.h"

#include "dialects/grad/Grad.h"

#include "mlir/IR/Iterators.h"
#include "llvm/ADT/StringSet.h"

#include <cmath>

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

/// Whether a state holds what it is written as, in every run.
static bool isFixed(StateOp state) {
  return state && state.getKind() == StateKind::constant && !state.getPermutation() &&
         !state.getShape() && !state.getShard();
}

ElementsAttr gradc::constantBehind(const SymbolTable &symbols, Value value,
                                   SmallVectorImpl<Operation *> &moves) {
  while (isa_and_nonnull<TransposeOp, ReshapeOp>(value.getDefiningOp())) {
    moves.push_back(value.getDefiningOp());
    value = moves.back()->getOperand(0);
  }
  if (auto constant = value.getDefiningOp<ConstantOp>())
    return constant.getValue();
  auto read = value.getDefiningOp<ReadOp>();
  auto state = read ? symbols.lookup<StateOp>(read.getState()) : StateOp();
  return isFixed(state) ? state.getInitial() : ElementsAttr();
}

std::optional<HostTensor> gradc::constantSums(const SymbolTable &symbols, Value codes,
                                              int64_t dim) {
  SmallVector<Operation *> moves;
  ElementsAttr attribute = constantBehind(symbols, codes, moves);
  if (!attribute || llvm::any_of(moves, llvm::IsaPred<ReshapeOp>))
    return std::nullopt;
  for (Operation *move : moves)
    dim = cast<TransposeOp>(move).getPermutation()[dim];
  HostTensor tensor(attribute);
  int64_t size = tensor.getShape()[dim],
          inner = llvm::product_of(tensor.getShape().drop_front(dim + 1));
  SmallVector<int32_t> sums(size, 0);
  for (auto [i, byte] : llvm::enumerate(tensor.bytes()))
    sums[int64_t(i) / inner % size] += int8_t(byte);
  auto type = RankedTensorType::get({size}, IntegerType::get(codes.getContext(), 32));
  return HostTensor(type,
                    {reinterpret_cast<const char *>(sums.data()), sums.size() * sizeof(int32_t)});
}

/// A constant, also moved and converted. There are few zero points, so evaluating is fast enough.
static std::optional<HostTensor> evaluated(const SymbolTable &symbols, Value value) {
  SmallVector<Operation *> none;
  Operation *op = value.getDefiningOp();
  if (!isa_and_nonnull<TransposeOp, ReshapeOp, CastOp>(op)) {
    ElementsAttr attribute = constantBehind(symbols, value, none);
    return attribute ? std::optional(HostTensor(attribute)) : std::nullopt;
  }
  std::optional<HostTensor> from = evaluated(symbols, op->getOperand(0));
  return from ? std::optional(evaluateOp(op, *from).front()) : std::nullopt;
}

namespace {

/// The zero points of a matrix' elements.
class ZeroPoints {
public:
  ZeroPoints(const HostTensor &zeros, const DequantizedBlocks &matrix) {
    for (int64_t i = 0; i < zeros.size(); ++i)
      numbers.push_back(zeros.getFloat(i));
    if (zeros.getShape().empty())
      return;
    columns = zeros.getShape()[1];
    rowsOfOne = matrix.dim == 0 ? matrix.block : 1;
    columnsOfOne = matrix.dim == 1 ? matrix.block : 1;
  }

  bool areZero() const {
    return llvm::all_of(numbers, [](double number) { return number == 0; });
  }
  double at(int64_t row, int64_t column) const {
    return columns == 0 ? numbers[0] : numbers[row / rowsOfOne * columns + column / columnsOfOne];
  }

private:
  std::vector<double> numbers;
  int64_t columns = 0; ///< 0: one number for all elements
  int64_t rowsOfOne = 1, columnsOfOne = 1;
};

} // namespace

/// code - zero point; none if one of them is no `Code`. `isTurned`: the codes' columns are the rows
/// of the matrix.
template <typename Code>
static std::optional<HostTensor> subtracted(const HostTensor &codes, const ZeroPoints &zeros,
                                            bool isTurned) {
  constexpr double least = std::numeric_limits<Code>::min(),
                   greatest = std::numeric_limits<Code>::max();
  auto element = IntegerType::get(codes.getType().getContext(), 8 * sizeof(Code));
  HostTensor differences(codes.getType().clone(element));
  auto *to = reinterpret_cast<Code *>(differences.mutableBytes().data());
  int64_t columns = codes.getShape()[1];
  for (int64_t i = 0; i < codes.size(); ++i) {
    int64_t row = i / columns, column = i % columns;
    double zero = isTurned ? zeros.at(column, row) : zeros.at(row, column);
    double difference = double(codes.getInt(i)) - zero;
    if (!(difference >= least && difference <= greatest) || std::trunc(difference) != difference)
      return std::nullopt;
    to[i] = Code(difference);
  }
  return differences;
}

StateOp ComputedStates::constant(StringRef name, const HostTensor &value, Location location) {
  SmallVector<StateOp> &known = made[name];
  auto *same = llvm::find_if(known, [&](StateOp state) {
    return state.getWholeType() == value.getType() &&
           HostTensor(state.getInitial()).bytes() == value.bytes();
  });
  if (same != known.end())
    return *same;
  OpBuilder builder(symbols.getOp()->getContext());
  auto state = StateOp::create(builder, location, name, StateKind::constant, value.getType(),
                               value.toAttribute(name));
  Block &states = symbols.getOp()->getRegion(0).front();
  symbols.insert(state, llvm::find_if_not(states, llvm::IsaPred<StateOp>));
  known.push_back(state);
  return state;
}

Value ComputedStates::relativeCodes(OpBuilder &builder, const DequantizedBlocks &matrix) {
  SmallVector<Operation *> moves;
  ElementsAttr attribute = constantBehind(symbols, matrix.codes, moves);
  std::optional<HostTensor> numbers =
      attribute ? evaluated(symbols, matrix.zero) : std::optional<HostTensor>();
  if (!numbers)
    return {};
  ZeroPoints zeros(*numbers, matrix);
  if (zeros.areZero())
    return matrix.codes;
  Value source = moves.empty() ? matrix.codes : moves.back()->getOperand(0);
  HostTensor whole(attribute);
  if (llvm::any_of(moves, llvm::IsaPred<ReshapeOp>)) { // they are stored as they are read
    whole = *evaluated(symbols, matrix.codes);
    moves.clear();
  }
  bool isTurned = false;
  for (Operation *move : moves)
    isTurned ^= cast<TransposeOp>(move).getPermutation()[0] == 1;
  std::optional<HostTensor> codes = subtracted<int8_t>(whole, zeros, isTurned);
  if (!codes)
    codes = subtracted<int16_t>(whole, zeros, isTurned);
  if (!codes)
    return {};
  Value made = inPlaceOf(builder, source, *codes, ".relative");
  return moved(Expr(builder, made.getLoc(), made), moves);
}

Value ComputedStates::inPlaceOf(OpBuilder &builder, Value source, const HostTensor &value,
                                StringRef suffix) {
  Location location = source.getLoc();
  auto read = source.getDefiningOp<ReadOp>();
  if (!read)
    return ConstantOp::create(builder, location, value.getType(), value.toAttribute());
  StateOp state = stateOf(value, symbols.lookup<StateOp>(read.getState()), suffix);
  return ReadOp::create(builder, location, value.getType(), state.getSymName());
}

bool ComputedStates::areConstant(Value codes) const {
  SmallVector<Operation *> moves;
  return bool(constantBehind(symbols, codes, moves));
}

std::optional<ComputedStates::Known> ComputedStates::knownBehind(Value value) const {
  SmallVector<Operation *> moves;
  ElementsAttr attribute = constantBehind(symbols, value, moves);
  // The elements are in another order behind a transpose.
  if (!attribute || llvm::any_of(moves, [](Operation *move) { return isa<TransposeOp>(move); }))
    return std::nullopt;
  Value source = moves.empty() ? value : moves.back()->getOperand(0);
  auto read = source.getDefiningOp<ReadOp>();
  return Known{HostTensor(attribute), read ? symbols.lookup<StateOp>(read.getState()) : StateOp()};
}

/// Kernels take denormals for zero, and round to it what would be one (record 043).
static float flushed(float x) {
  return std::abs(x) < std::numeric_limits<float>::min() ? std::copysign(0.0f, x) : x;
}

Value ComputedStates::product(OpBuilder &builder, Location location, Value lhs, Value rhs) {
  auto left = cast<RankedTensorType>(lhs.getType()), type = cast<RankedTensorType>(rhs.getType());
  if (!left.getElementType().isF32() || !type.getElementType().isF32() || type.getRank() > 1 ||
      (left.getRank() > 0 && left != type))
    return {};
  std::optional<Known> a = knownBehind(lhs), b = knownBehind(rhs);
  if (!a || !b || (!a->state && !b->state))
    return {};
  HostTensor product(type);
  auto *numbers = reinterpret_cast<float *>(product.mutableBytes().data());
  for (int64_t i = 0; i < product.size(); ++i)
    numbers[i] = flushed(flushed(float(a->numbers.getFloat(left.getRank() ? i : 0))) *
                         flushed(float(b->numbers.getFloat(i))));
  for (StateOp state : {a->state, b->state})
    if (state)
      replaced.insert(state);
  if (type.getRank() == 0)
    return ConstantOp::create(builder, location, type, product.toAttribute());
  // A state, because constants are repeated over what they multiply.
  StateOp state = stateOf(product, b->state ? b->state : a->state, ".product");
  return ReadOp::create(builder, location, type, state.getSymName()).getResult();
}

void ComputedStates::multiplyVectors(func::FuncOp function) {
  function.walk([&](MulOp op) {
    OpBuilder builder(op);
    if (cast<RankedTensorType>(op->getResult(0).getType()).getRank() == 1)
      if (Value known = product(builder, op.getLoc(), op.getLhs(), op.getRhs()))
        op->getResult(0).replaceAllUsesWith(known);
  });
}

/// A state of this value, for all entries: one for few rows and one for many read the same codes.
StateOp ComputedStates::stateOf(const HostTensor &value, StateOp from, StringRef suffix) {
  replaced.insert(from);
  return constant((from.getSymName() + suffix).str(), value, from.getLoc());
}

void ComputedStates::eraseUnread() {
  if (replaced.empty())
    return;
  // Backwards, so that what only dead ops read is dead as well.
  llvm::StringSet<> read;
  symbols.getOp()->walk<WalkOrder::PostOrder, ReverseIterator>([&](Operation *op) {
    if (isOpTriviallyDead(op))
      op->erase();
    else if (auto reader = dyn_cast<ReadOp>(op))
      read.insert(reader.getState());
  });
  for (StateOp state : replaced)
    if (!read.contains(state.getSymName()))
      symbols.erase(state);
}
