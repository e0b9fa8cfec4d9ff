// LinearAttention as a scan over positions, whose carried state is a matrix [keys, values] per
// head.
#include "dialects/Pch.h"

#include "compiler/import/onnx/ops/attention/LinearAttention.h"

#include "dialects/grad/control/Control.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

namespace {

enum Operand : unsigned {
  queryOperand,
  keyOperand,
  valueOperand,
  stateOperand,
  decayOperand,
  betaOperand
};

class LinearAttentionImport {
public:
  explicit LinearAttentionImport(Node &n) : n(n) {}

  LogicalResult run() {
    if (failed(readRule()) || failed(readHeads()) || failed(checkShapes()))
      return failure();
    // The state is accumulated in f32, whatever the type of the activations.
    wide = isa<Float64Type>(n.element(0)) ? n.element(0) : n.builder().getF32Type();
    ScanOperands operands{{initialState()},
                          {steps(queryOperand, {heads, groups, keys}),
                           steps(keyOperand, {heads, keys}), steps(valueOperand, {heads, values})},
                          {}};
    if (isGated)
      operands.stacks.push_back(decaySteps());
    if (isDelta)
      operands.stacks.push_back(betaSteps());
    auto scan = buildScan(
        n.builder(), n.loc(), positions, /*reverse=*/false, operands,
        [&](OpBuilder &b, Block::BlockArgListType arguments) { return buildStep(b, arguments); });
    Type stateType = n.element(n.operand(stateOperand) ? stateOperand : queryOperand);
    if (failed(n.set(1, n.expr(scan.getResult(0)).cast(stateType))))
      return failure();
    Expr outputs = n.expr(scan.getResult(1)).transpose({1, 0, 2, 3, 4});
    return n.set(outputs.reshape({batch, positions, heads * groups * values}).cast(n.element(0)));
  }

private:
  LogicalResult readRule() {
    n.ignore("chunk_size"); // affects speed, not the result
    StringRef rule = n.string("update_rule", "gated_delta");
    if (!llvm::is_contained({"linear", "gated", "delta", "gated_delta"}, rule))
      return n.error() << "expected update_rule linear, gated, delta or gated_delta, found "
                       << rule;
    isGated = rule.starts_with("gated");
    isDelta = rule.ends_with("delta");
    for (auto [i, isWanted, name] :
         {std::tuple(decayOperand, isGated, "decay"), std::tuple(betaOperand, isDelta, "beta")})
      if (bool(n.operand(i)) != isWanted)
        return n.error() << "expected " << (isWanted ? "" : "no ") << name << " with update_rule "
                         << rule;
    return success();
  }

  LogicalResult readHeads() {
    for (unsigned i : {queryOperand, keyOperand, valueOperand, decayOperand, betaOperand})
      if (n.operand(i) && (failed(n.expect(i, Kind::Float)) || failed(n.expectRank(i, 3)) ||
                           failed(n.expectSameElement(0, i))))
        return failure();
    int64_t queryHeads = n.integer("q_num_heads", 0);
    heads = n.integer("kv_num_heads", 0);
    if (heads < 1 || queryHeads < 1 || queryHeads % heads != 0)
      return n.error() << "expected q_num_heads to be a multiple of kv_num_heads, found "
                       << queryHeads << " and " << heads;
    groups = queryHeads / heads;
    batch = n.shape(queryOperand)[0];
    positions = n.shape(queryOperand)[1];
    keys = n.shape(queryOperand)[2] / queryHeads;
    values = n.shape(valueOperand)[2] / heads;
    if (keys < 1 || values < 1)
      return n.error() << "expected a head to have elements, found queries "
                       << formatDims(n.shape(queryOperand)) << " and values "
                       << formatDims(n.shape(valueOperand));
    scale = n.real("scale", 0);
    if (scale == 0)
      scale = 1 / std::sqrt(double(keys));
    return success();
  }

  LogicalResult expectOneOf(unsigned i, ArrayRef<int64_t> widths) {
    ArrayRef<int64_t> shape = n.shape(i);
    if (shape[0] == batch && shape[1] == positions && llvm::is_contained(widths, shape[2]))
      return success();
    auto error = n.error() << "expected " << formatDims({batch, positions, widths[0]});
    for (int64_t width : widths.drop_front())
      error << " or " << formatDims({batch, positions, width});
    return error << " as " << n.describeOperand(i);
  }

  LogicalResult checkShapes() {
    if (failed(expectOneOf(queryOperand, {heads * groups * keys})) ||
        failed(expectOneOf(keyOperand, {heads * keys})) ||
        failed(expectOneOf(valueOperand, {heads * values})) ||
        (isGated && failed(expectOneOf(decayOperand, {heads, heads * keys}))) ||
        (isDelta && failed(expectOneOf(betaOperand, {heads, 1}))))
      return failure();
    SmallVector<int64_t> state{batch, heads, keys, values};
    if (!n.operand(stateOperand))
      return success();
    if (failed(n.expect(stateOperand, Kind::Float)))
      return failure();
    if (n.shape(stateOperand) != ArrayRef(state))
      return n.error() << "expected " << formatDims(state) << " as "
                       << n.describeOperand(stateOperand);
    return success();
  }

  Value initialState() {
    if (n.operand(stateOperand))
      return n.expr(unsigned(stateOperand)).cast(wide);
    return splat(n.builder(), n.loc(), RankedTensorType::get({batch, heads, keys, values}, wide),
                 0);
  }

  /// [batch, positions, ..] as [positions, batch, shape].
  Expr steps(unsigned i, ArrayRef<int64_t> shape) {
    SmallVector<int64_t> split{batch, positions}, order{1, 0};
    for (auto [d, size] : llvm::enumerate(shape)) {
      split.push_back(size);
      order.push_back(int64_t(d) + 2);
    }
    return n.expr(i).cast(wide).reshape(split).transpose(order);
  }

  /// The factor of each key's row of the state: [positions, batch, heads, keys].
  Expr decaySteps() {
    auto type = RankedTensorType::get({positions, batch, heads, keys}, wide);
    Expr decay = n.shape(decayOperand)[2] == heads * keys
                     ? steps(decayOperand, {heads, keys})
                     : steps(decayOperand, {heads}).broadcast(type, {0, 1, 2});
    return decay.apply<ExpOp>();
  }

  Expr betaSteps() {
    auto type = RankedTensorType::get({positions, batch, heads}, wide);
    return n.shape(betaOperand)[2] == heads
               ? steps(betaOperand, {heads})
               : steps(betaOperand, {1}).reshape({positions, batch}).broadcast(type, {0, 1});
  }

  /// S = decay S + key (value - S^T key) beta; the output is query^T S for each query of the head's
  /// group.
  SmallVector<Value> buildStep(OpBuilder &b, Block::BlockArgListType arguments) {
    Expr state(b, n.loc(), arguments[0]);
    auto argument = [&](unsigned i) { return state.with(arguments[i]); };
    auto product = [&](Expr rows, Expr matrices) {
      return rows.with(MatmulOp::create(b, n.loc(), rows, matrices, /*transpose_lhs=*/false,
                                        /*transpose_rhs=*/false));
    };
    Expr query = argument(1), key = argument(2), value = argument(3);
    if (isGated)
      state = state * argument(4).broadcast(state.type(), {0, 1, 2});
    if (isDelta) {
      Expr found = product(key.reshape({batch, heads, 1, keys}), state).reshape(value.shape());
      Expr beta = argument(isGated ? 5 : 4);
      value = beta.broadcast(value.type(), {0, 1}) * (value - found);
    }
    state =
        state + key.broadcast(state.type(), {0, 1, 2}) * value.broadcast(state.type(), {0, 1, 3});
    return {state, product(query, state) * scale};
  }

  Node &n;
  Type wide;
  bool isGated = false, isDelta = false;
  int64_t batch = 0, positions = 0, heads = 0, groups = 0, keys = 0, values = 0;
  double scale = 0;
};

} // namespace

LogicalResult gradc::importLinearAttention(Node &n) { return LinearAttentionImport(n).run(); }
