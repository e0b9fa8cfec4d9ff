// Panels that interleave neighbours along a dim, as words of 32 bits.
#include "compiler/codegen/tile/Memory.h"

#include "dialects/grad/HostTensor.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

#include <map>

using namespace mlir;
using namespace gradc::tile;

std::optional<LinearExpr> Memory::wordsOffset(LoopNest &nest, Point p) const {
  if (!panel || !panel.isInterleaved())
    return std::nullopt;
  p.valid = nest.lanes; // the rest of the last panel is padding
  auto at = offset(nest, p);
  return at && at->lane == panel.getTogether() ? at : std::nullopt;
}

Value Memory::loadWords(LoopNest &nest, const Point &p) const {
  return loadAs(nest, nest.vectorOf(nest.builder.getI32Type()),
                address(nest, wordsOffset(nest, p)->inLane(0)),
                grad::elementBytes(type.getElementType()));
}

SmallVector<Point> Memory::wordAt(LoopNest &nest, const Point &p) const {
  auto first = wordsOffset(nest, p);
  SmallVector<Point> word{p};
  while (first && int64_t(word.size()) < panel.getTogether()) {
    Point next = p;
    next.coordinates[panel.getInterleaved()] += LinearExpr(word.size());
    auto at = wordsOffset(nest, next);
    if (!at || !(*at == *first + LinearExpr(word.size())))
      return {};
    word.push_back(next);
  }
  return first ? word : SmallVector<Point>();
}

/// The vector, with 0 in the lanes past `valid`.
static Value padded(LoopNest &nest, Value value, int64_t valid) {
  value = nest.splat(value);
  if (valid == nest.lanes)
    return value;
  Value zero = arith::ConstantOp::create(nest.builder, nest.location,
                                         nest.builder.getZeroAttr(value.getType()));
  return nest.select(nest.prefixMask(valid), value, zero);
}

/// The vectors' elements in turn: of all first lanes, then of all second ones.
static Value interleave(LoopNest &nest, ArrayRef<Value> vectors) {
  if (vectors.size() == 1)
    return vectors[0];
  SmallVector<Value> even, odd;
  for (auto [i, vector] : llvm::enumerate(vectors))
    (i % 2 == 0 ? even : odd).push_back(vector);
  return vector::InterleaveOp::create(nest.builder, nest.location, interleave(nest, even),
                                      interleave(nest, odd));
}

/// Words of the lowest four bits of the vectors' elements, those of the first vector lowest.
static Value joinNibbles(LoopNest &nest, ArrayRef<Value> vectors) {
  OpBuilder &b = nest.builder;
  Location at = nest.location;
  Type words = nest.vectorOf(b.getI32Type());
  auto number = [&](int64_t n) { return nest.splat(arith::ConstantIntOp::create(b, at, n, 32)); };
  Value word;
  for (auto [i, vector] : llvm::enumerate(vectors)) {
    Value part =
        arith::AndIOp::create(b, at, arith::ExtUIOp::create(b, at, words, vector), number(15));
    part = arith::ShLIOp::create(b, at, part, number(4 * int64_t(i)));
    word = word ? arith::OrIOp::create(b, at, word, part).getResult() : part;
  }
  return word;
}

void Memory::storeWords(LoopNest &nest, const Point &p, ArrayRef<Value> values) const {
  auto vectors = llvm::map_to_vector(values, [&](Value v) { return padded(nest, v, p.valid); });
  LinearExpr at = wordsOffset(nest, p)->inLane(0);
  Value words = isOfNibbles() ? joinNibbles(nest, vectors) : interleave(nest, vectors);
  LLVM::StoreOp::create(nest.builder, nest.location, words, address(nest, at),
                        unsigned(alignmentOf(at)));
}

bool Memory::storeInterleaved(LoopNest &nest, ArrayRef<Point> points, ValueRange values) const {
  if (!wordsOffset(nest, points[0]))
    return false;
  std::map<Point, Value> alone;
  for (auto [p, value] : llvm::zip(points, values))
    alone[p] = value;
  int64_t size = type.getDimSize(panel.getInterleaved());
  /// The value at a point of the tile, or 0 behind the tensor's end.
  auto valueAt = [&](const Point &p) -> Value {
    if (auto found = alone.find(p); found != alone.end())
      return found->second;
    const LinearExpr &place = p.coordinates[panel.getInterleaved()];
    if (!place.isConstant() || place.constant < size)
      return {};
    return arith::ConstantOp::create(
        nest.builder, nest.location,
        nest.builder.getZeroAttr(getElementTypeOrSelf(values[0].getType())));
  };
  for (const Point &p : points) {
    SmallVector<Point> word = wordAt(nest, p);
    auto whole = llvm::map_to_vector(word, valueAt);
    if (word.empty() || !llvm::all_of(whole, [](Value v) { return bool(v); }))
      continue;
    storeWords(nest, p, whole);
    for (const Point &stored : word)
      alone.erase(stored);
  }
  for (auto [p, value] : alone)
    store(nest, p, value);
  return true;
}

/// Concatenates the vectors.
static Value join(LoopNest &nest, ArrayRef<Value> vectors) {
  if (vectors.size() == 1)
    return vectors[0];
  Value first = join(nest, vectors.take_front(vectors.size() / 2)),
        second = join(nest, vectors.drop_front(vectors.size() / 2));
  int64_t lanes = cast<VectorType>(first.getType()).getNumElements();
  return vector::ShuffleOp::create(nest.builder, nest.location, first, second,
                                   llvm::to_vector(llvm::seq<int64_t>(0, 2 * lanes)));
}

bool Memory::storeTurned(LoopNest &nest, ArrayRef<Point> points, ValueRange values) const {
  if (!panel || !panel.isInterleaved() || points[0].coordinates[panel.getInterleaved()].lane != 1)
    return false;
  auto columnOf = [&](const Point &p) { return p.coordinates[panel.getDim()]; };
  int64_t vectors =
      llvm::count_if(points, [&](const Point &p) { return columnOf(p) == columnOf(points[0]); });
  int64_t columns = points.size() / vectors, together = panel.getTogether();
  /// The first columns of the word that begins at lane `l` of vector `v`.
  auto wordOf = [&](int64_t v, int64_t l) {
    Point p = points[v].inLane(l);
    p.coordinates[panel.getDim()].lane = 1;
    return p;
  };
  auto isWord = [&](int64_t v) { return !wordAt(nest, wordOf(v, 0)).empty(); };
  if (columns > nest.lanes || !llvm::all_of(llvm::seq(vectors), isWord))
    return false;

  OpBuilder &b = nest.builder;
  int64_t perVector = nest.lanes / together;
  auto words = VectorType::get({perVector}, b.getI32Type());
  // As many vectors as fill a row of a square of words.
  for (int64_t v = 0; v < vectors; v += together) {
    int64_t last = std::min(v + together, vectors) - 1;
    SmallVector<Value> rows;
    for (int64_t c = 0; c < columns; ++c) {
      SmallVector<Value> row;
      for (int64_t i = v; i < v + together; ++i) {
        int64_t vector = std::min(i, last);
        Value part = padded(nest, values[c * vectors + vector], points[vector].valid);
        row.push_back(vector::BitCastOp::create(b, nest.location, words, part));
      }
      rows.push_back(join(nest, row));
    }
    auto type = nest.vectorOf(b.getI32Type());
    rows.resize(nest.lanes, arith::ConstantOp::create(b, nest.location, b.getZeroAttr(Type(type))));
    rows = transposeRegisters(nest, rows);
    for (int64_t vector = v; vector <= last; ++vector)
      for (int64_t l = 0; l < points[vector].valid; l += together) {
        LinearExpr at = wordsOffset(nest, wordOf(vector, l))->inLane(0);
        LLVM::StoreOp::create(b, nest.location, rows[(vector - v) * perVector + l / together],
                              address(nest, at), unsigned(alignmentOf(at)));
      }
  }
  return true;
}
