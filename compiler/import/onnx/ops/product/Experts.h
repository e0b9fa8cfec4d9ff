// Mixtures of experts, of floats and of quantized weights.
#ifndef COMPILER_IMPORT_ONNX_OPS_PRODUCT_EXPERTS_H
#define COMPILER_IMPORT_ONNX_OPS_PRODUCT_EXPERTS_H

#include "compiler/import/onnx/Node.h"

namespace gradc {

/// The sizes of a mixture. Operand 0 is [.., hidden] and operand 1 [tokens, experts]. A first layer
/// is [experts, wide, hidden], and a second layer is [experts, hidden, inner]; a gated activation
/// has two numbers of the first layer for each of the second.
struct Experts {
  int64_t tokens, hidden, count, wide, inner;
  llvm::StringRef activation;

  llvm::SmallVector<int64_t> firstShape() const { return {count, wide, hidden}; }
  llvm::SmallVector<int64_t> secondShape() const { return {count, hidden, inner}; }
};
/// Reads them from operands 0, 1 and `first`, the weights of the first layer.
mlir::FailureOr<Experts> readExperts(Node &n, unsigned first);

/// A layer's weights and the operand of its bias, which may be missing.
struct ExpertLayer {
  mlir::grad::Expr weights;
  unsigned bias;
};
/// Sets the result: the sum of the k experts with the largest numbers of operand 1, weighted by the
/// softmax of all numbers, or of those k if `normalizes`.
mlir::LogicalResult setMixture(Node &n, const Experts &experts, const ExpertLayer &first,
                               const ExpertLayer &second, bool normalizes);

} // namespace gradc

#endif
