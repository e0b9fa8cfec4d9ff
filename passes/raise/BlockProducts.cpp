// Sums of blocks become a batch of products with codes, whose results are multiplied by the scales
// of the blocks. With a zero point, code - zero point is multiplied: sum x code - zero point sum x
// would be NaN where x is infinite, or the two sums overflow.
#include "passes/raise/BlockProducts.h"

#include "dialects/grad/Grad.h"
#include "dialects/grad/TensorTypes.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

/// The rows up to which blocks always pay. More rows read codes several times, which are in panels
/// only if they are constant. On GPUs, each row writes and reads a sum for each block: a product of
/// 16 rows takes as long by blocks as it takes if the matrix is dequantized.
static constexpr int64_t fewRows = 8;
/// A block of fewer codes takes fewer bytes than its scale and its sums do.
static constexpr int64_t leastBlock = 16;

namespace {

class BlockProduct {
public:
  BlockProduct(OpBuilder &builder, ComputedStates &computed, ContractionOpInterface op,
               const DequantizedBlocks &rhs)
      : builder(builder), computed(computed), op(op), rhs(rhs), letters(op.getLetters()),
        steps(typeOf(rhs.codes).getDimSize(rhs.dim)),
        columns(typeOf(rhs.codes).getDimSize(1 - rhs.dim)), blocks(steps / rhs.block) {}

  /// Whether the rhs is a matrix with blocks along the sum.
  bool hasSums() {
    return !letters.window && letters.rhs.size() == 2 && letters.isSummed(letters.rhs[rhs.dim]) &&
           letters.isColumn(letters.rhs[1 - rhs.dim]);
  }

  /// Zero points that are known become part of the codes.
  void subtractZeros() {
    Value codes = rhs.zero ? computed.relativeCodes(builder, rhs) : Value();
    if (!codes)
      return;
    rhs.codes = codes;
    rhs.zero = {};
  }

  /// Whether the result is [rows, columns], and the codes have no zero points.
  bool suitsBlocks(bool forGpus) {
    bool isOfFew = typeOf(op->getResult(0)).getDimSize(0) <= fewRows;
    auto isFloat = [](Value v) { return getElementTypeOrSelf(v).isF32(); };
    return !rhs.zero && letters.lhs.size() == 2 && letters.result.size() == 2 &&
           letters.isRow(letters.result[0]) && isFloat(op->getOperand(0)) &&
           isFloat(op->getResult(0)) && rhs.block >= leastBlock && blocks > 1 &&
           (isOfFew || (!forGpus && computed.areConstant(rhs.codes)));
  }

  void multiplyByBlocks() {
    int64_t rows = typeOf(op->getResult(0)).getDimSize(0);
    Expr x = expr(op->getOperand(0));
    if (letters.isSummed(letters.lhs[0]))
      x = x.transpose({1, 0});
    x = x.reshape({rows, blocks, rhs.block}).transpose({1, 0, 2});
    Expr codes = stepsFirst(rhs.codes).reshape({blocks, rhs.block, columns});
    Expr sums = expr(MatmulOp::create(builder, op->getLoc(), x, codes, /*transpose_lhs=*/false,
                                      /*transpose_rhs=*/false, /*wide=*/true));
    Value result = (sums * ofBlocks(rhs.scale, sums.type())).sum({0});
    op->getResult(0).replaceAllUsesWith(result);
    op->erase();
  }

  /// Dequantizes block by block, so that kernels repeat scales as they read them. Codes in rows are
  /// read as columns, as products by blocks read them in other buckets.
  void dequantizeBlocks() {
    if (rhs.dim == 1 && !op.readTransposed(1, {1, 0}))
      return;
    auto inBlocks = [&](Type element) {
      return RankedTensorType::get({blocks, rhs.block, columns}, element);
    };
    Type f32 = builder.getF32Type();
    Expr numbers = stepsFirst(rhs.codes).reshape(inBlocks(f32).getShape());
    if (rhs.zero) {
      Type element = getElementTypeOrSelf(rhs.zero);
      numbers = numbers.cast(element) - ofBlocks(rhs.zero, inBlocks(element));
    }
    Expr matrix = numbers.cast(f32) * ofBlocks(rhs.scale, inBlocks(f32));
    op->setOperand(1, matrix.reshape({steps, columns}));
  }

private:
  Expr expr(Value v) { return Expr(builder, op->getLoc(), v); }

  /// Steps of the sum come before columns; `gradc-order-states` stores codes so.
  Expr stepsFirst(Value v) { return rhs.dim == 0 ? expr(v) : expr(v).transpose({1, 0}); }

  /// A number for each block and column, or one for all, repeated to `type`, of which these are the
  /// first and the last dim.
  Expr ofBlocks(Value v, RankedTensorType type) {
    Expr number = expr(v).cast(type.getElementType());
    return number.type().getRank() == 0 ? number.broadcastScalar(type)
                                        : stepsFirst(number).broadcast(type, {0, 2});
  }

  OpBuilder &builder;
  ComputedStates &computed;
  ContractionOpInterface op;
  DequantizedBlocks rhs;
  ContractionLetters letters;
  int64_t steps, columns, blocks;
};

} // namespace

void gradc::multiplyByBlocks(OpBuilder &builder, ComputedStates &computed,
                             ContractionOpInterface op, const DequantizedBlocks &rhs,
                             bool forGpus) {
  BlockProduct product(builder, computed, op, rhs);
  if (!product.hasSums())
    return;
  product.subtractZeros();
  if (product.suitsBlocks(forGpus))
    product.multiplyByBlocks();
  else
    product.dequantizeBlocks();
}
