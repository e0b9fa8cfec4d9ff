// PyTorch's newer exporter writes embedding bags as a loop that appends a row per bag to a
// sequence: with branches for empty bags, for the last bag and for each way to reduce, and a loop
// in the loop that leaves out a row of padding. It also records the call. If all bags have the same
// size, as for indices with two dims, the call is one reduction, for any number of rows:
// 1. The record tells the reduction and the padding.
// 2. The loop's graph tells which values are the rows, the starts of bags, and the indices.
// 3. All starts are known, and bags are adjacent, so they are the rows in one more dim.
#include "dialects/Pch.h"

#include "compiler/import/onnx/ExportSigns.h"
#include "compiler/import/onnx/model/GraphOrder.h"
#include "compiler/import/onnx/ops/Indices.h"
#include "compiler/import/onnx/ops/control/EmbeddingBag.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

namespace {
class RecordedBag {
public:
  RecordedBag(Node &n, const onnx::GraphProto &body, EmbeddingBagCall call)
      : n(n), body(body), call(call) {}

  bool match() {
    bool appends = n.operandCount() == 4 && n.resultCount() == 2 && n.isSequence(3) &&
                   n.sequence(3).empty() && body.input_size() == 4 && !n.isRead(0) && isJoined();
    if (!appends)
      return false;
    visit(body);
    return findOperands() && haveOneSize();
  }

  /// One row per bag.
  Value build() {
    auto table = cast<RankedTensorType>(rows.getType());
    int64_t columns = table.getDimSize(1);
    Expr x = n.expr(rows).reshape({bags, width, columns});
    if (!call.padding)
      return reduce(x);
    Expr numbers = n.expr(indices).reshape({bags, width});
    Expr isKept = numbers.compare(ComparePredicate::ne, numbers.splat(double(*call.padding)));
    Expr isThere = isKept.broadcast(x.type().clone(isKept.element()), {0, 1});
    if (call.mode == EmbeddingBagCall::max) {
      double least = -std::numeric_limits<double>::infinity();
      Expr most = n.expr(reduce(isThere.select(x, x.splat(least))));
      Expr isAny = any(isKept, 1).broadcast(most.type().clone(isKept.element()), {0});
      return isAny.select(most, most.splat(0));
    }
    Expr sum = isThere.select(x, x.splat(0)).sum({1});
    if (call.mode == EmbeddingBagCall::sum)
      return sum;
    Expr count = isKept.cast(x.element()).sum({1});
    count = count.apply<MaxOp>(count.splat(1)); // an empty bag is 0
    return sum / count.broadcast(sum.type(), {0});
  }

  int64_t countBags() const { return bags; }

private:
  Value reduce(Expr x) {
    OpBuilder &b = n.builder();
    SmallVector<int64_t> dims{1};
    if (call.mode == EmbeddingBagCall::max)
      return b.createOrFold<ReduceMaxOp>(n.loc(), x, dims);
    if (call.mode == EmbeddingBagCall::mean)
      return b.createOrFold<ReduceMeanOp>(n.loc(), x, dims);
    return b.createOrFold<ReduceSumOp>(n.loc(), x, dims);
  }

  /// Whether nothing reads the sequence but nodes that join its tensors along dim 0, so that it may
  /// be one tensor of all rows.
  bool isJoined() const {
    const onnx::GraphProto &graph = n.getEntry().getGraph();
    std::string name = n.resultName(1).str();
    auto isOutput = [&](const onnx::ValueInfoProto &output) { return output.name() == name; };
    return llvm::none_of(graph.output(), isOutput) &&
           llvm::all_of(graph.node(), [&](const onnx::NodeProto &node) {
             return !readsName(node, name) ||
                    (node.op_type() == "ConcatFromSequence" && !integerAttribute(node, "axis", 0) &&
                     !integerAttribute(node, "new_axis", 0));
           });
  }

  /// Lists the nodes of the graph and of the graphs in it, and the names that are defined there.
  void visit(const onnx::GraphProto &graph) {
    auto define = [&](const auto &list) {
      for (const auto &one : list)
        inner.insert(one.name());
    };
    define(graph.input());
    define(graph.initializer());
    for (const onnx::NodeProto &node : graph.node()) {
      nodes.push_back(&node);
      for (const std::string &output : node.output())
        inner.insert(output);
      for (const onnx::AttributeProto &attribute : node.attribute())
        if (attribute.has_g())
          visit(attribute.g());
    }
  }

  /// The values from outside of which the nodes choose elements: a matrix, and lists of integers.
  bool findOperands() {
    StringRef iteration = body.input(2).name();
    for (const onnx::NodeProto *node : nodes) {
      bool slices = node->op_type() == "Slice";
      if ((!slices && node->op_type() != "Gather") || node->input_size() < 2 ||
          inner.contains(node->input(0)))
        continue;
      Value value = n.getEntry().value(node->input(0));
      if (!value || n.getEntry().findExtent(value) || n.getEntry().findNarrow(value))
        return false;
      auto type = cast<RankedTensorType>(value.getType());
      bool isMatrix = type.getRank() == 2 && isa<FloatType>(type.getElementType());
      bool isList = type.getRank() == 1 && type.getElementType().isSignlessInteger();
      bool isBound = slices || node->input(1) == iteration || value == starts;
      Value &found = isMatrix ? rows : isBound ? starts : indices;
      if ((!isMatrix && !isList) || (found && found != value))
        return false;
      found = value;
    }
    return rows && starts && (indices != nullptr) == call.padding.has_value();
  }

  /// The starts of bags are followed by the end of the last one.
  bool haveOneSize() {
    int64_t count = cast<RankedTensorType>(rows.getType()).getDimSize(0);
    std::optional<HostTensor> known = n.getEntry().known(starts, /*mayBind=*/false);
    if (!known || known->size() < 2 ||
        (indices && cast<RankedTensorType>(indices.getType()).getDimSize(0) != count))
      return false;
    bags = known->size() - 1;
    width = known->getInt(1);
    return width > 0 && width * bags == count &&
           llvm::all_of(llvm::seq(known->size()),
                        [&](auto i) { return known->getInt(i) == i * width; });
  }

  Node &n;
  const onnx::GraphProto &body;
  EmbeddingBagCall call;
  llvm::StringSet<> inner;
  SmallVector<const onnx::NodeProto *> nodes;
  Value rows, starts, indices; ///< `indices` are read where a row is padding
  int64_t bags = 0, width = 0;
};
} // namespace

bool gradc::raiseRecordedEmbeddingBag(Node &n, const onnx::GraphProto &body) {
  std::optional<EmbeddingBagCall> call = n.embeddingBag();
  if (!call)
    return false;
  RecordedBag bag(n, body, *call);
  if (!bag.match())
    return false;
  (void)n.set(0, n.constantInts({bag.countBags()}, /*scalar=*/true)); // which nothing reads
  (void)n.setSequence(1, {bag.build()});
  return true;
}
