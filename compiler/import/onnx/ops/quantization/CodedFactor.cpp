// Reads and multiplies factors whose elements are codes of a few bits.
#include "dialects/Pch.h"

#include "compiler/import/onnx/ops/quantization/CodedFactor.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

LogicalResult gradc::expectBlock(Node &n, int64_t block) {
  constexpr int64_t least = 16, most = 1 << 20;
  if (block >= least && block <= most && llvm::isPowerOf2_64(block))
    return success();
  return n.error() << "expected a block_size that is a power of 2 of at least " << least
                   << ", found " << block;
}

FailureOr<HostTensor> gradc::knownBytes(Node &n, unsigned i) {
  ElementsAttr attribute;
  if (!matchPattern(n.operand(i), m_Constant(&attribute)))
    return n.error() << "expected codes that are known at compile time, found "
                     << n.describeOperand(i);
  return HostTensor(attribute);
}

FailureOr<Expr> gradc::perBlock(Node &n, unsigned i, ArrayRef<int64_t> shape) {
  if (failed(n.expect(i, Kind::Float)))
    return failure();
  if (n.type(i).getNumElements() != llvm::product_of(shape))
    return n.error() << "expected " << llvm::product_of(shape)
                     << " numbers, one for each block, found " << n.describeOperand(i);
  return n.expr(i).reshape(shape);
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
