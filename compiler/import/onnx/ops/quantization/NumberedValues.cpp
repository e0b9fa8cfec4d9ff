// Weights of ONNX Runtime whose codes number the values of a table, with a factor for each block.
#include "dialects/Pch.h"

#include "compiler/import/onnx/ops/quantization/CodedFactor.h"
#include "compiler/import/onnx/ops/quantization/Quantization.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

/// The values that the codes of attribute quant_type number: FP4 and NF4, as bitsandbytes has them.
static constexpr float codedValues[2][16] = {
    {0.0f, 0.0052083333f, 0.66666667f, 1.0f, 0.33333333f, 0.5f, 0.16666667f, 0.25f, -0.0f,
     -0.0052083333f, -0.66666667f, -1.0f, -0.33333333f, -0.5f, -0.16666667f, -0.25f},
    {-1.0f, -0.6961928f, -0.52507305f, -0.39491749f, -0.28444138f, -0.18477343f, -0.09105004f, 0.0f,
     0.0795803f, 0.1609302f, 0.2461123f, 0.33791524f, 0.44070983f, 0.562617f, 0.72295684f, 1.0f}};

/// A B', for B of N rows of K codes of 4 bits, the first of a byte in its upper bits. Blocks of
/// codes go over the ends of rows; each has a factor, operand 2.
static LogicalResult importMatMulBnb4(Node &n) {
  n.ignore("training_mode");
  int64_t kind = n.integer("quant_type", -1), block = n.integer("block_size", 0);
  FailureOr<CodedFactor> factor = readFactor(n);
  if (failed(factor) || failed(expectBlock(n, block)))
    return failure();
  if (kind != 0 && kind != 1)
    return n.error() << "expected quant_type 0 (FP4) or 1 (NF4), found " << kind;
  if (!n.integer("transB", 1))
    return n.error() << "expected transB 1 (rows of K codes), found 0";
  auto [columns, steps] = *factor;
  int64_t count = columns * steps, bytes = llvm::divideCeil(count, 2);
  if (!n.element(1).isUnsignedInteger(8) || n.type(1).getNumElements() != bytes)
    return n.error() << "expected " << bytes << " bytes of codes, found " << n.describeOperand(1);
  FailureOr<HostTensor> packed = knownBytes(n, 1);
  FailureOr<Expr> largest = perBlock(n, 2, {int64_t(llvm::divideCeil(count, block))});
  if (failed(packed) || failed(largest) || failed(n.expectSameElement(0, 2)))
    return failure();
  Type f32 = n.builder().getF32Type();
  HostTensor values(RankedTensorType::get({count}, f32));
  const auto *from = reinterpret_cast<const uint8_t *>(packed->bytes().data());
  for (int64_t k = 0; k < count; ++k)
    values.setFloat(k, codedValues[kind][k % 2 ? from[k / 2] & 15 : from[k / 2] >> 4]);
  Expr flat = n.expr(n.constant(values)) * spreadBlocks(largest->cast(f32), {count}, 0, block);
  return n.set(multiplyByRows(n, flat.reshape({columns, steps})));
}

void gradc::addNumberedValuesOps(OpTable &ops) {
  ops["com.microsoft::MatMulBnb4"] = {importMatMulBnb4, 3, 3};
}
