// One instruction per word, or multiply-adds of its parts.
#include "compiler/codegen/tile/DotFactors.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace gradc::tile;

static constexpr int64_t wordLanes = 16; // of the instructions, which are of 512 bits
static constexpr StringLiteral floatDot = "llvm.x86.avx512bf16.dpbf16ps.512";
static constexpr StringLiteral integerDot = "llvm.x86.avx512.vpdpbusd.512";

int64_t gradc::tile::stepsOf(DotKind kind) {
  return kind == DotKind::floats ? 2 : kind == DotKind::integers ? 4 : 8;
}

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
  auto number = column.getDefiningOp<arith::SIToFPOp>();
  if (product->getResult(0).getType().isF32() && row == body->getArgument(0) && number &&
      number.getIn() == body->getArgument(1) && number.getIn().getType().isInteger(8))
    return DotKind::codes;
  return std::nullopt;
}

bool gradc::tile::hasDots(const LoopNest &nest, DotKind kind) {
  return kind == DotKind::floats || nest.lanes == wordLanes || nest.lanes == wordLanes / 2;
}

static bool hasInstruction(const LoopNest &nest, DotKind kind) {
  bool has = kind == DotKind::floats ? nest.level.bf16Dots : nest.level.int8Dots;
  return has && kind != DotKind::codes && nest.lanes == wordLanes;
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

// A table of the 16 numbers, which an instruction looks up by the lowest bits of each lane; without
// it, shifts that extend the sign, and a conversion.
Value gradc::tile::floatOfCode(LoopNest &nest, Value words, int64_t i) {
  constexpr int64_t bits = 4, last = 32 - bits, numbers = 1 << bits;
  OpBuilder &b = nest.builder;
  Location at = nest.location;
  auto floats = nest.vectorOf(b.getF32Type());
  auto shift = [&](int64_t by) { return nest.splat(arith::ConstantIntOp::create(b, at, by, 32)); };
  if (nest.lanes == numbers) {
    SmallVector<float> table;
    for (int64_t code = 0; code < numbers; ++code)
      table.push_back(float(code < numbers / 2 ? code : code - numbers));
    Value lookup =
        arith::ConstantOp::create(b, at, DenseElementsAttr::get(floats, ArrayRef(table)));
    if (i > 0)
      words = arith::ShRUIOp::create(b, at, words, shift(i * bits));
    return LLVM::CallIntrinsicOp::create(b, at, floats,
                                         b.getStringAttr("llvm.x86.avx512.permvar.sf.512"),
                                         ValueRange{lookup, words})
        .getResults();
  }
  if (i < last / bits)
    words = arith::ShLIOp::create(b, at, words, shift(last - i * bits));
  return arith::SIToFPOp::create(b, at, floats, arith::ShRSIOp::create(b, at, words, shift(last)));
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
