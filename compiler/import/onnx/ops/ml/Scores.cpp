// Rows of features, scores and labels of ai.onnx.ml's operators. Where the specification leaves a
// result open, it is ONNX Runtime's.
#include "dialects/Pch.h"

#include "compiler/import/onnx/ops/ml/Scores.h"

#include "compiler/import/onnx/Text.h"
#include "compiler/import/onnx/ops/Indices.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

Expr gradc::floatsOf(Node &n, ArrayRef<float> values, ArrayRef<int64_t> shape, Type element) {
  HostTensor tensor(RankedTensorType::get(shape, element));
  for (auto [i, value] : llvm::enumerate(values))
    tensor.setFloat(int64_t(i), double(value));
  return n.expr(n.constant(tensor));
}

Expr gradc::floatsOf(Node &n, ArrayRef<float> values, ArrayRef<int64_t> shape) {
  return floatsOf(n, values, shape, n.builder().getF32Type());
}

FailureOr<Expr> gradc::featureRows(Node &n, unsigned i) {
  if (failed(n.expect(i, Kind::Number)))
    return failure();
  if (n.rank(i) < 1 || n.rank(i) > 2)
    return n.error() << "expected rows of features, of rank 1 or 2, found " << n.describeOperand(i);
  int64_t rows = n.rank(i) == 1 ? 1 : n.shape(i)[0];
  return n.expr(i).cast(n.builder().getF32Type()).reshape({rows, n.shape(i).back()});
}

Expr gradc::affine(Node &n, Expr x, ArrayRef<float> weight, ArrayRef<float> bias) {
  int64_t rows = x.shape()[0], columns = x.shape()[1];
  int64_t outputs = int64_t(weight.size()) / columns;
  Value product = n.builder().createOrFold<MatmulOp>(n.loc(), x.get(),
                                                     floatsOf(n, weight, {outputs, columns}).get(),
                                                     UnitAttr(), n.builder().getUnitAttr());
  Expr y = n.expr(product);
  if (bias.empty())
    return y;
  return y + n.expr(n.broadcast(floatsOf(n, bias, {outputs}), {rows, outputs}));
}

FailureOr<PostTransform> gradc::readPostTransform(Node &n, int64_t columns, bool takesLogistic) {
  StringRef name = n.string("post_transform", "NONE");
  if (name == "NONE")
    return PostTransform::none;
  bool isLogistic = name == "LOGISTIC";
  if (!isLogistic && name != "SOFTMAX")
    return n.error() << "expected post_transform NONE, SOFTMAX or LOGISTIC, found \"" << name
                     << "\"";
  if (columns == 1 && !(isLogistic && takesLogistic))
    return n.error() << "with post_transform " << name
                     << " is not supported for one score a row, which runtimes treat differently";
  return isLogistic ? PostTransform::logistic : PostTransform::softmax;
}

Expr gradc::transformed(Node &n, Expr scores, PostTransform how) {
  switch (how) {
  case PostTransform::none:
    return scores;
  case PostTransform::logistic:
    return scores.apply<SigmoidOp>();
  case PostTransform::softmax:
    return scores.with(n.builder().createOrFold<SoftmaxOp>(n.loc(), scores.get(),
                                                           n.builder().getI64IntegerAttr(1)));
  }
  llvm_unreachable("all transforms are above");
}

Expr gradc::scoresOfTwo(Node &n, Expr first, Expr second) {
  return n.expr(concatenate(n.builder(), n.loc(), {first.get(), second.get()}, 1));
}

FailureOr<ClassNames> gradc::readClassNames(Node &n, StringRef integers, StringRef strings) {
  ClassNames names;
  if (auto given = n.integers(integers))
    names.integers = *given;
  if (auto given = n.strings(strings))
    names.strings = *given;
  if (names.integers.empty() == names.strings.empty())
    return n.error() << "expected labels in one of \"" << integers << "\" and \"" << strings
                     << "\", found " << names.integers.size() << " and " << names.strings.size();
  return names;
}

LogicalResult gradc::setClasses(Node &n, const ClassNames &names, Expr indices) {
  auto pick = [&](Value table) { return gatherAlong(n.expr(table), 0, indices.get()); };
  if (!names.strings.empty()) {
    HostTensor table = textOf(names.strings, {names.size()}, *n.builder().getContext());
    (void)n.set(pick(n.constant(table)));
    n.markText(0);
    return success();
  }
  if (llvm::equal(names.integers, llvm::seq<int64_t>(0, names.size())))
    return n.set(indices);
  return n.set(pick(n.constantInts(names.integers)));
}

Expr gradc::largestOf(Expr scores) {
  Builder &b = scores.getBuilder();
  return scores.with(scores.getBuilder().createOrFold<ArgmaxOp>(scores.getLoc(), scores.get(),
                                                                b.getI64IntegerAttr(1)));
}
