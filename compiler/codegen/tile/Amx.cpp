// Emits AMX's instructions.
#include "compiler/codegen/tile/Amx.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace gradc::tile;

static constexpr int64_t tileBytes = Amx::rows * Amx::rowBytes;

Amx::Amx(LoopNest &nest, ModuleOp module) : nest(nest), module(module) {
  assert(nest.level.amxRows == rows * int64_t(together) && "the level's tile is two blocks");
  OpBuilder &b = nest.builder;
  auto pointer = LLVM::LLVMPointerType::get(b.getContext());
  memory = LLVM::AllocaOp::create(b, nest.location, pointer, b.getI8Type(),
                                  nest.constant(registers * tileBytes), /*alignment=*/rowBytes);
  configure(rows, rows);
}

void Amx::emit(const Twine &name, ValueRange operands) {
  auto symbol = nest.builder.getStringAttr("llvm.x86." + name);
  LLVM::CallIntrinsicOp::create(nest.builder, nest.location, symbol, operands);
}

Value Amx::number(int64_t tile) {
  return arith::ConstantIntOp::create(nest.builder, nest.location, tile, 8);
}

void Amx::configure(int64_t first, int64_t second) {
  std::string name = llvm::formatv("amx.{0}.{1}", first, second);
  if (!module.lookupSymbol(name)) {
    std::array<char, 64> bytes{1}; // the palette
    for (int64_t tile = 0; tile < registers; ++tile) {
      bool isFirst = tile < int64_t(together) || tile == lhs, isRhs = tile >= rhs;
      bytes[size_t(16 + 2 * tile)] = char(rowBytes);
      bytes[size_t(48 + tile)] = char(isRhs ? rows : isFirst ? first : second);
    }
    OpBuilder atModule = OpBuilder::atBlockBegin(module.getBody());
    auto type = LLVM::LLVMArrayType::get(atModule.getI8Type(), bytes.size());
    LLVM::GlobalOp::create(atModule, nest.location, type, /*isConstant=*/true,
                           LLVM::Linkage::Internal, name,
                           atModule.getStringAttr(StringRef(bytes.data(), bytes.size())),
                           /*alignment=*/rowBytes);
  }
  auto pointer = LLVM::LLVMPointerType::get(nest.builder.getContext());
  Value shapes = LLVM::AddressOfOp::create(nest.builder, nest.location, pointer, name);
  emit("ldtilecfg", shapes);
}

Value Amx::address(int64_t tile, const LinearExpr &row) {
  auto pointer = LLVM::LLVMPointerType::get(nest.builder.getContext());
  LinearExpr offset = LinearExpr(tile * tileBytes) + row * rowBytes;
  LLVM::GEPArg index = offset.isConstant() ? LLVM::GEPArg(int32_t(offset.constant))
                                           : LLVM::GEPArg(nest.index(offset));
  return LLVM::GEPOp::create(nest.builder, nest.location, pointer, nest.builder.getI8Type(), memory,
                             index);
}

void Amx::storeRows(int64_t tile, Value from, Value to,
                    llvm::function_ref<Value(const LinearExpr &)> row) {
  nest.loop(from, to, {}, [&](LinearExpr i, ValueRange) {
    LLVM::StoreOp::create(nest.builder, nest.location, row(i), address(tile, i),
                          unsigned(rowBytes));
    return SmallVector<Value>();
  });
}

void Amx::loadRest(int64_t tile, const Memory &from, const LinearExpr &at, Value rest,
                   int64_t count, int64_t stride) {
  if (tile < rhs)
    copyRows(tile, from, at, rest, count, stride);
  else
    copyPairs(tile, from, at, rest, stride);
  load(tile, address(tile, 0), rowBytes);
}

void Amx::copyRows(int64_t tile, const Memory &from, const LinearExpr &at, Value rest,
                   int64_t count, int64_t stride) {
  OpBuilder &b = nest.builder;
  Location loc = nest.location;
  auto numbers = VectorType::get({steps}, b.getI64Type());
  auto type = VectorType::get({steps}, b.getI16Type());
  Value zeros = arith::ConstantOp::create(b, loc, b.getZeroAttr(Type(type)));
  auto all = llvm::to_vector(llvm::seq<int64_t>(0, steps));
  Value mask = arith::CmpIOp::create(
      b, loc, arith::CmpIPredicate::slt,
      arith::ConstantOp::create(b, loc, DenseElementsAttr::get(numbers, ArrayRef(all))),
      vector::BroadcastOp::create(b, loc, numbers, rest));
  storeRows(tile, nest.constant(0), nest.constant(count), [&](const LinearExpr &i) {
    return LLVM::MaskedLoadOp::create(b, loc, type, from.address(nest, at + i * stride), mask,
                                      zeros, /*alignment=*/2);
  });
}

/// The last pair of an odd number of steps has only its first element.
void Amx::copyPairs(int64_t tile, const Memory &from, const LinearExpr &at, Value rest,
                    int64_t stride) {
  OpBuilder &b = nest.builder;
  Location loc = nest.location;
  auto type = VectorType::get({lanes}, b.getI32Type());
  Value zeros = arith::ConstantOp::create(b, loc, b.getZeroAttr(Type(type)));
  Value one = nest.constant(1), two = nest.constant(2);
  Value pairs = arith::DivUIOp::create(b, loc, arith::AddIOp::create(b, loc, rest, one), two);
  storeRows(tile, nest.constant(0), pairs, [&](const LinearExpr &i) -> Value {
    Value hasBoth = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt,
                                          nest.index(i * 2 + LinearExpr(1)), rest);
    Value kept =
        arith::SelectOp::create(b, loc, hasBoth, arith::ConstantIntOp::create(b, loc, -1, 32),
                                arith::ConstantIntOp::create(b, loc, 0xffff, 32));
    Value both = LLVM::LoadOp::create(b, loc, type, from.address(nest, at + i * stride), 2);
    return arith::AndIOp::create(b, loc, both, nest.splat(kept));
  });
  storeRows(tile, pairs, nest.constant(rows), [&](const LinearExpr &) { return zeros; });
}
