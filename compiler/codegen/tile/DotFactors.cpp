// One instruction per word, or multiply-adds of its halves.
#include "compiler/codegen/tile/DotFactors.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace gradc::tile;

static constexpr int64_t wordLanes = 16; // of the instructions, which are of 512 bits
static constexpr StringLiteral floatDot = "llvm.x86.avx512bf16.dpbf16ps.512";
static constexpr StringLiteral integerDot = "llvm.x86.avx512.vpdpbusd.512";

int64_t gradc::tile::stepsOf(DotKind kind) { return kind == DotKind::floats ? 2 : 4; }

/// Whether `wide` is argument `i` in the accumulator's type.
template <typename Extension> static bool isWidened(Block *body, Value wide, unsigned i) {
  auto extension = wide.getDefiningOp<Extension>();
  return extension && extension.getIn() == body->getArgument(i);
}

std::optional<DotKind> gradc::tile::dotKind(linalg::GenericOp op) {
  if (op.getNumReductionLoops() == 0 || op.getNumDpsInputs() != 2 || op.getNumResults() != 1)
    return std::nullopt;
  Block *body = op.getBody();
  Operation *sum = body->getTerminator()->getOperand(0).getDefiningOp();
  bool sums =
      sum && isa<arith::AddFOp, arith::AddIOp>(sum) && sum->getOperand(0) == body->getArgument(2);
  Operation *product = sums ? sum->getOperand(1).getDefiningOp() : nullptr;
  if (!product || !isa<arith::MulFOp, arith::MulIOp>(product))
    return std::nullopt;
  Value row = product->getOperand(0), column = product->getOperand(1);
  auto elementsAre = [&](auto isNarrow) {
    return isNarrow(body->getArgument(0).getType()) && isNarrow(body->getArgument(1).getType());
  };
  if (product->getResult(0).getType().isF32() && isWidened<arith::ExtFOp>(body, row, 0) &&
      isWidened<arith::ExtFOp>(body, column, 1) && elementsAre([](Type t) { return t.isBF16(); }))
    return DotKind::floats;
  if (product->getResult(0).getType().isInteger(32) && isWidened<arith::ExtUIOp>(body, row, 0) &&
      isWidened<arith::ExtSIOp>(body, column, 1) &&
      elementsAre([](Type t) { return t.isInteger(8); }))
    return DotKind::integers;
  return std::nullopt;
}

bool gradc::tile::hasDots(const LoopNest &nest, DotKind kind) {
  return kind == DotKind::floats || nest.lanes == wordLanes || nest.lanes == wordLanes / 2;
}

static bool hasInstruction(const LoopNest &nest, DotKind kind) {
  bool has = kind == DotKind::floats ? nest.level.bf16Dots : nest.level.int8Dots;
  return has && nest.lanes == wordLanes;
}

DotFactor::DotFactor(LoopNest &nest, Value value, DotKind kind, bool isLhs) {
  OpBuilder &b = nest.builder;
  Location at = nest.location;
  if (hasInstruction(nest, kind)) {
    Type element = kind == DotKind::floats ? Type(b.getBF16Type()) : b.getI8Type();
    words = LLVM::BitcastOp::create(b, at, VectorType::get({wordLanes * stepsOf(kind)}, element),
                                    value);
    return;
  }
  auto splat = [&](int64_t bits) {
    return nest.splat(arith::ConstantIntOp::create(b, at, bits, 32));
  };
  if (kind == DotKind::floats) {
    auto floats = nest.vectorOf(b.getF32Type());
    Value low = arith::ShLIOp::create(b, at, value, splat(16));
    Value high = arith::AndIOp::create(b, at, value, splat(int32_t(0xffff0000)));
    first = arith::BitcastOp::create(b, at, floats, low);
    second = arith::BitcastOp::create(b, at, floats, high);
    return;
  }
  // The even bytes and the odd ones, in 16 bits each.
  auto halves = VectorType::get({2 * nest.lanes}, b.getI16Type());
  Value all = LLVM::BitcastOp::create(b, at, halves, value);
  Value eight =
      arith::ConstantOp::create(b, at, DenseElementsAttr::get(halves, b.getI16IntegerAttr(8)));
  Value up = arith::ShLIOp::create(b, at, all, eight);
  if (isLhs) {
    first = arith::ShRUIOp::create(b, at, up, eight);
    second = arith::ShRUIOp::create(b, at, all, eight);
  } else {
    first = arith::ShRSIOp::create(b, at, up, eight);
    second = arith::ShRSIOp::create(b, at, all, eight);
  }
}

/// acc + the sums of the products of two neighbours, of 16 bits each.
static Value addPairs(LoopNest &nest, Value acc, Value a, Value b) {
  StringRef name =
      nest.lanes == wordLanes ? "llvm.x86.avx512.pmaddw.d.512" : "llvm.x86.avx2.pmadd.wd";
  Value sums = LLVM::CallIntrinsicOp::create(nest.builder, nest.location, acc.getType(),
                                             nest.builder.getStringAttr(name), ValueRange{a, b})
                   .getResults();
  return arith::AddIOp::create(nest.builder, nest.location, acc, sums);
}

Value gradc::tile::dot(LoopNest &nest, DotKind kind, Value acc, const DotFactor &row,
                       const DotFactor &column) {
  OpBuilder &b = nest.builder;
  Location at = nest.location;
  if (hasInstruction(nest, kind)) {
    StringRef name = kind == DotKind::floats ? floatDot : integerDot;
    return LLVM::CallIntrinsicOp::create(b, at, acc.getType(), b.getStringAttr(name),
                                         ValueRange{acc, row.words, column.words})
        .getResults();
  }
  if (kind == DotKind::integers)
    return addPairs(nest, addPairs(nest, acc, row.first, column.first), row.second, column.second);
  // The same order as the instruction.
  acc = math::FmaOp::create(b, at, row.second, column.second, acc);
  return math::FmaOp::create(b, at, row.first, column.first, acc);
}
