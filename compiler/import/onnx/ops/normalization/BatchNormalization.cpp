// BatchNormalization: training entries use the batch's statistics, all other entries the running
// ones. Statistics that the graph itself computes are used by all entries.
#include "dialects/Pch.h"

#include "compiler/import/onnx/ImportGraph.h"
#include "compiler/import/onnx/ops/quantization/Quantization.h"
#include "passes/training/StepAttributes.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

namespace {
enum Operand { input, scale, shift, mean, variance };
enum Output { result, meanOut, varianceOut, savedMean, savedVariance };

/// A checked node. All arithmetic uses the element type of the statistics; the batch's statistics
/// are of f32 if that has 16 bits.
struct BatchNorm {
  Expr x, scale, shift, mean, variance;
  double epsilon, momentum;
  Value count = {}; ///< elements a channel, of all ranks; null: of this rank alone

  Expr spread(Expr channel) const { return channel.broadcast(x.type(), {1}); }
  SmallVector<int64_t> dims() const { return otherDims(x.type().getRank(), {1}); }
  int64_t samples() const { return x.type().getNumElements() / x.shape()[1]; }
};
} // namespace

static FailureOr<BatchNorm> read(Node &n) {
  n.ignore("is_test"); // from opset 6
  double epsilon = n.real("epsilon", 1e-5), momentum = n.real("momentum", 0.9);
  if (n.opset() < 9 && n.integer("spatial", 1) == 0)
    return n.error() << "with spatial = 0 is not supported";
  if (n.rank(input) < 2)
    return n.error() << "expected rank 2 or more, found " << n.describeOperand(input);
  bool ok = true;
  for (unsigned i : {input, scale, shift, mean, variance})
    ok &= succeeded(n.expect(i, Kind::Float));
  for (unsigned i : {scale, shift, mean, variance})
    if (n.shape(i) != ArrayRef(n.shape(input)[1])) {
      n.error() << "expected one number a channel (dim 1 of " << n.describeOperand(input)
                << "), found " << n.describeOperand(i);
      ok = false;
    }
  if (!(epsilon >= 0)) {
    n.error() << "expected an epsilon of at least 0, found " << epsilon;
    ok = false;
  }
  if (!ok || failed(n.expectSameElement(scale, shift)) ||
      failed(n.expectSameElement(mean, variance)))
    return failure();
  Type element = n.element(mean);
  return BatchNorm{n.expr(input).cast(element),
                   n.expr(scale).cast(element),
                   n.expr(shift).cast(element),
                   n.expr(mean),
                   n.expr(variance),
                   epsilon,
                   momentum};
}

/// Computes x a + b, with a and b computed once per channel.
static Expr withRunning(const BatchNorm &norm) {
  Expr a = norm.scale * (norm.variance + norm.epsilon).apply<RsqrtOp>();
  Expr b = norm.shift - norm.mean * a;
  return norm.x * norm.spread(a) + norm.spread(b);
}

/// The same for statistics of the batch itself, whose mean may be large beside the deviation.
static Expr withComputed(const BatchNorm &norm) {
  Expr a = norm.scale * (norm.variance + norm.epsilon).apply<RsqrtOp>();
  return (norm.x - norm.spread(norm.mean)) * norm.spread(a) + norm.spread(norm.shift);
}

/// Whether the graph computes a statistic from the entry's inputs. PyTorch's exporter writes a
/// layer with track_running_stats=False so: it normalizes by the batch in evaluations, too.
static bool isComputed(Node &n, unsigned i) {
  Operation *op = n.operand(i).getDefiningOp();
  // In a branch or loop, initializers are arguments, too.
  if (!op || !isa<func::FuncOp>(n.builder().getInsertionBlock()->getParentOp()))
    return false;
  SetVector<Operation *> behind;
  behind.insert(op);
  for (size_t next = 0; next < behind.size(); ++next)
    for (Value operand : behind[next]->getOperands()) {
      Operation *producer = operand.getDefiningOp();
      if (!producer)
        return true;
      behind.insert(producer);
    }
  return false;
}

static Expr mix(const BatchNorm &norm, Expr running, Expr batch) {
  Expr wide = running.cast(batch.element());
  Expr mixed = wide * norm.momentum + batch * (1 - norm.momentum);
  return mixed.cast(running.element());
}

/// An exporter may have merged equal initializers, such as the zeros of an untrained model. A
/// statistic with a second role cannot be updated. A module used in two places is a different case.
static LogicalResult expectOwn(Node &n, unsigned i) {
  const onnx::GraphProto &graph = n.getEntry().getModel().graph();
  llvm::StringMap<StringRef> copies;
  for (const onnx::NodeProto &node : graph.node())
    if (node.op_type() == "Identity" && node.input_size() == 1 && node.output_size() == 1)
      copies[node.output(0)] = node.input(0);
  auto original = [&](StringRef name) {
    for (unsigned steps = 0; copies.contains(name) && steps < copies.size(); ++steps)
      name = copies.lookup(name);
    return name;
  };
  StringRef name = original(n.inputName(i)), owner = original(n.inputName(scale));
  for (const onnx::NodeProto &node : graph.node())
    for (int k = 0; k < node.input_size(); ++k) {
      bool same = node.op_type() == "BatchNormalization" && unsigned(k) == i &&
                  original(node.input(scale)) == owner;
      bool folds = StringRef(node.name()).starts_with(quantizationPrefix); // reads it only
      if (node.op_type() != "Identity" && !same && !folds && original(node.input(k)) == name)
        return n.error() << "expected a running statistic of its own, found "
                         << n.describeOperand(i) << ", which is also operand " << k << " of "
                         << node.op_type() << " \"" << node.name()
                         << "\"; export the model without merging equal initializers";
    }
  return success();
}

/// count / (count - 1) times the biased variance. The count may only be known in the run, which
/// checks it before it starts.
static Expr unbiased(Node &n, const BatchNorm &norm, Expr variance) {
  OpBuilder &b = n.builder();
  if (norm.count) {
    Expr count = variance.with(norm.count);
    Expr isOne = count.compare(ComparePredicate::le, count.splat(1));
    Expr others = isOne.select(count, count - 1.0); // a single sample has variance 0
    return variance * (count / others).broadcastScalar(variance.type());
  }
  if (!mayHoldBatch(b, norm.x.type(), norm.dims())) {
    auto samples = double(norm.samples());
    return variance * (samples / (samples - 1));
  }
  Expr count =
      norm.x.with(CountOp::create(b, n.loc(), norm.x, norm.dims(), b.getI64IntegerAttr(2)));
  Expr factor = (count / (count - 1.0)).cast(variance.element());
  return variance * factor.broadcastScalar(variance.type());
}

/// For synchronized statistics: the number of elements of a channel on all ranks together.
static FailureOr<Value> countOnAllRanks(Node &n, const BatchNorm &norm) {
  EntryImport &entry = n.getEntry();
  auto ranks = entry.getFunction()->getAttrOfType<DictionaryAttr>(ranksName);
  if (!ranks || !ranks.contains("synchronize_batch_norm"))
    return Value();
  if (!isa<func::FuncOp>(n.builder().getInsertionBlock()->getParentOp()))
    return n.error() << "in a branch or loop cannot be synchronized, since ranks may differ in "
                        "whether it runs";
  Expr rows = norm.x.with(entry.scalarArgument(GRADC_ROLE_RANK_ROWS));
  Expr mine = rows.cast(accumulatorOf(norm.x.element())) *
              (double(norm.samples()) / double(entry.batchSize()));
  return AllReduceOp::create(n.builder(), n.loc(), mine.get(), /*bf16=*/false).getResult(0);
}

/// As in PyTorch, the running variance is unbiased, so it is undefined for one sample per channel.
static LogicalResult updateRunning(Node &n, const BatchNorm &norm, Expr batchMean,
                                   Expr batchVariance) {
  if (norm.samples() < 2)
    return n.error() << "expected more than one element a channel in training, found "
                     << n.describeOperand(input);
  EntryImport &entry = n.getEntry();
  auto update = [&](Expr running, Expr batch) {
    auto state = running.get().getDefiningOp<ReadOp>();
    Expr latest = n.expr(entry.latestStatistic(state));
    entry.setStatistic(state, mix(norm, latest, batch), n.loc());
  };
  update(norm.mean, batchMean);
  update(norm.variance, unbiased(n, norm, batchVariance));
  return success();
}

static LogicalResult importBatchNormalization(Node &n) {
  bool mode = n.integer("training_mode", 0);
  FailureOr<BatchNorm> read = ::read(n);
  if (failed(read))
    return failure();
  BatchNorm &norm = *read;
  if (llvm::is_contained(norm.x.shape(), 0))
    return n.set(n.operand(input));
  // Exporters leave training_mode set. Only a graph that reads the new statistics relies on it.
  bool asked = mode && (n.isRead(meanOut) || n.isRead(varianceOut));
  // With frozen statistics, training normalizes like evaluation, as is usual in fine-tuning.
  States &states = n.getEntry().getStates();
  bool frozen = states.isFrozen(norm.mean) || states.isFrozen(norm.variance);
  bool computed = isComputed(n, mean) && isComputed(n, variance);
  bool updates = n.training() && !frozen && !computed;
  for (unsigned i : {mean, variance}) {
    bool isState = !frozen && states.makeStatistic(n.operand(i), n.loc());
    if (updates && !isState)
      return n.error() << "expected an initializer as running statistic, found "
                       << n.describeOperand(i);
    if (updates && failed(expectOwn(n, i)))
      return failure();
  }
  Expr y = norm.x, newMean = norm.mean, newVariance = norm.variance;
  if (updates || asked) {
    FailureOr<Value> count = countOnAllRanks(n, norm);
    if (failed(count))
      return failure();
    norm.count = *count;
    auto normalized = NormalizeOp::create(n.builder(), n.loc(), norm.x, norm.count, norm.dims(),
                                          APFloat(norm.epsilon));
    Expr batchMean = n.expr(normalized.getMean()), batchVariance = n.expr(normalized.getVariance());
    y = n.expr(normalized.getResult()) * norm.spread(norm.scale) + norm.spread(norm.shift);
    if (updates && failed(updateRunning(n, norm, batchMean, batchVariance)))
      return failure();
    // ONNX defines its outputs with the biased variance.
    newMean = mix(norm, norm.mean, batchMean);
    newVariance = mix(norm, norm.variance, batchVariance);
  } else {
    y = computed ? withComputed(norm) : withRunning(norm);
  }
  // Up to opset 13, exporters name outputs that are never read.
  for (unsigned i = meanOut; i <= savedVariance; ++i)
    if (asked || !n.isRead(i))
      (void)n.set(i, i % 2 ? newMean : newVariance);
  return n.set(y.cast(n.element(input)));
}

void gradc::addBatchNormalizationOps(OpTable &ops) {
  ops["BatchNormalization"] = {importBatchNormalization, 5, 5};
}
