// Weights of ONNX Runtime with codes of 2, 4 or 8 bits, and a scale for each block along their
// rows.
#include "dialects/Pch.h"

#include "compiler/import/onnx/model/Narrow.h"
#include "compiler/import/onnx/ops/Indices.h"
#include "compiler/import/onnx/ops/quantization/CodedFactor.h"
#include "compiler/import/onnx/ops/quantization/Quantization.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

static FailureOr<Coding> readCoding(Node &n, int64_t block) {
  Coding coding{n.integer("bits", 4), n.integer("block_size", block)};
  if (failed(expectBits(n, coding.bits)) || failed(expectBlock(n, coding.block)))
    return failure();
  return coding;
}

/// A B' + bias, for B of N rows of K codes. ONNX Runtime may quantize A as well if accuracy_level
/// permits it.
static LogicalResult importMatMulNBits(Node &n) {
  n.ignore("accuracy_level");
  constexpr unsigned scaleOperand = 2, zeroOperand = 3, order = 4, biasOperand = 5;
  FailureOr<Coding> coding = readCoding(n, 0);
  if (failed(coding))
    return failure();
  FailureOr<CodedFactor> factor = readFactor(n);
  if (failed(factor))
    return failure();
  auto [columns, steps] = *factor;
  if (n.operand(order))
    return n.error() << "cannot take g_idx, found " << n.describeOperand(order);
  if (n.integer("weight_prepacked", 0))
    return n.error() << "cannot take weights in another order than ONNX's";
  SmallVector<int64_t> blocks{columns, coding->blocks(steps)};
  if (failed(n.expectSameElement(0, scaleOperand)))
    return failure();
  FailureOr<Expr> codes = unpack(n, 1, *coding, {columns, steps}, blocks.back() * coding->block);
  FailureOr<Expr> scales = perBlock(n, scaleOperand, blocks);
  FailureOr<std::optional<Expr>> zeros = zeroPoints(n, zeroOperand, *coding, blocks);
  if (failed(codes) || failed(scales) || failed(zeros))
    return failure();
  Expr y = multiplyByRows(n, dequantize(*codes, *scales, *zeros, coding->block));
  if (!n.operand(biasOperand))
    return n.set(y);
  if (n.rank(biasOperand) != 1 || n.shape(biasOperand)[0] != columns)
    return n.error() << "expected a bias of " << columns << " elements, found "
                     << n.describeOperand(biasOperand);
  if (failed(n.expectSameElement(0, biasOperand)))
    return failure();
  return n.set(y + n.expr(n.broadcast(n.operand(biasOperand), y.shape())));
}

/// The coding of a table: bytes that hold several codes each, or integers of `bits` bits.
static FailureOr<Coding> readTableCoding(Node &n) {
  constexpr int64_t ordinaryBlock = 128;
  FailureOr<Coding> coding = readCoding(n, ordinaryBlock);
  if (failed(coding) || !n.narrow(0))
    return coding;
  coding->narrow = n.narrow(0);
  if (coding->narrow->family != NarrowType::integer || coding->narrow->bits != coding->bits)
    return n.error() << "expected bytes, or integers of " << coding->bits << " bits, found "
                     << n.describeOperand(0);
  return coding;
}

/// Rows of a table, found before they are dequantized.
static LogicalResult importGatherBlockQuantized(Node &n) {
  constexpr unsigned scaleOperand = 2, zeroOperand = 3;
  FailureOr<Coding> coding = readTableCoding(n);
  FailureOr<int64_t> axis = n.axis(n.integer("gather_axis", 0), n.rank(0));
  FailureOr<int64_t> blocked = n.axis(n.integer("quantize_axis", 1), n.rank(0));
  if (failed(coding) || failed(axis) || failed(blocked) || failed(n.expect(1, Kind::Int)))
    return failure();
  if (n.narrow(1))
    return n.error() << "expected indices of 32 or 64 bits, found " << n.describeOperand(1);
  int64_t last = n.rank(0) - 1;
  if (*axis != 0 || *blocked != last || last < 1)
    return n.error() << "expected a table whose dim 0 is indexed and whose last dim has blocks, "
                        "found gather_axis "
                     << *axis << ", quantize_axis " << *blocked << " and " << n.describeOperand(0);
  FailureOr<Value> indices = expectIndices(n, n.operand(1), 0);
  if (failed(indices))
    return failure();
  SmallVector<int64_t> shape(n.shape(0));
  if (!coding->narrow)
    shape.back() = shape.back() * 8 / coding->bits;
  SmallVector<int64_t> perBlocks(shape), result(n.shape(1));
  perBlocks.back() = coding->blocks(shape.back());
  llvm::append_range(result, ArrayRef(shape).drop_front());
  if (failed(n.expectSensible(shape)) || failed(n.expectSensible(result)))
    return failure();
  FailureOr<Expr> codes = unpack(n, 0, *coding, shape, shape.back());
  FailureOr<Expr> scales = perBlock(n, scaleOperand, perBlocks);
  FailureOr<std::optional<Expr>> zeros = zeroPoints(n, zeroOperand, *coding, perBlocks);
  if (failed(codes) || failed(scales) || failed(zeros))
    return failure();
  SmallVector<int64_t> dims{-1};
  for (int64_t d = 1; d <= last; ++d)
    dims.push_back(d + n.rank(1) - 1);
  auto rowsOf = [&](Expr table) {
    return table.with(
        n.builder().createOrFold<GatherOp>(n.loc(), table, *indices, dims, allDims(n.rank(1))));
  };
  std::optional<Expr> found;
  if (*zeros)
    found = rowsOf(**zeros);
  Expr rows = dequantize(rowsOf(*codes), rowsOf(*scales), found, coding->block);
  return n.set(rows.cast(n.element(scaleOperand)));
}

void gradc::addQuantizedBlocksOps(OpTable &ops) {
  ops["com.microsoft::MatMulNBits"] = {importMatMulNBits, 3, 6};
  ops["com.microsoft::GatherBlockQuantized"] = {importGatherBlockQuantized, 3, 4};
  takeNarrow(ops, TakesNarrow::itself, {"com.microsoft::GatherBlockQuantized"});
}
