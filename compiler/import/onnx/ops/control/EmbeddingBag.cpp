// PyTorch's tracing exporter writes embedding bags as a loop over bags. If all bags have the same
// size, as for indices with two dims, the loop is one gather and one reduction, for any number of
// rows:
// 1. The body stacks reduce(gather(table, slice(indices, starts[i], ends[i]))).
// 2. All starts and ends are known, and consecutive slices are adjacent.
// 3. The slices are then rows of the reshaped indices.
#include "dialects/Pch.h"

#include "compiler/import/onnx/ops/control/EmbeddingBag.h"

#include "compiler/import/onnx/model/Attributes.h"
#include "compiler/import/onnx/ops/Indices.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

namespace {
class BagLoop {
public:
  BagLoop(Node &n, const onnx::GraphProto &body, int64_t trips) : n(n), body(body), trips(trips) {}

  bool match() {
    return body.input_size() == 2 && body.output_size() == 2 && goesOn() && matchBag() &&
           matchSlice();
  }

  FailureOr<Value> build() {
    OpBuilder &b = n.builder();
    Value data = n.getEntry().value(table);
    auto type = cast<RankedTensorType>(data.getType());
    Expr flat = n.expr(n.getEntry().value(indices));
    Value bags = flat.slice(0, first, trips * width).reshape({trips, width});
    if (failed(expectInRange(n, bags, type.getDimSize(0), "dim 0 of \"" + table + "\"")))
      return failure();
    Value rows = b.createOrFold<GatherOp>(n.loc(), data, bags, ArrayRef<int64_t>{-1, 2},
                                          ArrayRef<int64_t>{0, 1});
    if (reduction == "ReduceMax")
      return b.createOrFold<ReduceMaxOp>(n.loc(), rows, ArrayRef<int64_t>{1});
    if (reduction == "ReduceMean")
      return b.createOrFold<ReduceMeanOp>(n.loc(), rows, ArrayRef<int64_t>{1});
    return b.createOrFold<ReduceSumOp>(n.loc(), rows, ArrayRef<int64_t>{1});
  }

private:
  const onnx::NodeProto *producer(StringRef name) const {
    for (const onnx::NodeProto &node : body.node())
      if (llvm::is_contained(node.output(), name))
        return &node;
    return nullptr;
  }
  const onnx::NodeProto *producer(StringRef name, StringRef op, int operands) const {
    const onnx::NodeProto *node = producer(name);
    return node && node->op_type() == op && node->input_size() >= operands ? node : nullptr;
  }

  /// Whether the name is defined outside the body.
  bool isAround(StringRef name) const {
    auto isDefined = [&](const auto &list) {
      return llvm::any_of(list, [&](const auto &one) { return one.name() == name; });
    };
    return !producer(name) && !isDefined(body.input()) && !isDefined(body.initializer()) &&
           n.getEntry().value(name);
  }

  std::optional<HostTensor> known(StringRef name) const {
    if (isAround(name))
      return n.getEntry().known(n.getEntry().value(name));
    const onnx::NodeProto *constant = producer(name, "Constant", 0);
    const onnx::AttributeProto *value = constant ? findAttribute(*constant, "value") : nullptr;
    if (!value || !value->has_t())
      return std::nullopt;
    FailureOr<ElementsAttr> held = n.getEntry().getModel().value(value->t(), n.loc());
    return failed(held) ? std::nullopt : std::optional(HostTensor(*held));
  }
  /// Whether the name is a single number that selects dim 0 of a tensor of that rank.
  bool isFirstDim(StringRef name, int64_t rank) const {
    std::optional<HostTensor> dim = known(name);
    return dim && dim->size() == 1 && (dim->getInt(0) == 0 || dim->getInt(0) == -rank);
  }

  /// Whether the condition stays true, as it was before the loop.
  bool goesOn() const {
    std::string name = body.output(0).name();
    while (const onnx::NodeProto *node = producer(name)) {
      if ((node->op_type() != "Identity" && node->op_type() != "Cast") || node->input_size() != 1)
        return false;
      name = node->input(0);
    }
    if (name == body.input(1).name())
      return true;
    std::optional<HostTensor> value = known(name);
    return value && value->size() == 1 && value->getInt(0);
  }

  bool matchBag() {
    const onnx::NodeProto *reduce = producer(body.output(1).name());
    if (!reduce || reduce->input_size() < 1 || integerAttribute(*reduce, "keepdims", 1))
      return false;
    reduction = reduce->op_type();
    if (!llvm::is_contained({"ReduceSum", "ReduceMean", "ReduceMax"}, reduction))
      return false;
    const onnx::AttributeProto *axes = findAttribute(*reduce, "axes");
    bool overFirst = reduce->input_size() == 2
                         ? isFirstDim(reduce->input(1), 2)
                         : axes && axes->ints_size() == 1 && axes->ints(0) == 0;
    const onnx::NodeProto *gather = producer(reduce->input(0), "Gather", 2);
    if (!overFirst || !gather || integerAttribute(*gather, "axis", 0) ||
        !isAround(gather->input(0)))
      return false;
    table = gather->input(0);
    slice = producer(gather->input(1), "Slice", 4);
    auto type = cast<RankedTensorType>(n.getEntry().value(table).getType());
    return slice && type.getRank() == 2 && isa<FloatType>(type.getElementType());
  }

  /// The list of numbers from which the body takes one per iteration.
  std::optional<HostTensor> boundsOf(StringRef name) const {
    const onnx::NodeProto *node = producer(name);
    while (node &&
           (node->op_type() == "Unsqueeze" || node->op_type() == "Reshape" ||
            node->op_type() == "Cast") &&
           node->input_size() > 0)
      node = producer(node->input(0));
    if (!node || node->op_type() != "Gather" || node->input_size() != 2 ||
        integerAttribute(*node, "axis", 0) || node->input(1) != body.input(0).name() ||
        !isAround(node->input(0)))
      return std::nullopt;
    return known(node->input(0));
  }

  bool matchSlice() {
    indices = slice->input(0);
    if (!isAround(indices) || !isFirstDim(slice->input(3), 1) || slice->input_size() > 4)
      return false;
    auto type = cast<RankedTensorType>(n.getEntry().value(indices).getType());
    std::optional<HostTensor> starts = boundsOf(slice->input(1)), ends = boundsOf(slice->input(2));
    bool isIndex =
        type.getElementType().isSignlessInteger(32) || type.getElementType().isSignlessInteger(64);
    if (!isIndex || type.getRank() != 1 || !starts || !ends || trips < 1 ||
        starts->size() < trips || ends->size() < trips)
      return false;
    first = starts->getInt(0);
    width = ends->getInt(0) - first;
    for (int64_t i = 0; i < trips; ++i)
      if (starts->getInt(i) != first + i * width || ends->getInt(i) != first + (i + 1) * width)
        return false;
    return first >= 0 && width > 0 && first + trips * width <= type.getDimSize(0);
  }

  Node &n;
  const onnx::GraphProto &body;
  int64_t trips, first = 0, width = 0;
  std::string reduction, table, indices;
  const onnx::NodeProto *slice = nullptr;
};
} // namespace

FailureOr<Value> gradc::raiseEmbeddingBags(Node &n, const onnx::GraphProto &body, int64_t trips) {
  BagLoop loop(n, body, trips);
  return loop.match() ? loop.build() : FailureOr<Value>(Value());
}
