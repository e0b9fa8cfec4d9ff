// Reads and multiplies factors whose elements are codes of a few bits.
#include "dialects/Pch.h"

#include "compiler/import/onnx/ImportGraph.h"
#include "compiler/import/onnx/ops/quantization/CodedFactor.h"
#include "compiler/import/onnx/ops/quantization/Quantization.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

LogicalResult gradc::expectBits(Node &n, int64_t bits) {
  if (llvm::is_contained({2, 4, 8}, bits))
    return success();
  return n.error() << "expected codes of 2, 4 or 8 bits, found " << bits;
}

LogicalResult gradc::expectBlock(Node &n, int64_t block) {
  constexpr int64_t least = 16, most = 1 << 20;
  if (block >= least && block <= most && llvm::isPowerOf2_64(block))
    return success();
  return n.error() << "expected a block_size that is a power of 2 from " << least << " to " << most
                   << ", found " << block;
}

FailureOr<HostTensor> gradc::knownBytes(Node &n, unsigned i) {
  ElementsAttr attribute;
  Value bytes = n.operand(i);
  // Embeddings that are tied to MatMulNBits read its bytes in rows. Large ones do not fold.
  while (auto reshape = bytes.getDefiningOp<ReshapeOp>())
    bytes = reshape.getOperand();
  if (!matchPattern(bytes, m_Constant(&attribute)))
    return n.error() << "expected codes that are known at compile time, found "
                     << n.describeOperand(i);
  return HostTensor(attribute);
}

FailureOr<Expr> gradc::perBlock(Node &n, unsigned i, ArrayRef<int64_t> shape) {
  if (failed(n.expect(i, Kind::Float)))
    return failure();
  n.getEntry().getStates().makeScale(n.operand(i), n.loc());
  if (n.type(i).getNumElements() != llvm::product_of(shape))
    return n.error() << "expected " << llvm::product_of(shape)
                     << " numbers, one for each block, found " << n.describeOperand(i);
  return n.expr(i).reshape(shape);
}

FailureOr<Expr> gradc::unpack(Node &n, unsigned i, const Coding &coding, ArrayRef<int64_t> shape,
                              int64_t stored) {
  int64_t columns = shape.back(), rows = llvm::product_of(shape.drop_back());
  int64_t rowBytes = coding.bytes(stored);
  if (!n.element(i).isUnsignedInteger(8) || n.narrow(i) != coding.narrow ||
      n.type(i).getNumElements() != rows * rowBytes)
    return n.error() << "expected " << rows * rowBytes
                     << (coding.narrow ? " codes of operand 0's type" : " bytes of codes")
                     << ", found " << n.describeOperand(i);
  FailureOr<HostTensor> packed = knownBytes(n, i);
  if (failed(packed))
    return failure();
  HostTensor codes(RankedTensorType::get(shape, n.builder().getIntegerType(8)));
  const auto *from = reinterpret_cast<const uint8_t *>(packed->bytes().data());
  char *to = codes.mutableBytes().data();
  unsigned mask = (1u << coding.bits) - 1;
  for (int64_t row = 0; row < rows; ++row, from += rowBytes)
    for (int64_t k = 0; k < columns; ++k) {
      unsigned code =
          coding.narrow ? from[k] : from[k * coding.bits / 8] >> k * coding.bits % 8 & mask;
      *to++ = char(int64_t(code) - coding.half());
    }
  return n.expr(n.constant(codes));
}

FailureOr<std::optional<Expr>> gradc::zeroPoints(Node &n, unsigned i, const Coding &coding,
                                                 ArrayRef<int64_t> shape) {
  if (!n.operand(i))
    return std::optional<Expr>();
  if (!isa<FloatType>(n.element(i))) {
    FailureOr<Expr> zeros = unpack(n, i, coding, shape, shape.back());
    if (failed(zeros))
      return failure();
    return std::optional(*zeros);
  }
  FailureOr<Expr> zeros = perBlock(n, i, shape);
  if (failed(zeros))
    return failure();
  return std::optional(zeros->cast(n.builder().getF32Type()) - double(coding.half()));
}

Expr gradc::dequantize(Expr codes, Expr scales, std::optional<Expr> zeros, int64_t block) {
  Builder &b = codes.getBuilder();
  Type f32 = b.getF32Type();
  int64_t dim = codes.type().getRank() - 1;
  Expr x = codes;
  if (zeros) {
    Type difference = isa<FloatType>(zeros->element()) ? f32 : b.getI32Type();
    x = x.cast(difference) - spreadBlocks(zeros->cast(difference), codes.shape(), dim, block);
  }
  return x.cast(f32) * spreadBlocks(scales.cast(f32), codes.shape(), dim, block);
}

FailureOr<CodedFactor> gradc::readFactor(Node &n) {
  CodedFactor b{n.integer("N", 0), n.integer("K", 0)};
  if (failed(n.expect(0, Kind::Float)))
    return failure();
  if (b.columns < 1 || b.steps < 1 || n.rank(0) < 1 || n.shape(0).back() != b.steps)
    return n.error() << "expected K of the last dim of operand 0, and N, found " << b.steps
                     << " and " << b.columns << ", and " << n.describeOperand(0);
  SmallVector<int64_t> result(n.shape(0));
  result.back() = b.columns;
  if (failed(n.expectSensible({b.columns, b.steps})) || failed(n.expectSensible(result)))
    return failure();
  return b;
}

Expr gradc::multiplyByRows(Node &n, Expr weight) {
  SmallVector<int64_t> result(n.shape(0));
  int64_t steps = result.back(), rows = llvm::product_of(n.shape(0).drop_back());
  result.back() = weight.shape()[0];
  Expr x = n.expr(0u).reshape({rows, steps});
  return x
      .with(n.builder().createOrFold<MatmulOp>(n.loc(), x, weight.cast(n.element(0)), UnitAttr(),
                                               n.builder().getUnitAttr()))
      .reshape(result);
}
