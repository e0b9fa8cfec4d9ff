// FlexAttention: attention whose scores and weights pass through graphs of the node. The graphs are
// imported as ordinary ops. If they only scale, add, or mask, attention kernels are formed.
#include "dialects/Pch.h"

#include "compiler/import/onnx/ImportGraph.h"
#include "compiler/import/onnx/Subgraph.h"
#include "compiler/import/onnx/ops/attention/AttentionParts.h"
#include "compiler/import/onnx/ops/attention/FlexAttention.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

/// Applies the graph in attribute `name` to `x`; returns `x` itself if the node has no such graph.
static FailureOr<Expr> modify(Node &n, StringRef name, Expr x) {
  if (!n.has(name))
    return x;
  auto graph = findGraph(n, name);
  if (failed(graph) || failed(expectCounts(n, **graph, 1, 1)))
    return failure();
  auto results = n.getEntry().importSubgraph(**graph, *n.builder().getInsertionBlock(),
                                             {GraphValue{x, std::nullopt}});
  if (failed(results))
    return failure();
  Value result = results->front().tensor;
  if (!result || result.getType() != x.type())
    return n.error() << "expected " << name << " to make " << describe(x.type()) << ", found "
                     << (result ? describe(result.getType()) : std::string("a sequence"));
  return x.with(result);
}

LogicalResult gradc::importFlexAttention(Node &n) {
  for (unsigned i : {0u, 1u, 2u})
    if (failed(n.expect(i, Kind::Float)) || failed(n.expectRank(i, 4)) ||
        failed(n.expectSameElement(0, i)))
      return failure();
  Heads heads{n.expr(0u), n.expr(1u), n.expr(2u), 0};
  Type wide = n.builder().getF32Type();
  FailureOr<Type> precision = softmaxType(n, n.element(0).isF64() ? n.element(0) : wide);
  if (failed(precision) || failed(expectHeadShapes(n, heads)) ||
      failed(n.expectSensible(heads.scoresShape())))
    return failure();
  double scale = n.real("scale", 1 / std::sqrt(double(heads.query.shape()[3])));
  Expr scores = multiply(n, heads, heads.query.cast(*precision), heads.key.cast(*precision),
                         /*transposeRhs=*/true);
  FailureOr<Expr> seen = modify(n, "score_mod", scores * scale);
  if (failed(seen))
    return failure();
  Expr weights = softmaxOverKeys(n, *seen, /*mayBeEmpty=*/n.has("score_mod"));
  FailureOr<Expr> kept = modify(n, "prob_mod", weights);
  if (failed(kept))
    return failure();
  return n.set(multiply(n, heads, kept->cast(n.element(0)), heads.value, /*transposeRhs=*/false));
}
