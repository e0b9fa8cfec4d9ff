// Reads decision trees from ai.onnx.ml's lists of nodes and checks that they are trees.
#include "dialects/Pch.h"

#include "compiler/import/onnx/ops/ml/Forest.h"

#include "compiler/import/onnx/ImportGraph.h"

#include <cmath>
#include <deque>

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

namespace {
/// The lists of a file, with one entry for each node.
struct NodeLists {
  SmallVector<int64_t> trees, nodes, features, onTrue, onFalse, missingIsTrue;
  SmallVector<double> values;
  std::vector<std::string> modes;

  int64_t size() const { return int64_t(trees.size()); }
  bool isLeaf(int64_t i) const { return modes[i] == "LEAF"; }
};

/// Positions in the file's lists.
struct Links {
  SmallVector<int64_t> onTrue, onFalse, roots;
};
} // namespace

FailureOr<SmallVector<double>> gradc::realsOrTensor(Node &n, const std::string &name) {
  SmallVector<double> reals;
  if (auto list = n.reals(name))
    reals.append(list->begin(), list->end());
  if (const auto *a = n.attribute(name + "_as_tensor", AttributeType::tensor)) {
    FailureOr<ElementsAttr> values = n.getEntry().getModel().value(a->t(), n.loc());
    if (failed(values))
      return failure();
    HostTensor held(*values);
    for (int64_t i = 0; i < held.size(); ++i)
      reals.push_back(held.getFloat(i));
  }
  return reals;
}

static FailureOr<NodeLists> readLists(Node &n) {
  n.ignore("nodes_hitrates");
  n.ignore("nodes_hitrates_as_tensor");
  NodeLists lists;
  auto read = [&](StringRef name) { return n.integers(name).value_or(SmallVector<int64_t>()); };
  lists.trees = read("nodes_treeids");
  lists.nodes = read("nodes_nodeids");
  lists.features = read("nodes_featureids");
  lists.onTrue = read("nodes_truenodeids");
  lists.onFalse = read("nodes_falsenodeids");
  lists.missingIsTrue = read("nodes_missing_value_tracks_true");
  lists.modes = n.strings("nodes_modes").value_or(std::vector<std::string>());
  FailureOr<SmallVector<double>> values = realsOrTensor(n, "nodes_values");
  if (failed(values))
    return failure();
  lists.values = *values;
  size_t count = lists.trees.size();
  if (lists.missingIsTrue.empty())
    lists.missingIsTrue.resize(count);
  for (size_t other :
       {lists.nodes.size(), lists.features.size(), lists.onTrue.size(), lists.onFalse.size(),
        lists.missingIsTrue.size(), lists.modes.size(), lists.values.size()})
    if (other != count || count == 0)
      return n.error() << "expected one entry for each node in all attributes nodes_*, found "
                       << count << " and " << other;
  return lists;
}

/// Resolves the numbers of nodes and checks that each node has one parent, or is its tree's root.
static FailureOr<Links> readLinks(Node &n, const NodeLists &lists) {
  std::map<std::pair<int64_t, int64_t>, int64_t> positions;
  std::set<int64_t> trees, treesOfRoots;
  for (int64_t i = 0; i < lists.size(); ++i) {
    trees.insert(lists.trees[i]);
    if (!positions.try_emplace({lists.trees[i], lists.nodes[i]}, i).second)
      return n.error() << "has two nodes " << lists.nodes[i] << " in tree " << lists.trees[i];
  }
  Links links{SmallVector<int64_t>(lists.size()), SmallVector<int64_t>(lists.size()), {}};
  SmallVector<bool> hasParent(lists.size(), false);
  for (int64_t i = 0; i < lists.size(); ++i) {
    if (lists.isLeaf(i))
      continue;
    for (bool isTrue : {true, false}) {
      int64_t child = (isTrue ? lists.onTrue : lists.onFalse)[i];
      auto found = positions.find({lists.trees[i], child});
      if (found == positions.end() || std::exchange(hasParent[found->second], true))
        return n.error() << "expected node " << child << ", a child of node " << lists.nodes[i]
                         << ", once in tree " << lists.trees[i] << " and with no other parent";
      (isTrue ? links.onTrue : links.onFalse)[i] = found->second;
    }
  }
  for (int64_t i = 0; i < lists.size(); ++i)
    if (!hasParent[i]) {
      links.roots.push_back(i);
      treesOfRoots.insert(lists.trees[i]);
    }
  if (links.roots.size() != trees.size() || treesOfRoots.size() != trees.size())
    return n.error() << "expected one root in each of " << trees.size() << " trees, found "
                     << links.roots.size();
  return links;
}

/// Sets what node `i` of the file compares. Returns whether its true child is the first.
static FailureOr<bool> setBranch(Node &n, Forest &forest, int64_t place, const NodeLists &lists,
                                 int64_t i, bool isDouble) {
  StringRef mode = lists.modes[i];
  double value = lists.values[i];
  bool isStrict = mode == "BRANCH_LT" || mode == "BRANCH_GTE"; // the first child has less
  bool trueIsFirst = mode == "BRANCH_LEQ" || mode == "BRANCH_LT";
  if (!trueIsFirst && mode != "BRANCH_GT" && mode != "BRANCH_GTE")
    return n.error() << "expected modes BRANCH_LEQ, BRANCH_LT, BRANCH_GTE, BRANCH_GT or LEAF, "
                        "found \""
                     << mode << "\"";
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (isStrict && value == -infinity)
    value = std::numeric_limits<double>::quiet_NaN(); // no number is less
  else if (isStrict)
    value = isDouble ? std::nextafter(value, -infinity)
                     : double(std::nextafter(float(value), float(-infinity)));
  forest.features[place] = lists.features[i];
  forest.thresholds[place] = value;
  forest.nanIsFirst[place] = (lists.missingIsTrue[i] != 0) == trueIsFirst;
  return trueIsFirst;
}

FailureOr<Forest> gradc::readForest(Node &n, int64_t features, bool isDouble) {
  FailureOr<NodeLists> lists = readLists(n);
  if (failed(lists))
    return failure();
  FailureOr<Links> links = readLinks(n, *lists);
  if (failed(links))
    return failure();
  Forest forest;
  struct Next {
    int64_t position, depth;
  };
  std::deque<Next> queue; // nodes in the order of their places
  auto add = [&](int64_t position, int64_t depth) {
    int64_t place = forest.size();
    forest.places[{lists->trees[position], lists->nodes[position]}] = place;
    forest.features.push_back(features);
    forest.thresholds.push_back(0);
    forest.nanIsFirst.push_back(0);
    forest.children.push_back(place);
    forest.depth = std::max(forest.depth, depth);
    queue.push_back({position, depth});
    return place;
  };
  for (int64_t root : links->roots)
    forest.roots.push_back(add(root, 0));
  for (int64_t place = 0; !queue.empty(); ++place) {
    auto [position, depth] = queue.front();
    queue.pop_front();
    if (lists->isLeaf(position))
      continue;
    int64_t feature = lists->features[position];
    if (feature < 0 || feature >= features)
      return n.error() << "expected features from 0 to " << features - 1 << ", as "
                       << n.describeOperand(0) << " has, found " << feature;
    FailureOr<bool> trueIsFirst = setBranch(n, forest, place, *lists, position, isDouble);
    if (failed(trueIsFirst))
      return failure();
    int64_t first = links->onTrue[position], second = links->onFalse[position];
    if (!*trueIsFirst)
      std::swap(first, second);
    forest.children[place] = add(first, depth + 1);
    add(second, depth + 1);
  }
  return forest;
}
