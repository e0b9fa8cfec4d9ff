#include "compiler/codegen/tile/RowLanes.h"

#include "dialects/grad/TensorTypes.h"

#include <utility>

using namespace mlir;
using namespace gradc::tile;

/// Rows of 64-bit elements stay alone: LLVM 22 miscompiles some permutations of 8 lanes of them, as
/// in LoopNest::combineLanes, so that all rows get the first one's sum.
void RowLanes::add(Value vector) {
  parts.push_back({vector, {0}});
  bool isWide = grad::elementBytes(getElementTypeOrSelf(vector)) == 8;
  while (!isWide && parts.size() > 1 && parts.back().first.size() == parts.end()[-2].first.size() &&
         lanesOf(parts.back()) > 1) {
    Rows last = parts.pop_back_val();
    parts.back() = merge(parts.back(), last);
  }
}

/// Rows of both vectors with as many lanes each. Lanes do not leave their 16 bytes of a vector if
/// all lanes of a row are there: such shuffles take one cycle.
RowLanes::Rows RowLanes::merge(const Rows &a, const Rows &b) {
  constexpr int64_t groupBytes = 16;
  int64_t lanes = lanesOf(a), half = lanes / 2;
  int64_t inGroup = groupBytes / grad::elementBytes(getElementTypeOrSelf(a.vector));
  int64_t group = lanes <= inGroup ? std::min(inGroup, nest.lanes) : nest.lanes;
  SmallVector<int64_t> lower, upper;
  Rows both;
  both.first.assign(a.first.size() + b.first.size(), 0);
  for (int64_t start = 0; start < nest.lanes; start += group)
    for (auto [rows, base, number] :
         {std::tuple(&a, int64_t(0), size_t(0)), {&b, nest.lanes, a.first.size()}})
      for (int64_t lane = start; lane < start + group; lane += lanes) {
        both.first[number + (llvm::find(rows->first, lane) - rows->first.begin())] = lower.size();
        for (int64_t l = lane; l < lane + half; ++l) {
          lower.push_back(base + l);
          upper.push_back(base + l + half);
        }
      }
  both.vector = combine(shuffle(a.vector, b.vector, lower), shuffle(a.vector, b.vector, upper));
  return both;
}

Value RowLanes::shuffle(Value a, Value b, ArrayRef<int64_t> order) {
  return vector::ShuffleOp::create(nest.builder, nest.location, a, b, order);
}

/// Each result has half as many lanes, as those of a single row: see LoopNest::combineLanes.
void RowLanes::fold(Rows &rows) {
  for (int64_t lanes = lanesOf(rows); lanes > 1; lanes /= 2) {
    SmallVector<int64_t> lower, upper;
    for (int64_t &first : rows.first) {
      int64_t lane = std::exchange(first, int64_t(lower.size()));
      for (int64_t l = lane; l < lane + lanes / 2; ++l) {
        lower.push_back(l);
        upper.push_back(l + lanes / 2);
      }
    }
    rows.vector =
        combine(shuffle(rows.vector, rows.vector, lower), shuffle(rows.vector, rows.vector, upper));
  }
}

SmallVector<Value> RowLanes::results() {
  SmallVector<Value> results;
  for (Rows &rows : parts) {
    if (rows.first.size() == 1) {
      results.push_back(nest.combineLanes(rows.vector, combine));
      continue;
    }
    fold(rows);
    for (int64_t lane : rows.first)
      results.push_back(vector::ExtractOp::create(nest.builder, nest.location, rows.vector, lane));
  }
  return results;
}
