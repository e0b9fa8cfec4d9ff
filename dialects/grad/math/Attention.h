// The common parts of attention and its gradient: operand sizes, and the scores as primitives.
#ifndef DIALECTS_GRAD_MATH_ATTENTION_H
#define DIALECTS_GRAD_MATH_ATTENTION_H

#include "dialects/grad/Build.h"

namespace mlir::grad {

/// The dims of an attention's operands, independent of their order in memory.
struct AttentionSizes {
  explicit AttentionSizes(const AttentionForm &form);

  int64_t batch, heads, keyHeads, queries, keys, size, width;
  int64_t group() const { return heads / keyHeads; } ///< query heads per key head
  /// The number of unmasked query-key pairs.
  int64_t pairs() const { return batch * heads * pairsOfHead; }

private:
  int64_t pairsOfHead;
};

/// The stored tensor's dim for dim `dim` of [batch, heads, positions, size].
int64_t storedDim(ArrayRef<int64_t> order, int64_t dim);

/// The operands of an attention or its gradient as [batch, heads, positions, size], and the
/// building blocks of the decompositions.
class AttentionParts {
public:
  AttentionParts(OpBuilder &builder, Location location, const AttentionForm &form);

  /// `value`, stored in the op's order, as [batch, heads, positions, size].
  Expr logical(Value value) const;
  /// Converts back to the op's order.
  Value stored(Expr value) const;
  /// [B, H, T, S], masked: -inf where a query does not attend to a key.
  Expr scores() const;
  /// The probabilities, from the statistic. Only for an AttentionGradOp.
  Expr probabilities() const;
  /// Weights [B, H, T, S] as dropout leaves them, or their gradient.
  Expr dropped(Expr weights) const;
  /// The gradient of the scores. Only of an AttentionGradOp's form.
  Expr scoreGradients(Expr probabilities) const;
  /// lhs [B, H, T, K] by the rhs of its key head: [B, G, K, N] or, transposed, [B, G, N, K].
  Expr byKeyHead(Expr lhs, Expr rhs, bool transposeRhs) const;
  /// [B, H, T, M]^T by [B, H, T, N], summed over the heads that share a key head: [B, G, M, N].
  Expr overQueries(Expr lhs, Expr rhs) const;

private:
  /// A column of the statistic, for each key.
  Expr alongKeys(int64_t column) const;
  Expr visible(Expr scores) const;

  OpBuilder &builder;
  Location location;
  const AttentionForm &form;
  AttentionSizes sizes;
};

/// An attention as `evaluate` computes it: indexes tensors in the op's order.
class AttentionReference {
public:
  /// `operands`: all of the op's.
  AttentionReference(const AttentionForm &form, ArrayRef<HostTensor> operands);

  /// The masked score of one query and one key.
  double score(int64_t b, int64_t h, int64_t t, int64_t s) const;
  /// The factor by which dropout multiplies the weight of one query and one key.
  double dropout(int64_t b, int64_t h, int64_t t, int64_t s) const;
  /// Element [b, h, i, j] of a tensor in the op's order: its position.
  int64_t at(const HostTensor &tensor, int64_t b, int64_t h, int64_t i, int64_t j) const;
  double read(const HostTensor &tensor, int64_t b, int64_t h, int64_t i, int64_t j) const {
    return tensor.getFloat(at(tensor, b, h, i, j));
  }

  const AttentionForm &form;
  AttentionSizes sizes;

private:
  ArrayRef<HostTensor> operands;
  const HostTensor *mask = nullptr, *seed = nullptr, *step = nullptr;
};

} // namespace mlir::grad

#endif
