// Tells whether scores are each a yes or no, and which of them are.
#include "dialects/Pch.h"

#include "compiler/import/objective/BinaryScores.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

int64_t gradc::labelDim(Value scores) {
  auto type = cast<RankedTensorType>(scores.getType());
  int64_t last = type.getRank() - 1;
  auto transpose = scores.getDefiningOp<TransposeOp>();
  bool isMovedBack = transpose && transpose.getPermutation()[last] == 1;
  return last < 3 || type.getDimSize(last) == 1 || isMovedBack ? last : 1;
}

BinaryScores BinaryScores::labelsLast() const {
  int64_t dim = labelDim(scores);
  SmallVector<int64_t> order = leadingDims(scores.type().getRank());
  std::rotate(order.begin() + dim, order.begin() + dim + 1, order.end());
  BinaryScores turned{scores.transpose(order), isPositive.transpose(order), std::nullopt};
  if (counts)
    turned.counts = counts->transpose(order);
  return turned;
}

Expr BinaryScores::isTaken() const {
  Expr isAbove = scores.compare(ComparePredicate::gt, scores.splat(0));
  return counts ? isAbove.apply<AndOp>(*counts) : isAbove;
}

FailureOr<BinaryScores> gradc::binaryScores(SpecValues &v, StringRef logits, StringRef labels,
                                            std::optional<int64_t> ignore, Location where) {
  FailureOr<Value> scores = v.scores(logits, /*sigmoid=*/true, where);
  if (failed(scores))
    return failure();
  FailureOr<Expr> y = v.targets(labels, *scores, logits, where);
  if (failed(y))
    return failure();
  BinaryScores found{v.expr(*scores), y->compare(ComparePredicate::gt, y->splat(0.5)),
                     std::nullopt};
  if (ignore) {
    Expr counts = y->compare(ComparePredicate::ne, y->splat(double(*ignore)));
    found.isPositive = found.isPositive.apply<AndOp>(counts);
    found.counts = counts;
  }
  return found;
}

/// Whether a loss takes each score of the output as a yes or no.
static bool isBinary(const spec::Loss &loss, StringRef logits) {
  if (loss.has_binary_cross_entropy())
    return logits == loss.binary_cross_entropy().logits();
  if (loss.has_focal())
    return !loss.focal().targets().empty() && logits == loss.focal().logits();
  return loss.has_hinge() && !loss.hinge().targets().empty() && logits == loss.hinge().logits();
}

bool gradc::areBinary(SpecValues &v, StringRef logits, Value output) {
  if (output.getDefiningOp<SigmoidOp>())
    return true;
  const spec::Training &training = v.getSpec().get();
  auto takes = [&](const spec::Loss &loss) { return isBinary(loss, logits); };
  return llvm::any_of(training.loss(), takes) ||
         llvm::any_of(training.train(),
                      [&](const spec::Train &kind) { return llvm::any_of(kind.loss(), takes); });
}

FailureOr<RankedTensorType> gradc::typeOfLabels(SpecValues &v, StringRef labels,
                                                RankedTensorType scores, Location where) {
  auto single = RankedTensorType::get(scores.getShape().drop_back(), v.getBuilder().getI64Type());
  FailureOr<Value> field = v.field(labels, single, labels, where);
  if (failed(field))
    return failure();
  return cast<RankedTensorType>((*field).getType());
}

bool gradc::isOneScore(RankedTensorType type) {
  return type.getRank() == 1 || (type.getRank() == 2 && type.getDimSize(1) == 1);
}

FailureOr<bool> gradc::hasOneScore(SpecValues &v, StringRef logits, StringRef labelField,
                                   Value output, Location where) {
  auto type = cast<RankedTensorType>(output.getType());
  if (isOneScore(type))
    return true;
  bool isColumn = type.getRank() > 2 && type.getShape().back() == 1;
  if (!isColumn && (type.getRank() <= 2 || type.getDimSize(1) != 1))
    return false;
  if (areBinary(v, logits, output))
    return true;
  FailureOr<RankedTensorType> labels = typeOfLabels(v, labelField, type, where);
  if (failed(labels))
    return failure();
  // [batch, 1, classes] with floats of the same shape are distributions over classes.
  return labels->getNumElements() == type.getNumElements() &&
         (isColumn || type.getRank() > 3 || isa<IntegerType>(labels->getElementType()));
}
