// Threads exchange values by shuffles inside a warp and through shared memory between warps. The
// order is fixed, so the bits are always the same.
#include "compiler/codegen/cuda/BlockTeam.h"

#include "dialects/grad/HostTensor.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace gradc::cuda;
using namespace gradc::tile;

// Shared memory -----------------------------------------------------------------------------------

static constexpr unsigned sharedSpace = 3;

/// The stored type; a bool takes a byte.
static Type storedType(Type type) {
  Type element = getElementTypeOrSelf(type);
  if (!element.isInteger(1))
    return type;
  Type byte = IntegerType::get(type.getContext(), 8);
  auto vector = dyn_cast<VectorType>(type);
  return vector ? Type(VectorType::get(vector.getShape(), byte)) : byte;
}

static int64_t storedBytes(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return grad::elementBytes(getElementTypeOrSelf(type)) * (vector ? vector.getNumElements() : 1);
}

void SharedMemory::reserve(Type type, int64_t count) {
  bytes = std::max(bytes, count * storedBytes(type));
}

void SharedMemory::declare(Location location) {
  if (bytes == 0)
    return;
  auto builder = OpBuilder::atBlockBegin(module.getBody());
  auto type = LLVM::LLVMArrayType::get(builder.getI8Type(), bytes);
  LLVM::GlobalOp::create(builder, location, type, /*isConstant=*/false, LLVM::Linkage::Internal,
                         name + ".shared", Attribute(), /*alignment=*/16, sharedSpace);
}

Value SharedMemory::address(LoopNest &nest, Type type, Value slot) {
  OpBuilder &b = nest.builder;
  auto pointer = LLVM::LLVMPointerType::get(b.getContext(), sharedSpace);
  Value base = LLVM::AddressOfOp::create(b, nest.location, pointer, name + ".shared");
  return LLVM::GEPOp::create(b, nest.location, pointer, storedType(type), base,
                             ArrayRef<LLVM::GEPArg>{slot}, LLVM::GEPNoWrapFlags::inbounds);
}

void SharedMemory::store(LoopNest &nest, Value value, Value slot) {
  Type type = value.getType();
  Value to = address(nest, type, slot);
  if (storedType(type) != type)
    value = arith::ExtUIOp::create(nest.builder, nest.location, storedType(type), value);
  LLVM::StoreOp::create(nest.builder, nest.location, value, to, storedBytes(type));
}

Value SharedMemory::load(LoopNest &nest, Type type, Value slot) {
  Value from = address(nest, type, slot);
  Value value =
      LLVM::LoadOp::create(nest.builder, nest.location, storedType(type), from, storedBytes(type));
  if (storedType(type) != type)
    value = arith::TruncIOp::create(nest.builder, nest.location, type, value);
  return value;
}

// Teams -------------------------------------------------------------------------------------------

BlockTeam::BlockTeam(LoopNest &nest, exec::BlocksAttr blocks, Value thread, SharedMemory &shared)
    : blocks(blocks), thread(thread), shared(shared) {
  auto divide = [&](int64_t by) {
    Value divisor = nest.constant(by);
    return std::pair(
        arith::DivUIOp::create(nest.builder, nest.location, thread, divisor).getResult(),
        arith::RemUIOp::create(nest.builder, nest.location, thread, divisor).getResult());
  };
  auto [high, low] = divide(blocks.getAdjacent() ? blocks.getTeam() : blocks.getUnits());
  memberExpr = nest.variable(blocks.getAdjacent() ? low : high);
  unitExpr = nest.variable(blocks.getAdjacent() ? high : low, /*uniform=*/true);
}

Value BlockTeam::isFirst(LoopNest &nest) {
  return arith::CmpIOp::create(nest.builder, nest.location, arith::CmpIPredicate::eq,
                               nest.index(memberExpr), nest.constant(0));
}

void BlockTeam::fence(LoopNest &nest) {
  OpBuilder &b = nest.builder;
  if (!isWarp()) {
    NVVM::Barrier0Op::create(b, nest.location);
    return;
  }
  Value all = arith::ConstantIntOp::create(b, nest.location, -1, 32);
  NVVM::SyncWarpOp::create(b, nest.location, all);
}

/// The value of the lane whose number differs in the bits of `distance`.
static Value shuffle(LoopNest &nest, Value value, int64_t distance) {
  OpBuilder &b = nest.builder;
  Location at = nest.location;
  Type type = value.getType();
  if (auto vector = dyn_cast<VectorType>(type)) {
    SmallVector<Value> elements;
    for (int64_t i = 0; i < vector.getNumElements(); ++i)
      elements.push_back(shuffle(nest, vector::ExtractOp::create(b, at, value, i), distance));
    return vector::FromElementsOp::create(b, at, vector, elements);
  }
  auto number = [&](int64_t n) { return arith::ConstantIntOp::create(b, at, n, 32).getResult(); };
  Type word = b.getI32Type();
  unsigned bits = type.getIntOrFloatBitWidth();
  if (type.isF32() || type == word)
    return NVVM::ShflOp::create(b, at, type, number(-1), value, number(distance),
                                number(exec::warpThreads - 1), NVVM::ShflKind::bfly, UnitAttr());
  if (isa<FloatType>(type)) {
    Value integer = arith::BitcastOp::create(b, at, b.getIntegerType(bits), value);
    return arith::BitcastOp::create(b, at, type, shuffle(nest, integer, distance));
  }
  if (bits < 32) {
    Value wide = arith::ExtUIOp::create(b, at, word, value);
    return arith::TruncIOp::create(b, at, type, shuffle(nest, wide, distance));
  }
  Value half = arith::ConstantOp::create(b, at, b.getIntegerAttr(type, 32));
  Value high = arith::TruncIOp::create(b, at, word, arith::ShRUIOp::create(b, at, value, half));
  Value low = arith::TruncIOp::create(b, at, word, value);
  high = arith::ExtUIOp::create(b, at, type, shuffle(nest, high, distance));
  low = arith::ExtUIOp::create(b, at, type, shuffle(nest, low, distance));
  return arith::OrIOp::create(b, at, arith::ShLIOp::create(b, at, high, half), low);
}

SmallVector<Value> BlockTeam::combineWarp(LoopNest &nest, ArrayRef<Value> partials,
                                          Combine combine) {
  SmallVector<Value> values(partials);
  for (int64_t distance = exec::warpThreads / 2; distance >= 1; distance /= 2)
    for (Value &v : values)
      v = combine(v, shuffle(nest, v, distance));
  return values;
}

/// Writes each value to slot `slot` if `writes` holds (null: always). Then each member reads
/// `parts` slots, starting at `first`, with `apart` slots from one to the next.
SmallVector<Value> BlockTeam::exchange(LoopNest &nest, ArrayRef<Value> partials, int64_t parts,
                                       int64_t apart, Value slot, Value first, Value writes,
                                       Combine combine) {
  OpBuilder &b = nest.builder;
  int64_t stretch = parts * apart;
  shared.reserve(partials[0].getType(), stretch * partials.size());
  auto at = [&](Value base, int64_t value) -> Value {
    return arith::AddIOp::create(b, nest.location, base, nest.constant(value * stretch));
  };
  auto write = [&] {
    for (auto [i, v] : llvm::enumerate(partials))
      shared.store(nest, v, at(slot, i));
  };
  if (writes)
    nest.when(writes, write);
  else
    write();
  NVVM::Barrier0Op::create(b, nest.location);
  // Halves a large number of parts: the upper half is added to the lower half until few are left.
  for (; !writes && parts > exec::warpThreads && parts % 2 == 0; parts /= 2) {
    Value isLower = arith::CmpIOp::create(b, nest.location, arith::CmpIPredicate::ult, slot,
                                          nest.constant(parts / 2 * apart));
    nest.when(isLower, [&] {
      Value upper = arith::AddIOp::create(b, nest.location, slot, nest.constant(parts / 2 * apart));
      for (auto [i, v] : llvm::enumerate(partials)) {
        Value mine = shared.load(nest, v.getType(), at(slot, i));
        shared.store(nest, combine(mine, shared.load(nest, v.getType(), at(upper, i))),
                     at(slot, i));
      }
    });
    NVVM::Barrier0Op::create(b, nest.location);
  }
  SmallVector<Value> values;
  for (auto [i, v] : llvm::enumerate(partials))
    values.push_back(shared.load(nest, v.getType(), at(first, i)));
  values = nest.loop(1, parts, /*unroll=*/false, values, [&](LinearExpr k, ValueRange carried) {
    Value from = arith::AddIOp::create(b, nest.location, first, nest.index(k * apart));
    SmallVector<Value> next;
    for (auto [i, v] : llvm::enumerate(carried))
      next.push_back(combine(v, shared.load(nest, v.getType(), at(from, i))));
    return next;
  });
  NVVM::Barrier0Op::create(b, nest.location); // the next exchange writes to the same slots
  return values;
}

SmallVector<Value> BlockTeam::combine(LoopNest &nest, ArrayRef<Value> partials, Combine combine) {
  OpBuilder &b = nest.builder;
  if (!blocks.getAdjacent())
    return exchange(nest, partials, size(), blocks.getUnits(), thread, nest.index(unitExpr), {},
                    combine);
  SmallVector<Value> values = combineWarp(nest, partials, combine);
  if (isWarp())
    return values;
  Value width = nest.constant(exec::warpThreads);
  Value warp = arith::DivUIOp::create(b, nest.location, thread, width);
  Value lane = arith::RemUIOp::create(b, nest.location, thread, width);
  Value leads =
      arith::CmpIOp::create(b, nest.location, arith::CmpIPredicate::eq, lane, nest.constant(0));
  return exchange(nest, values, size() / exec::warpThreads, 1, warp, nest.constant(0), leads,
                  combine);
}
