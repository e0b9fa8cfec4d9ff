// Selects scalar, contiguous, masked, reversed, transposed, or lane-by-lane accesses.
#include "compiler/codegen/tile/Memory.h"

#include "dialects/grad/HostTensor.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

#include <numeric>

using namespace mlir;
using namespace gradc::tile;

/// The block of size `width` that contains a coordinate, and the offset inside it; nullopt if the
/// lanes leave the block.
static std::optional<std::pair<LinearExpr, LinearExpr>> split(LoopNest &nest, const LinearExpr &e,
                                                              int64_t width, int64_t valid) {
  int64_t aligned = std::gcd(e.stride(), width); // equals width if e is constant
  int64_t start = ((e.constant % aligned) + aligned) % aligned;
  if (e.lane != 0 && (e.lane != 1 || start + valid > aligned))
    return std::nullopt;
  LinearExpr scalar = e.inLane(0), quotient, remainder;
  if (aligned == width) {
    remainder = LinearExpr(start);
    quotient = LinearExpr((e.constant - start) / width);
    for (auto [id, coefficient] : e.terms)
      quotient += LinearExpr::variable(id, coefficient / width);
  } else {
    std::tie(quotient, remainder) = nest.divide(scalar, width);
  }
  remainder.lane = e.lane;
  return std::pair(quotient, remainder);
}

std::optional<LinearExpr> Memory::offset(LoopNest &nest, const Point &point) const {
  Point p = point;
  for (auto [coordinate, begin] : llvm::zip(p.coordinates, origin))
    coordinate += begin * -1;
  ArrayRef<int64_t> shape = type.getShape();
  int64_t panelDim = panel ? panel.getDim() : -1, wordDim = panel ? panel.getInterleaved() : -1;
  int64_t together = panel ? panel.getTogether() : 1,
          stride = panel ? panel.getWidth() * together : 1;
  LinearExpr sum;
  for (int64_t d = type.getRank() - 1; d >= 0; --d) {
    if (d == wordDim) {
      auto place = split(nest, p.coordinates[d], together, p.valid);
      if (!place)
        return std::nullopt;
      sum += place->first * stride + place->second;
      stride *= llvm::divideCeil(shape[d], together);
    } else if (d != panelDim) {
      sum += p.coordinates[d] * stride;
      stride *= shape[d];
    }
  }
  if (!panel)
    return sum;
  auto place = split(nest, p.coordinates[panelDim], panel.getWidth(), p.valid);
  if (!place)
    return std::nullopt;
  return sum + place->first * stride + place->second * together;
}

Value Memory::loadBits(LoopNest &nest, const Point &p, unsigned count) const {
  int64_t bytes = grad::elementBytes(type.getElementType());
  return loadAs(nest, nest.builder.getIntegerType(unsigned(8 * bytes * count)),
                address(nest, *offset(nest, p)), bytes);
}

bool Memory::isStrided(LoopNest &nest, const Point &p) const {
  if (!p.hasLanes())
    return false;
  std::optional<LinearExpr> at = offset(nest, p);
  return !at || at->lane != 1;
}

Value Memory::load(LoopNest &nest, const Point &p) const {
  if (isOfNibbles())
    return loadNibbles(nest, p);
  std::optional<LinearExpr> at = offset(nest, p);
  if (!p.hasLanes())
    return fromStorage(nest, loadAs(nest, storageType(), address(nest, *at),
                                    grad::elementBytes(type.getElementType())));
  if (at && at->lane == 1)
    return loadVector(nest, *at, p.valid);
  if (at && at->lane == -1 && p.valid == nest.lanes) {
    LinearExpr first = at->inLane(nest.lanes - 1);
    first.lane = 1;
    Value reversed = loadVector(nest, first, nest.lanes);
    auto order = llvm::to_vector(llvm::reverse(llvm::seq<int64_t>(0, nest.lanes)));
    return vector::ShuffleOp::create(nest.builder, nest.location, reversed, reversed, order);
  }
  return loadLanes(nest, p);
}

Value Memory::loadLanes(LoopNest &nest, const Point &p) const {
  SmallVector<Value> elements;
  for (int64_t l = 0; l < nest.lanes; ++l)
    elements.push_back(load(nest, p.inLane(std::min(l, p.valid - 1))));
  return vector::FromElementsOp::create(nest.builder, nest.location,
                                        nest.vectorOf(type.getElementType()), elements);
}

// A shift to the left takes the words' other elements away, one to the right extends the sign.
Value Memory::loadNibbles(LoopNest &nest, const Point &p) const {
  constexpr int64_t bits = 4, last = 32 - bits;
  int64_t dim = panel.getInterleaved();
  auto place = split(nest, p.coordinates[dim], panel.getTogether(), p.valid);
  Point first = p;
  if (place)
    first.coordinates[dim] = place->first * panel.getTogether();
  bool isOneStep = place && place->second.lane == 0;
  if (p.hasLanes() && !(isOneStep && wordsOffset(nest, first)))
    return loadLanes(nest, p);
  OpBuilder &b = nest.builder;
  Location location = nest.location;
  Value word = p.hasLanes() ? loadWords(nest, first)
                            : loadAs(nest, b.getI32Type(), address(nest, *offset(nest, first)), 4);
  Value step = arith::TruncIOp::create(b, location, b.getI32Type(), nest.index(place->second));
  auto number = [&](int64_t n) { return arith::ConstantIntOp::create(b, location, n, 32); };
  Value left = arith::SubIOp::create(b, location, number(last),
                                     arith::MulIOp::create(b, location, step, number(bits)));
  Value right = number(last);
  Type element = type.getElementType();
  if (p.hasLanes()) {
    left = nest.splat(left);
    right = nest.splat(right);
    element = nest.vectorOf(element);
  }
  Value highest = arith::ShLIOp::create(b, location, word, left);
  return arith::TruncIOp::create(b, location, element,
                                 arith::ShRSIOp::create(b, location, highest, right));
}

bool Memory::isAdjacent(LoopNest &nest, const Point &p) const {
  return !panel && offset(nest, p)->lane == 1;
}

Value Memory::loadWhere(LoopNest &nest, const Point &p, Value mask, Value otherwise) const {
  assert(isAdjacent(nest, p));
  OpBuilder &b = nest.builder;
  Value from = address(nest, offset(nest, p)->inLane(0));
  int64_t bytes = grad::elementBytes(type.getElementType());
  return fromStorage(
      nest, LLVM::MaskedLoadOp::create(b, nest.location, nest.vectorOf(storageType()), from, mask,
                                       toStorage(nest, otherwise), b.getI32IntegerAttr(bytes)));
}

void Memory::store(LoopNest &nest, const Point &p, Value value) const {
  assert(!isOfNibbles() && "threads would write the same byte");
  std::optional<LinearExpr> at = offset(nest, p);
  if (!p.hasLanes()) {
    LLVM::StoreOp::create(nest.builder, nest.location, toStorage(nest, value), address(nest, *at),
                          grad::elementBytes(type.getElementType()));
    return;
  }
  value = nest.splat(value);
  if (at && at->lane == 1)
    return storeVector(nest, *at, p.valid, value);
  for (int64_t l = 0; l < p.valid; ++l)
    store(nest, p.inLane(l), vector::ExtractOp::create(nest.builder, nest.location, value, l));
}

std::optional<LinearExpr> Memory::line(LoopNest &nest, const Point &p) const {
  std::optional<LinearExpr> at = offset(nest, p);
  int64_t adjacent = isOfNibbles() ? panel.getTogether() : 1;
  if (!at || (p.hasLanes() && at->lane != adjacent) ||
      exec::layoutBytes(type, panel) < nest.level.cachedBytes())
    return std::nullopt;
  at->lane = 0;
  int64_t elements = elementsPerLine(nest);
  at->constant = llvm::divideFloorSigned(at->constant, elements) * elements;
  return at;
}

int64_t Memory::elementsPerLine(const LoopNest &nest) const {
  int64_t elements = nest.level.lineBytes / elementBytes();
  return isOfNibbles() ? 2 * elements : elements;
}

void Memory::prefetch(LoopNest &nest, const LinearExpr &line, Cache cache) const {
  LLVM::Prefetch::create(nest.builder, nest.location, address(nest, line), /*rw=*/0,
                         /*hint=*/cache == Cache::first ? 3 : 2, /*cache=*/1);
}

int64_t Memory::panelElements() const {
  return panel ? type.getNumElements() / type.getDimSize(panel.getDim()) * panel.getWidth() : 0;
}

std::optional<SmallVector<LinearExpr>> Memory::transposable(LoopNest &nest,
                                                            ArrayRef<Point> points) const {
  if (int64_t(points.size()) != nest.lanes || !points[0].hasLanes() || isOfNibbles())
    return std::nullopt;
  SmallVector<LinearExpr> offsets;
  for (int64_t l = 0; l < points[0].valid; ++l)
    offsets.push_back(*offset(nest, points[0].inLane(l)));
  for (auto [i, p] : llvm::enumerate(points)) {
    if (p.valid != points[0].valid)
      return std::nullopt;
    for (auto [l, first] : llvm::enumerate(offsets))
      if (!(*offset(nest, p.inLane(l)) == first + LinearExpr(i)))
        return std::nullopt;
  }
  return offsets;
}

// Takes log2(n) rounds of two-vector shuffles.
SmallVector<Value> gradc::tile::transposeRegisters(LoopNest &nest, SmallVector<Value> rows) {
  int64_t n = rows.size();
  for (int64_t half = n / 2; half >= 1; half /= 2) {
    SmallVector<int64_t> low, high;
    for (int64_t l = 0; l < n; ++l) {
      bool second = l & half;
      low.push_back(second ? n + (l - half) : l);
      high.push_back(second ? n + l : l + half);
    }
    SmallVector<Value> next(n);
    for (int64_t r = 0; r < n; ++r)
      if (!(r & half)) {
        next[r] =
            vector::ShuffleOp::create(nest.builder, nest.location, rows[r], rows[r + half], low);
        next[r + half] =
            vector::ShuffleOp::create(nest.builder, nest.location, rows[r], rows[r + half], high);
      }
    rows = next;
  }
  return rows;
}

Memory gradc::tile::constantMemory(LoopNest &nest, ModuleOp module, const grad::HostTensor &value) {
  OpBuilder atModule = OpBuilder::atBlockBegin(module.getBody());
  auto type = LLVM::LLVMArrayType::get(atModule.getI8Type(), value.bytes().size());
  auto global = LLVM::GlobalOp::create(
      atModule, nest.location, type, /*isConstant=*/true, LLVM::Linkage::Internal,
      ("constant." + Twine(llvm::range_size(*module.getBody()))).str(),
      atModule.getStringAttr(StringRef(value.bytes().data(), value.bytes().size())),
      /*alignment=*/64);
  Value address = LLVM::AddressOfOp::create(nest.builder, nest.location, global);
  return {address, value.getType(), /*panel=*/{}};
}

std::optional<SmallVector<Value>> Memory::loadTransposed(LoopNest &nest,
                                                         ArrayRef<Point> points) const {
  auto offsets = transposable(nest, points);
  if (!offsets)
    return std::nullopt;
  SmallVector<Value> rows;
  for (LinearExpr at : *offsets) {
    at.lane = 1;
    rows.push_back(loadVector(nest, at, nest.lanes));
  }
  rows.resize(nest.lanes, rows.back());
  return transposeRegisters(nest, rows);
}

bool Memory::storeTransposed(LoopNest &nest, ArrayRef<Point> points, ValueRange values) const {
  auto offsets = transposable(nest, points);
  if (!offsets)
    return false;
  SmallVector<Value> rows;
  for (Value v : values)
    rows.push_back(nest.splat(v));
  rows = transposeRegisters(nest, rows);
  for (auto [l, at] : llvm::enumerate(*offsets)) {
    at.lane = 1;
    storeVector(nest, at, nest.lanes, rows[l]);
  }
  return true;
}

Type Memory::storageType() const {
  Type element = type.getElementType();
  if (element.isInteger(1))
    return IntegerType::get(element.getContext(), 8);
  return element;
}

LinearExpr Memory::inStorage(const LinearExpr &offset) const {
  if (!isOfNibbles())
    return offset;
  assert(offset.stride() % 2 == 0 && offset.constant % 2 == 0 && "a byte has two nibbles");
  LinearExpr bytes(offset.constant / 2);
  for (auto [id, coefficient] : offset.terms)
    bytes += LinearExpr::variable(id, coefficient / 2);
  return bytes;
}

// Computes the address in two steps, so that addresses of one tile differ only by constants.
Value Memory::address(LoopNest &nest, const LinearExpr &offset) const {
  LinearExpr at = inStorage(offset);
  Value result = base;
  unsigned depth = nest.depthOf(at);
  if (LinearExpr varying = at.variables(); !varying.terms.empty()) {
    LLVM::GEPArg index = nest.index(varying);
    nest.atDepth(depth, [&] {
      result = LLVM::GEPOp::create(nest.builder, nest.location, base.getType(), storageType(), base,
                                   ArrayRef<LLVM::GEPArg>{index}, LLVM::GEPNoWrapFlags::inbounds);
    });
  }
  if (at.constant != 0)
    nest.atDepth(depth, [&] { result = nest.addressBehind(result, storageType(), at.constant); });
  return result;
}

Value Memory::liesApartFrom(LoopNest &nest, const Memory &other) const {
  return LLVM::ICmpOp::create(nest.builder, nest.location, LLVM::ICmpPredicate::ne, base,
                              other.base);
}

int64_t Memory::alignmentOf(const LinearExpr &offset) const {
  LinearExpr at = inStorage(offset);
  constexpr int64_t widest = 16; // no target gains from more
  int64_t element = grad::elementBytes(type.getElementType());
  int64_t elements = std::gcd(std::gcd(at.stride(), at.constant), widest / element);
  return element * elements;
}

/// Whether the first `valid` lanes are a shorter vector that a CPU loads and stores without a mask.
static bool isOnePiece(const LoopNest &nest, int64_t valid) {
  return !nest.level.isCuda() && llvm::has_single_bit(uint64_t(valid));
}

Value Memory::loadVector(LoopNest &nest, const LinearExpr &at, int64_t valid) const {
  OpBuilder &b = nest.builder;
  int64_t bytes = alignmentOf(at);
  auto vector = nest.vectorOf(storageType());
  LinearExpr first = at.inLane(0);
  Value from = address(nest, first);
  if (valid == nest.lanes)
    return fromStorage(nest, loadAs(nest, vector, from, bytes));
  Value zero = arith::ConstantOp::create(b, nest.location, b.getZeroAttr(vector));
  if (isOnePiece(nest, valid)) {
    auto part = VectorType::get(valid, storageType());
    Value loaded = LLVM::LoadOp::create(b, nest.location, part, from, unsigned(bytes));
    return fromStorage(nest, vector::InsertStridedSliceOp::create(b, nest.location, loaded, zero,
                                                                  ArrayRef<int64_t>{0},
                                                                  ArrayRef<int64_t>{1}));
  }
  return fromStorage(nest, LLVM::MaskedLoadOp::create(b, nest.location, vector, from,
                                                      nest.prefixMask(valid), zero,
                                                      b.getI32IntegerAttr(bytes)));
}

void Memory::storeVector(LoopNest &nest, const LinearExpr &at, int64_t valid, Value value) const {
  OpBuilder &b = nest.builder;
  int64_t bytes = alignmentOf(at);
  Value to = address(nest, at.inLane(0));
  value = toStorage(nest, value);
  if (valid == nest.lanes)
    LLVM::StoreOp::create(b, nest.location, value, to, bytes);
  else if (nest.level.hasFastMaskedStores() && !isOnePiece(nest, valid))
    LLVM::MaskedStoreOp::create(b, nest.location, value, to, nest.prefixMask(valid),
                                b.getI32IntegerAttr(bytes));
  else
    storePieces(nest, value, to, valid, bytes);
}

/// Stores the first `valid` elements in pieces, each of a power of two, the largest first.
void Memory::storePieces(LoopNest &nest, Value value, Value to, int64_t valid,
                         int64_t alignment) const {
  OpBuilder &b = nest.builder;
  int64_t element = grad::elementBytes(type.getElementType());
  for (int64_t from = 0; from < valid;) {
    int64_t size = int64_t(llvm::bit_floor(uint64_t(valid - from)));
    Value piece = vector::ExtractStridedSliceOp::create(b, nest.location, value, from, size, 1);
    Value at = nest.addressBehind(to, b.getI8Type(), from * element);
    LLVM::StoreOp::create(b, nest.location, piece, at,
                          unsigned(std::gcd(alignment, from * element)));
    from += size;
  }
}

Value Memory::loadAs(LoopNest &nest, Type type, Value from, int64_t alignment) const {
  return LLVM::LoadOp::create(nest.builder, nest.location, type, from, unsigned(alignment),
                              /*isVolatile=*/false, /*isNonTemporal=*/false,
                              /*isInvariant=*/isConstant);
}

Value Memory::fromStorage(LoopNest &nest, Value stored) const {
  if (!type.getElementType().isInteger(1))
    return stored;
  OpBuilder &b = nest.builder;
  Value zero = arith::ConstantOp::create(b, nest.location, b.getZeroAttr(stored.getType()));
  return arith::CmpIOp::create(b, nest.location, arith::CmpIPredicate::ne, stored, zero);
}

Value Memory::toStorage(LoopNest &nest, Value value) const {
  if (!type.getElementType().isInteger(1))
    return value;
  Type wide = nest.builder.getI8Type();
  if (isa<VectorType>(value.getType()))
    wide = nest.vectorOf(wide);
  return arith::ExtUIOp::create(nest.builder, nest.location, wide, value);
}
