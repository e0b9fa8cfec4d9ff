// RNN, GRU, LSTM and DynamicQuantizeLSTM as scans: a single product multiplies all steps by the
// input weights before the loop, then cells carry their state.
#include "dialects/Pch.h"

#include "compiler/import/onnx/ops/Indices.h"
#include "compiler/import/onnx/ops/elementwise/Activation.h"
#include "compiler/import/onnx/ops/quantization/Quantization.h"
#include "dialects/grad/control/Control.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

namespace {

enum class CellKind { rnn, gru, lstm };

/// The columns of gate `gate` in `x` [rows, gates * size].
Expr gateOf(Expr x, int64_t gate, int64_t size) { return x.slice(1, gate * size, size); }

Expr timesTransposed(Expr x, Value weight) {
  return x.with(MatmulOp::create(x.getBuilder(), x.getLoc(), x, weight, /*transpose_lhs=*/false,
                                 /*transpose_rhs=*/true));
}

/// A node of any of the ops. Weights are [directions, gates * hidden, ..]; quantized ones are
/// transposed.
class RecurrentImport {
public:
  RecurrentImport(Node &n, CellKind kind, bool isQuantized)
      : n(n), kind(kind), isQuantized(isQuantized), gates(kind == CellKind::rnn   ? 1
                                                          : kind == CellKind::gru ? 3
                                                                                  : 4) {}

  LogicalResult run() {
    if (failed(readAttributes()) || failed(checkOperands()))
      return failure();
    SmallVector<SmallVector<Value>> results(3); // Y, Y_h, and Y_c of each direction
    for (int64_t d = 0; d < directions; ++d)
      importDirection(d, results);
    return setResults(results);
  }

private:
  // The node -------------------------------------------------------------------------------------

  LogicalResult readAttributes() {
    StringRef direction = n.string("direction", "forward");
    if (direction != "forward" && direction != "reverse" && direction != "bidirectional")
      return n.error() << "expected direction forward, reverse or bidirectional, found "
                       << direction;
    directions = direction == "bidirectional" ? 2 : 1;
    startsReverse = direction == "reverse";
    layout = n.integer("layout", 0);
    if (layout != 0 && layout != 1)
      return n.error() << "expected layout 0 or 1, found " << layout;
    if (n.has("clip")) {
      clip = n.real("clip", 0);
      if (!(*clip > 0))
        return n.error() << "expected a positive clip, found " << *clip;
    }
    if (kind == CellKind::lstm)
      couplesInput = n.integer("input_forget", 0);
    if (kind == CellKind::gru)
      resetsAfter = n.integer("linear_before_reset", 0);
    return readActivations();
  }

  LogicalResult readActivations() {
    static constexpr StringRef defaults[] = {"Tanh", "Sigmoid", "Tanh", "Sigmoid", "Tanh", "Tanh"};
    unsigned count = kind == CellKind::rnn ? 1 : kind == CellKind::gru ? 2 : 3;
    auto first = ArrayRef(defaults).slice(count * (count - 1) / 2, count);
    SmallVector<std::string> names;
    for (int64_t d = 0; d < directions; ++d)
      names.append(first.begin(), first.end());
    if (const onnx::AttributeProto *a = n.attribute("activations", AttributeType::strings)) {
      if (a->strings_size() != int(names.size()))
        return n.error() << "expected " << names.size() << " activations, found "
                         << a->strings_size();
      names.assign(a->strings().begin(), a->strings().end());
    }
    for (const std::string &name : names) {
      auto function = findRecurrentActivation(name);
      if (!function)
        return n.error() << "has no activation function \"" << name << "\"";
      activations.push_back(*function);
    }
    readParameters("activation_alpha", 1, &NamedActivation::alpha);
    readParameters("activation_beta", 2, &NamedActivation::beta);
    return success();
  }

  /// Only the activations that have at least `count` parameters consume a value, in order.
  void readParameters(StringRef name, unsigned count, double NamedActivation::*to) {
    const onnx::AttributeProto *a = n.attribute(name, AttributeType::reals);
    if (!a)
      return;
    int used = 0;
    for (NamedActivation &function : activations)
      if (function.parameterCount >= count && used < a->floats_size())
        function.*to = a->floats(used++);
    if (used < a->floats_size())
      emitRemark(n.loc()) << "of the " << a->floats_size() << " numbers of " << name
                          << ", the first " << used
                          << " are used: one per activation that has this parameter";
  }

  LogicalResult expectShape(unsigned i, ArrayRef<int64_t> shape) {
    if (!n.operand(i) || n.shape(i) == shape)
      return success();
    return n.error() << "expected " << formatDims(shape) << " as " << n.describeOperand(i);
  }

  LogicalResult checkOperands() {
    if (failed(n.expect(0, Kind::Float)) || failed(n.expectRank(0, 3)) ||
        failed(n.expectRank(1, 3)) || failed(n.expectRank(2, 3)))
      return failure();
    auto isWeight = [&](unsigned i) {
      return i == 1 || i == 2 || i == scaleOf(1) + 1 || i == scaleOf(2) + 1;
    };
    for (unsigned i = 1; i < n.operandCount(); ++i)
      if (i != 4 && n.operand(i) && !(isQuantized && isWeight(i)) &&
          failed(n.expectSameElement(0, i)))
        return failure();
    for (unsigned i : {0u, 2u})
      if (isQuantized && n.type(i).getNumElements() == 0)
        return n.error() << "expected elements, found " << n.describeOperand(i);
    steps = n.shape(0)[layout];
    rows = n.shape(0)[1 - layout];
    hidden = n.integer("hidden_size", n.shape(2)[isQuantized ? 1 : 2]);
    int64_t width = n.shape(0)[2];
    SmallVector<int64_t> state{directions, rows, hidden};
    if (layout)
      std::swap(state[0], state[1]);
    if (failed(expectWeight(1, width)) || failed(expectWeight(2, hidden)) ||
        failed(expectShape(3, {directions, 2 * gates * hidden})) ||
        failed(expectShape(4, {rows})) || failed(expectShape(5, state)) ||
        failed(expectShape(6, state)) || failed(expectShape(7, {directions, 3 * hidden})))
      return failure();
    return n.operand(4) ? n.expect(4, Kind::Int) : success();
  }

  /// A product's rhs whose columns, or rows if it is no codes, are gates.
  LogicalResult expectWeight(unsigned i, int64_t factors) {
    int64_t columns = gates * hidden;
    if (!isQuantized)
      return expectShape(i, {directions, columns, factors});
    unsigned scale = scaleOf(i), zero = scale + 1;
    for (unsigned operand : {scale, zero})
      if (!n.operand(operand))
        return n.error() << "operand " << operand << " is missing";
    if (failed(expectQuantized(n, {i, scale, zero})))
      return failure();
    for (unsigned operand : {scale, zero})
      if (n.shape(operand) != ArrayRef({directions}) &&
          failed(expectShape(operand, {directions, columns})))
        return failure();
    return expectShape(i, {directions, factors, columns});
  }

  /// The operand with the scales of quantized weights; the next one has their zero points.
  static unsigned scaleOf(unsigned weight) { return weight == 1 ? 8 : 10; }

  // One direction --------------------------------------------------------------------------------

  /// Direction `d` of an operand, with dim `dim` removed.
  Expr part(unsigned operand, int64_t d, int64_t dim = 0) {
    Expr x = n.expr(operand);
    if (directions > 1)
      x = x.slice(dim, d, 1);
    SmallVector<int64_t> without(x.shape());
    without.erase(without.begin() + dim);
    return x.reshape(without);
  }

  Value initialState(unsigned operand, int64_t d) {
    auto type = RankedTensorType::get({rows, hidden}, n.element(0));
    if (!n.operand(operand))
      return splat(n.builder(), n.loc(), type, 0);
    return part(operand, d, layout);
  }

  /// The input's contribution to each gate of each step: [steps, rows, gates * hidden]. The product
  /// of all steps has rows outermost, since their number may vary.
  Expr inputShares(int64_t d) {
    Expr x = n.expr(0u);
    if (!layout)
      x = x.transpose({1, 0, 2});
    if (isQuantized && n.operand(4))
      x = withoutUnusedSteps(x);
    Expr inputs = x.reshape({rows * steps, x.shape()[2]});
    Expr shares = isQuantized ? multiplyDynamically(inputs, codedWeight(1, d))
                              : timesTransposed(inputs, part(1, d));
    if (n.operand(3)) {
      Expr bias = half(d, 0);
      // A GRU that resets after the product adds its own bias of the hidden gate there.
      Expr recurrent = half(d, 1);
      if (resetsAfter)
        recurrent = onlyFirst(recurrent, 2 * hidden);
      shares = shares + (bias + recurrent).broadcast(shares.type(), {1});
    }
    return shares.reshape({rows, steps, gates * hidden}).transpose({1, 0, 2});
  }

  /// `x` [rows, steps, width] with zeros for the steps behind the longest row, which then do not
  /// widen the range that codes cover.
  Expr withoutUnusedSteps(Expr x) {
    Expr isUsed = any(isWithinLength(), 1);
    RankedTensorType type = x.type().clone(n.builder().getI1Type());
    return isUsed.broadcast(type, {1}).select(x, x.splat(0));
  }

  CodedMatrix codedWeight(unsigned i, int64_t d) {
    unsigned scale = scaleOf(i), zero = scale + 1;
    CodedMatrix weight{part(i, d), part(scale, d), std::nullopt};
    std::optional<HostTensor> known = n.tryKnown(zero);
    auto isZero = [&](int64_t k) { return known->getInt(k) == 0; };
    if (!known || !llvm::all_of(llvm::seq<int64_t>(0, known->size()), isZero))
      weight.zero = part(zero, d);
    return weight;
  }

  /// The half of the bias that belongs to the input or to the state.
  Expr half(int64_t d, int64_t which) {
    int64_t size = gates * hidden;
    return part(3, d).slice(0, which * size, size);
  }

  /// `vector` with zeros after its first `count` elements.
  Expr onlyFirst(Expr vector, int64_t count) {
    int64_t rest = vector.shape()[0] - count;
    return vector.with(PadOp::create(n.builder(), n.loc(), vector.slice(0, 0, count),
                                     ArrayRef<int64_t>{0}, ArrayRef<int64_t>{rest},
                                     ArrayRef<int64_t>{0}, llvm::APFloat(0.0)));
  }

  void importDirection(int64_t d, SmallVectorImpl<SmallVector<Value>> &results) {
    bool isReverse = startsReverse || d == 1;
    ScanOperands operands{{initialState(5, d)}, {inputShares(d)}, {part(2, d)}};
    if (kind == CellKind::lstm)
      operands.initial.push_back(initialState(6, d));
    if (resetsAfter && n.operand(3))
      operands.invariants.push_back(half(d, 1).slice(0, 2 * hidden, hidden));
    if (kind == CellKind::lstm && n.operand(7))
      for (int64_t i = 0; i < 3; ++i) // for gates i, o, and f
        operands.invariants.push_back(part(7, d).slice(0, i * hidden, hidden));
    if (isQuantized) { // what the product with the state needs beside the codes
      CodedMatrix weight = codedWeight(2, d);
      operands.invariants.push_back(weight.scale);
      if (weight.zero)
        operands.invariants.push_back(*weight.zero);
    }
    if (n.operand(4))
      operands.stacks.push_back(isWithinLength());
    auto functions =
        ArrayRef(activations)
            .slice(d * (activations.size() / directions), activations.size() / directions);
    auto scan = buildScan(n.builder(), n.loc(), steps, isReverse, operands,
                          [&](OpBuilder &b, Block::BlockArgListType arguments) {
                            return buildStep(b, arguments, functions);
                          });
    unsigned carried = scan.getCarriedCount();
    results[0].push_back(scan.getResult(carried));
    for (unsigned i = 0; i < carried; ++i)
      results[1 + i].push_back(scan.getResult(i));
  }

  /// Whether a step is within its row's length: bool [steps, rows].
  Expr isWithinLength() {
    OpBuilder &b = n.builder();
    auto type = RankedTensorType::get({steps, rows}, n.element(4));
    Expr step = n.expr(IotaOp::create(b, n.loc(), type, 0));
    return step.compare(ComparePredicate::lt, n.expr(4u).broadcast(type, {1}));
  }

  // A step ---------------------------------------------------------------------------------------

  SmallVector<Value> buildStep(OpBuilder &b, Block::BlockArgListType arguments,
                               ArrayRef<NamedActivation> functions) {
    unsigned carried = kind == CellKind::lstm ? 2 : 1, stacks = n.operand(4) ? 2 : 1;
    auto state = arguments.take_front(carried);
    auto invariants = arguments.drop_front(carried + stacks);
    Expr share(b, n.loc(), arguments[carried]);
    SmallVector<Value> next = kind == CellKind::rnn   ? rnn(share, state[0], invariants, functions)
                              : kind == CellKind::gru ? gru(share, state[0], invariants, functions)
                                                      : lstm(share, state, invariants, functions);
    Expr output = share.with(next[0]);
    if (n.operand(4)) { // past a row's length, the state stays and the output is 0
      Expr within = share.with(arguments[carried + 1]);
      Expr mask = within.broadcast(output.type().clone(b.getI1Type()), {0});
      output = mask.select(output, output.splat(0));
      for (auto [value, old] : llvm::zip_equal(next, state))
        value = mask.select(value, old);
    }
    next.push_back(output);
    return next;
  }

  Expr clipped(Expr x) {
    if (!clip)
      return x;
    Builder &b = x.getBuilder();
    return x.with(x.getBuilder().createOrFold<ClampOp>(x.getLoc(), x, b.getF64FloatAttr(-*clip),
                                                       b.getF64FloatAttr(*clip)));
  }

  SmallVector<Value> rnn(Expr share, Value state, ValueRange invariants,
                         ArrayRef<NamedActivation> functions) {
    Expr sum = share + timesTransposed(share.with(state), invariants[0]);
    return {functions[0](clipped(sum))};
  }

  /// Gates z (update), r (reset) and h (hidden).
  SmallVector<Value> gru(Expr share, Value state, ValueRange invariants,
                         ArrayRef<NamedActivation> functions) {
    Expr h = share.with(state), weight = share.with(invariants[0]);
    auto rowsOf = [&](int64_t begin, int64_t count) {
      return weight.slice(0, begin * hidden, count * hidden);
    };
    auto gate = [&](Expr x, int64_t i) { return gateOf(x, i, hidden); };
    Expr recurrent = timesTransposed(h, resetsAfter ? weight : rowsOf(0, 2));
    Expr z = functions[0](clipped(gate(share, 0) + gate(recurrent, 0)));
    Expr r = functions[0](clipped(gate(share, 1) + gate(recurrent, 1)));
    Expr candidate = share;
    if (resetsAfter) {
      Expr linear = gate(recurrent, 2);
      if (n.operand(3))
        linear = linear + share.with(invariants[1]).broadcast(linear.type(), {1});
      candidate = r * linear;
    } else {
      candidate = timesTransposed(r * h, rowsOf(2, 1));
    }
    candidate = functions[1](clipped(gate(share, 2) + candidate));
    return {(1.0 - z) * candidate + z * h};
  }

  /// Gates i (input), o (output), f (forget) and c (cell).
  SmallVector<Value> lstm(Expr share, ValueRange state, ValueRange invariants,
                          ArrayRef<NamedActivation> functions) {
    bool hasPeepholes = n.operand(7) != nullptr;
    Expr sum = share + recurrentShare(share.with(state[0]), invariants, hasPeepholes ? 4 : 1);
    Expr cell = share.with(state[1]);
    auto gate = [&](int64_t i, Expr seen) {
      Expr x = gateOf(sum, i, hidden);
      if (hasPeepholes && i < 3)
        x = x + share.with(invariants[1 + i]).broadcast(x.type(), {1}) * seen;
      return clipped(x);
    };
    Expr i = functions[0](gate(0, cell));
    Expr f = couplesInput ? 1.0 - i : functions[0](gate(2, cell));
    Expr next = f * cell + i * functions[1](gate(3, cell));
    Expr o = functions[0](gate(1, next));
    return {o * functions[2](next), next};
  }

  /// The contribution of the state `h` to the gates of an LSTM. From invariant `scale` on, there
  /// are scales and zero points of quantized weights.
  Expr recurrentShare(Expr h, ValueRange invariants, unsigned scale) {
    if (!isQuantized)
      return timesTransposed(h, invariants[0]);
    CodedMatrix weight{h.with(invariants[0]), h.with(invariants[scale]), std::nullopt};
    if (invariants.size() > scale + 1)
      weight.zero = h.with(invariants[scale + 1]);
    return multiplyDynamically(h, weight);
  }

  // Results --------------------------------------------------------------------------------------

  LogicalResult setResults(ArrayRef<SmallVector<Value>> results) {
    for (unsigned i = 0; i < 3; ++i) {
      if (!n.wants(i))
        continue;
      // Y is [steps, directions, rows, hidden]; the others have no steps. In layout 1, rows come
      // first.
      int64_t dim = i == 0 ? 1 : 0;
      SmallVector<Value> parts;
      for (Value v : results[i]) {
        SmallVector<int64_t> shape(n.expr(v).shape());
        shape.insert(shape.begin() + dim, 1);
        parts.push_back(n.expr(v).reshape(shape));
      }
      Expr value = n.expr(
          parts.size() == 1 ? parts[0]
                            : ConcatenateOp::create(n.builder(), n.loc(), parts, dim).getResult());
      if (layout)
        value = i == 0 ? value.transpose({2, 0, 1, 3}) : value.transpose({1, 0, 2});
      if (failed(n.set(i, value)))
        return failure();
    }
    return success();
  }

  Node &n;
  CellKind kind;
  bool isQuantized;
  int64_t gates, directions = 1, layout = 0, steps = 0, rows = 0, hidden = 0;
  bool startsReverse = false, couplesInput = false, resetsAfter = false;
  std::optional<double> clip;
  SmallVector<NamedActivation> activations; ///< of each direction in turn
};

template <CellKind kind, bool isQuantized = false> LogicalResult importRecurrent(Node &n) {
  n.ignore("output_sequence"); // from opsets before 7
  return RecurrentImport(n, kind, isQuantized).run();
}

} // namespace

void gradc::addRecurrentOps(OpTable &ops) {
  ops["RNN"] = {importRecurrent<CellKind::rnn>, 3, 6};
  ops["GRU"] = {importRecurrent<CellKind::gru>, 3, 6};
  ops["LSTM"] = {importRecurrent<CellKind::lstm>, 3, 8};
  ops["com.microsoft::DynamicQuantizeLSTM"] = {importRecurrent<CellKind::lstm, true>, 3, 12};
}
