// Ensembles of decision trees in ai.onnx.ml: each row walks down all trees in steps, of which each
// is the same gathers for all rows and trees.
#include "dialects/Pch.h"

#include "compiler/import/onnx/ops/Indices.h"
#include "compiler/import/onnx/ops/Pick.h"
#include "compiler/import/onnx/ops/ml/Forest.h"
#include "compiler/import/onnx/ops/ml/Scores.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

namespace {
/// The weights that leaves add to results: entry i is for result ids[i] of the node with number
/// nodes[i] in tree trees[i].
struct LeafWeights {
  SmallVector<int64_t> trees, nodes, ids;
  SmallVector<float> weights;
};
} // namespace

static Expr integersOf(Node &n, ArrayRef<int64_t> values) {
  HostTensor list(RankedTensorType::get({int64_t(values.size())}, n.builder().getI32Type()));
  for (auto [i, value] : llvm::enumerate(values))
    list.setInt(int64_t(i), value);
  return n.expr(n.constant(list));
}

/// table[nodes]; a table of two dims has the second one behind those of the nodes.
static Expr lookUp(Expr table, Expr nodes) {
  int64_t rank = nodes.type().getRank();
  SmallVector<int64_t> places{-1};
  if (table.type().getRank() == 2)
    places.push_back(rank);
  return table.with(table.getBuilder().createOrFold<GatherOp>(table.getLoc(), table.get(),
                                                              nodes.get(), places, allDims(rank)));
}

/// The leaf that each row of x [rows, features] reaches in each tree.
static Expr walk(Node &n, const Forest &forest, Expr x) {
  OpBuilder &b = n.builder();
  HostTensor thresholds(RankedTensorType::get({forest.size()}, x.element()));
  for (auto [i, value] : llvm::enumerate(forest.thresholds))
    thresholds.setFloat(int64_t(i), value);
  Expr limits = n.expr(n.constant(thresholds));
  Expr features = integersOf(n, forest.features), children = integersOf(n, forest.children);
  Expr nanIsFirst = integersOf(n, forest.nanIsFirst);
  bool anyNan = llvm::is_contained(forest.nanIsFirst, 1);
  SmallVector<int64_t> shape{x.shape()[0], int64_t(forest.roots.size())};
  // The roots are the same for all rows, and stay a list.
  auto forRows = [&](Expr y) {
    return y.type().getRank() == 2 ? y : y.broadcast(y.type().clone(shape), {1});
  };
  // Leaves read a feature that is less than all thresholds, so that they stay where they are.
  Expr wide = padAround(x, {0, 0}, {0, 1}, -std::numeric_limits<double>::infinity());
  Expr at = integersOf(n, forest.roots);
  for (int64_t step = 0; step < forest.depth; ++step) {
    Expr feature = lookUp(features, at);
    SmallVector<int64_t> rowsAndTrees{0, 1}, trees{1};
    Expr value = n.expr(b.createOrFold<GatherOp>(n.loc(), wide.get(), feature.get(),
                                                 ArrayRef<int64_t>{0, -1},
                                                 step == 0 ? trees : rowsAndTrees));
    Expr isFirst = value.compare(ComparePredicate::le, forRows(lookUp(limits, at)));
    if (anyNan) {
      Expr mayBeFirst = forRows(lookUp(nanIsFirst, at));
      Expr isNan = value.compare(ComparePredicate::ne, value);
      isFirst = isFirst.apply<OrOp>(
          isNan.apply<AndOp>(mayBeFirst.compare(ComparePredicate::ne, mayBeFirst.splat(0))));
    }
    at = forRows(lookUp(children, at)) + isFirst.apply<NotOp>().cast(at.element());
  }
  return forRows(at);
}

static FailureOr<SmallVector<float>> readFloats(Node &n, const std::string &name) {
  FailureOr<SmallVector<double>> reals = realsOrTensor(n, name);
  if (failed(reals))
    return failure();
  return llvm::map_to_vector(*reals, [](double real) { return float(real); });
}

static FailureOr<LeafWeights> readWeights(Node &n, const std::string &prefix) {
  auto integers = [&](const char *name) {
    return n.integers(prefix + name).value_or(SmallVector<int64_t>());
  };
  FailureOr<SmallVector<float>> weights = readFloats(n, prefix + "_weights");
  if (failed(weights))
    return failure();
  LeafWeights leaves{integers("_treeids"), integers("_nodeids"), integers("_ids"), *weights};
  for (size_t count : {leaves.trees.size(), leaves.nodes.size(), leaves.ids.size()})
    if (count != leaves.weights.size())
      return n.error() << "expected as many " << prefix << "_* as weights, "
                       << leaves.weights.size() << ", found " << count;
  return leaves;
}

/// The sums over all trees, [rows, outputs], plus the base values.
static FailureOr<Expr> sumOfTrees(Node &n, const LeafWeights &leaves, int64_t outputs,
                                  ArrayRef<float> base) {
  constexpr int64_t mostSteps = 64;
  FailureOr<Expr> x = featureRows(n);
  if (failed(x))
    return failure();
  bool isDouble = n.element(0).isF64();
  if (isDouble)
    x = n.expr(0u).reshape(x->shape());
  FailureOr<Forest> forest = readForest(n, x->shape()[1], isDouble);
  if (failed(forest))
    return failure();
  if (forest->depth > mostSteps)
    return n.error() << "is not supported for trees deeper than " << mostSteps
                     << " branches, found one of " << forest->depth;
  if (outputs < 1 || outputs > mostKnown / forest->size())
    return n.error() << "expected at most " << mostKnown << " weights of " << forest->size()
                     << " nodes, found " << outputs << " for each";
  HostTensor table(RankedTensorType::get({forest->size(), outputs}, n.builder().getF32Type()));
  for (auto [tree, node, id, weight] :
       llvm::zip_equal(leaves.trees, leaves.nodes, leaves.ids, leaves.weights)) {
    auto place = forest->places.find({tree, node});
    if (place == forest->places.end() || id < 0 || id >= outputs)
      return n.error() << "expected weights of nodes for outputs from 0 to " << outputs - 1
                       << ", found one of node " << node << " in tree " << tree << " for output "
                       << id;
    int64_t element = place->second * outputs + id;
    table.setFloat(element, table.getFloat(element) + double(weight));
  }
  Expr at = walk(n, *forest, *x);
  Expr held = n.expr(n.constant(outputs == 1 ? table.reshaped({forest->size()}) : table));
  Expr sums = lookUp(held, at).sum({1}).reshape({x->shape()[0], outputs});
  if (n.string("aggregate_function", "SUM") == "AVERAGE")
    sums = sums / double(forest->roots.size());
  if (base.empty())
    return sums;
  return sums + n.expr(n.broadcast(floatsOf(n, base, {outputs}), sums.shape()));
}

static LogicalResult expectBase(Node &n, ArrayRef<float> base, int64_t outputs) {
  if (base.empty() || int64_t(base.size()) == outputs)
    return success();
  return n.error() << "expected " << outputs << " base_values, found " << base.size();
}

static LogicalResult importTreeRegressor(Node &n) {
  int64_t targets = n.integer("n_targets", 1);
  StringRef aggregate = n.string("aggregate_function", "SUM");
  if (aggregate != "SUM" && aggregate != "AVERAGE")
    return n.error() << "expected aggregate_function SUM or AVERAGE, found \"" << aggregate << "\"";
  FailureOr<LeafWeights> leaves = readWeights(n, "target");
  FailureOr<SmallVector<float>> base = readFloats(n, "base_values");
  FailureOr<PostTransform> how = readPostTransform(n, targets);
  if (failed(leaves) || failed(base) || failed(how) || failed(expectBase(n, *base, targets)))
    return failure();
  FailureOr<Expr> sums = sumOfTrees(n, *leaves, targets, *base);
  if (failed(sums))
    return failure();
  return n.set(transformed(n, *sums, *how));
}

/// Of two classes, all weights are those of the first id, but count for the second class. As in
/// ONNX Runtime, it is chosen above 0, or above 1/2 if no weight is negative.
static LogicalResult classifyTwo(Node &n, const LeafWeights &leaves, const ClassNames &names,
                                 ArrayRef<float> base) {
  FailureOr<PostTransform> how = readPostTransform(n, 1, /*takesLogistic=*/true);
  if (failed(how) || failed(expectBase(n, base, 1)))
    return failure();
  if (llvm::any_of(leaves.ids, [](int64_t id) { return id != 0; }))
    return n.error() << "expected class_ids of 0 alone for two classes, found others";
  FailureOr<Expr> sum = sumOfTrees(n, leaves, 1, base);
  if (failed(sum))
    return failure();
  bool arePositive = llvm::all_of(leaves.weights, [](float weight) { return weight >= 0; });
  Expr first = *how != PostTransform::none ? transformed(n, -*sum, *how)
               : arePositive               ? 1.0 - *sum
                                           : -*sum;
  (void)n.set(1, scoresOfTwo(n, first, transformed(n, *sum, *how)));
  Expr isSecond = sum->compare(ComparePredicate::gt, sum->splat(arePositive ? 0.5 : 0));
  return setClasses(n, names, isSecond.cast(n.builder().getI64Type()).reshape({sum->shape()[0]}));
}

static LogicalResult importTreeClassifier(Node &n) {
  auto names = readClassNames(n, "classlabels_int64s", "classlabels_strings");
  FailureOr<LeafWeights> leaves = readWeights(n, "class");
  FailureOr<SmallVector<float>> base = readFloats(n, "base_values");
  if (failed(names) || failed(leaves) || failed(base))
    return failure();
  if (names->size() == 2)
    return classifyTwo(n, *leaves, *names, *base);
  FailureOr<PostTransform> how = readPostTransform(n, names->size());
  if (failed(how) || failed(expectBase(n, *base, names->size())))
    return failure();
  FailureOr<Expr> sums = sumOfTrees(n, *leaves, names->size(), *base);
  if (failed(sums))
    return failure();
  (void)n.set(1, transformed(n, *sums, *how));
  return setClasses(n, *names, largestOf(*sums));
}

void gradc::addTreesOps(OpTable &ops) {
  ops["ai.onnx.ml::TreeEnsembleRegressor"] = {importTreeRegressor, 1, 1};
  ops["ai.onnx.ml::TreeEnsembleClassifier"] = {importTreeClassifier, 1, 1};
}
