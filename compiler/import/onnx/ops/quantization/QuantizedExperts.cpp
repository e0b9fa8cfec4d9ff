// ONNX Runtime's QMoE: a mixture of experts whose weights are codes of 2, 4 or 8 bits, with a scale
// for each row or for each block of a row.
#include "dialects/Pch.h"

#include "compiler/import/onnx/ops/product/Experts.h"
#include "compiler/import/onnx/ops/quantization/CodedFactor.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

/// The weights [experts, rows, columns] of operand `i`, whose scales are the next operand. Zero
/// points of rows follow each other as codes of an expert, those of blocks as codes of a row.
static FailureOr<Expr> readWeights(Node &n, unsigned i, unsigned zeroOperand, StringRef layer,
                                   ArrayRef<int64_t> shape) {
  unsigned scaleOperand = i + 1;
  int64_t bits = n.integer("expert_weight_bits", 4), block = n.integer("block_size", 0);
  Coding coding{n.integer((layer + "_expert_weight_bits").str(), bits), block};
  if (failed(expectBits(n, coding.bits)) || (block && failed(expectBlock(n, block))))
    return failure();
  if (!n.operand(scaleOperand))
    return n.error() << "operand " << scaleOperand << " is missing";
  if (!block)
    coding.block = shape.back();
  SmallVector<int64_t> blocks{shape[0], shape[1], coding.blocks(shape.back())};
  FailureOr<Expr> codes = unpack(n, i, coding, shape, shape.back());
  FailureOr<Expr> scales = perBlock(n, scaleOperand, blocks);
  FailureOr<std::optional<Expr>> zeros =
      zeroPoints(n, zeroOperand, coding, block ? ArrayRef(blocks) : ArrayRef(blocks).drop_back());
  if (failed(codes) || failed(scales) || failed(zeros))
    return failure();
  if (*zeros)
    *zeros = (*zeros)->reshape(blocks);
  return dequantize(*codes, *scales, *zeros, coding.block).cast(n.element(0));
}

static LogicalResult importQMoE(Node &n) {
  constexpr unsigned first = 2, firstBias = 4, second = 5, secondBias = 7, others = 8;
  constexpr unsigned firstZero = 11, secondZero = 12;
  n.ignore("accuracy_level");            // which permits ONNX Runtime to quantize operand 0, too
  n.ignore("normalize_routing_weights"); // which its code does in any case
  if (StringRef type = n.string("quant_type", "int"); type != "int")
    return n.error() << "expected quant_type int, found \"" << type << "\"";
  if (n.integer("weights_prepacked", 0) > 0)
    return n.error() << "cannot take weights in another order than ONNX's";
  if (!n.operand(second))
    return n.error() << "operand " << second << " is missing";
  for (unsigned i = others; i < n.operandCount(); ++i)
    if (n.operand(i) && i != firstZero && i != secondZero)
      return n.error() << "expected two layers without scales of tensors, found "
                       << n.describeOperand(i);
  FailureOr<Experts> e = readExperts(n, first);
  if (failed(e) || failed(n.expectRank(second, 3)))
    return failure();
  FailureOr<Expr> wide = readWeights(n, first, firstZero, "fc1", e->firstShape());
  if (failed(wide))
    return failure();
  FailureOr<Expr> narrow = readWeights(n, second, secondZero, "fc2", e->secondShape());
  if (failed(narrow))
    return failure();
  return setMixture(n, *e, {*wide, firstBias}, {*narrow, secondBias}, /*normalizes=*/true);
}

void gradc::addQuantizedExpertsOps(OpTable &ops) {
  ops["com.microsoft::QMoE"] = {importQMoE, 3, 21};
}
