// The gradient of an attention recomputes its probabilities from the statistic, in blocks of keys
// by queries. Keys run along the lanes. One unit computes a whole key head, so sums over keys and
// sums over queries both have a fixed order, and both use the same probabilities.
#include "compiler/codegen/cpu/ops/AttentionTiles.h"

using namespace mlir;
using namespace gradc::cpu;
using namespace gradc::tile;
using namespace gradc::cpu::attention;

namespace {

class Gradient {
public:
  explicit Gradient(Tiles &tiles)
      : tiles(tiles), nest(tiles.nest), lanes(nest.lanes), keys(tiles.pieces[0]),
        values(tiles.pieces[1]), probabilities(tiles.pieces[2]), slopes(tiles.pieces[3]),
        means(tiles.pieces[4]) {}

  /// Computes one key head:
  /// 1. Set the head's gradients to 0, and those of the queries of each of its query heads.
  /// 2. mean[t] = the sum over e of gradient[t, e] result[t, e].
  /// 3. For each block of keys and each block of queries that see any of them, compute
  ///    probabilities and their gradients, and add to all three results.
  void emit(const LinearExpr &batch, const LinearExpr &keyHead) {
    head = {batch, {}, keyHead};
    clear(tiles.results[1], keyHead, tiles.sizes.keys, tiles.sizes.size);
    clear(tiles.results[2], keyHead, tiles.sizes.keys, tiles.sizes.width);
    tiles.forAll(tiles.sizes.group(), [&](LinearExpr i) {
      head.query = keyHead * tiles.sizes.group() + i;
      clear(tiles.results[0], head.query, tiles.sizes.queries, tiles.sizes.size);
      computeMeans();
      Value step = nest.constant(tiles.block.keys);
      tiles.forAll(llvm::divideCeil(tiles.sizes.keys, tiles.block.keys), [&](LinearExpr j) {
        firstKey = j * tiles.block.keys;
        Value left = subtractIndex(nest.constant(tiles.sizes.keys), nest.index(firstKey));
        keyRows = {tiles.smaller(left, step), tiles.restOf(tiles.sizes.keys, tiles.block.keys)};
        emitKeys();
      });
    });
  }

private:
  Value subtractIndex(Value x, Value y) {
    return arith::SubIOp::create(nest.builder, nest.location, x, y);
  }

  void clear(Tensor &tensor, const LinearExpr &of, int64_t rows, int64_t width) {
    if (!tensor)
      return;
    tiles.forAll(rows, [&](LinearExpr row) {
      for (int64_t e = 0; e < width; e += lanes)
        tensor.memory.store(
            nest, tensor.at(head.batch, of, row, LinearExpr(e), std::min(lanes, width - e)),
            tiles.number(0));
    });
  }

  void computeMeans() {
    int64_t width = tiles.sizes.width;
    tiles.forAll(tiles.sizes.queries, [&](LinearExpr t) {
      Value sum = tiles.number(0);
      for (int64_t e = 0; e < width; e += lanes) {
        auto load = [&](Tensor &tensor) {
          return tensor.memory.load(nest, tensor.at(head.batch, head.query, t, LinearExpr(e),
                                                    std::min(lanes, width - e)));
        };
        sum = vector::FMAOp::create(nest.builder, nest.location, load(tiles.gradient),
                                    load(tiles.result), sum);
      }
      means.store(nest, elementAt(LinearExpr(0), t), tiles.sumOfLanes(sum));
    });
  }

  /// Processes a block of keys with all queries that see any of them.
  void emitKeys() {
    bring(tiles.key, tiles.sizes.size, keys, tiles.number(tiles.form.scale));
    bring(tiles.value, tiles.sizes.width, values, {});
    Value first = nest.constant(0), all = nest.constant(tiles.sizes.queries);
    if (tiles.form.causal) {
      first = nest.index(firstKey + LinearExpr(-*tiles.form.causal));
      first = arith::MaxSIOp::create(nest.builder, nest.location, first, nest.constant(0));
      first = tiles.smaller(first, all);
    }
    Value step = nest.constant(tiles.block.queries), left = subtractIndex(all, first);
    Value blocks = arith::CeilDivSIOp::create(nest.builder, nest.location, left, step);
    LinearExpr begin = nest.variable(first);
    tiles.forAll(blocks, [&](LinearExpr i) {
      firstQuery = begin + i * tiles.block.queries;
      queryRows = {tiles.smaller(subtractIndex(all, nest.index(firstQuery)), step),
                   restOfQueries()};
      tiles.forRows(queryRows, {}, [&](LinearExpr row, int64_t height, ValueRange) {
        tiles.forAll(tiles.block.keys / (lanes * nest.level.tileVectors), [&](LinearExpr panel) {
          computeSlopes(row, height, panel * (lanes * nest.level.tileVectors));
        });
        return Tiles::Values();
      });
      addToResults();
    });
  }

  /// The remainder of the queries, starting at the first one that sees a block's first key. Blocks
  /// of keys are whole tiles.
  int64_t restOfQueries() {
    int64_t rows = nest.level.tileRows;
    bool isAnyNumber = tiles.form.causal && (*tiles.form.causal % rows || tiles.block.keys % rows);
    return isAnyNumber ? -1 : tiles.restOf(tiles.sizes.queries, tiles.block.queries);
  }

  /// Lanes past the last key repeat it; no sum reads their values.
  void bring(Tensor &tensor, int64_t width, Memory &to, Value factor) {
    tiles.transpose(
        tiles.block.keys, width, to, [&](LinearExpr row, LinearExpr column, int64_t valid) {
          LinearExpr key = tiles.clamp(firstKey + row, tiles.sizes.keys - 1);
          Value x = tensor.memory.load(nest, tensor.at(head.batch, head.key, key, column, valid));
          return factor ? tiles.multiply(x, factor) : x;
        });
  }

  /// Computes the probabilities and slopes of a register tile: queries start at `row`, keys at
  /// `column`.
  void computeSlopes(const LinearExpr &row, int64_t height, const LinearExpr &column) {
    int64_t panel = nest.level.tileVectors;
    auto product = [&](Tensor &lhs, const Memory &rhs, int64_t steps) {
      return tiles.product(
          Tiles::Values(height * panel, tiles.number(0)), panel, nest.constant(steps),
          [&](LinearExpr step, int64_t i) {
            return lhs.memory.load(
                nest, lhs.at(head.batch, head.query, firstQuery + row + LinearExpr(i), step));
          },
          [&](LinearExpr step, int64_t v) {
            return rhs.load(nest, lanesAt(nest, step, column + LinearExpr(v * lanes)));
          });
    };
    auto placeOf = [&](int64_t i, int64_t v) {
      return lanesAt(nest, row + LinearExpr(i), column + LinearExpr(v * lanes));
    };
    Tiles::Values scores = product(tiles.query, keys, tiles.sizes.size);
    for (int64_t i = 0; i < height; ++i) {
      LinearExpr query = firstQuery + row + LinearExpr(i);
      auto statistic = [&](int64_t column) {
        Point point = tiles.statistic.at(head.batch, head.query, query, LinearExpr(column));
        return nest.splat(tiles.statistic.memory.load(nest, point));
      };
      Value most = statistic(0), share = statistic(1);
      for (int64_t v = 0; v < panel; ++v) {
        Value score = masked(scores[i * panel + v], query, column + LinearExpr(v * lanes));
        Value p = tiles.exponential(tiles.subtract(score, most));
        probabilities.store(nest, placeOf(i, v), tiles.multiply(p, share));
      }
    }
    Tiles::Values towards = product(tiles.gradient, values, tiles.sizes.width);
    Value scale = tiles.number(tiles.form.scale);
    for (int64_t i = 0; i < height; ++i) {
      LinearExpr query = firstQuery + row + LinearExpr(i);
      Value mean = nest.splat(means.load(nest, elementAt(LinearExpr(0), query)));
      for (int64_t v = 0; v < panel; ++v) {
        Point place = placeOf(i, v);
        Value p = probabilities.load(nest, place), toward = towards[i * panel + v];
        if (tiles.form.dropout) {
          Value kept =
              tiles.drop(tiles.number(1), head, query, firstKey + column + LinearExpr(v * lanes),
                         /*keysAlongLanes=*/true);
          probabilities.store(nest, place, tiles.multiply(p, kept));
          toward = tiles.multiply(toward, kept);
        }
        p = tiles.multiply(p, scale);
        slopes.store(nest, place, tiles.multiply(p, tiles.subtract(toward, mean)));
      }
    }
  }

  /// The masked scores of one query and a vector of keys.
  Value masked(Value score, const LinearExpr &query, const LinearExpr &column) {
    LinearExpr key = firstKey + column;
    if (tiles.mask)
      score = tiles.add(score, tiles.maskTerm(loadMask(query, key)));
    if (!tiles.form.causal)
      return score;
    Value last = tiles.position(query + LinearExpr(*tiles.form.causal), /*alongLanes=*/false);
    return tiles.hide(score, last, tiles.position(key, /*alongLanes=*/true));
  }

  Value loadMask(const LinearExpr &query, const LinearExpr &key) {
    Point point = tiles.mask.at(head.batch, head.query, query, key, lanes);
    int64_t all = tiles.sizes.keys;
    if (all % tiles.block.keys == 0)
      return tiles.mask.memory.load(nest, point);
    Value inside = tiles.isBefore(key, all);
    return tiles.mask.memory.loadWhere(nest, point, inside, tiles.noMask());
  }

  void addToResults() {
    add(tiles.results[2], tiles.gradient, probabilities, tiles.sizes.width);
    add(tiles.results[1], tiles.query, slopes, tiles.sizes.size);
    Tensor &to = tiles.results[0];
    if (!to)
      return;
    tiles.addProduct(
        to.memory,
        [&](LinearExpr row, LinearExpr column, int64_t valid) {
          return to.at(head.batch, head.query, firstQuery + row, column, valid);
        },
        queryRows, tiles.sizes.size, keyRows.count, nullptr,
        [&](LinearExpr step, LinearExpr row) { return slopes.load(nest, elementAt(row, step)); },
        [&](LinearExpr step, LinearExpr column, int64_t valid) {
          return tiles.key.memory.load(
              nest, tiles.key.at(head.batch, head.key, firstKey + step, column, valid));
        });
  }

  /// to[key] += the sum over the block's queries of weights[query, key] rows[query].
  void add(Tensor &to, Tensor &rows, const Memory &weights, int64_t width) {
    if (!to)
      return;
    tiles.addProduct(
        to.memory,
        [&](LinearExpr row, LinearExpr column, int64_t valid) {
          return to.at(head.batch, head.key, firstKey + row, column, valid);
        },
        keyRows, width, queryRows.count, nullptr,
        [&](LinearExpr step, LinearExpr row) { return weights.load(nest, elementAt(step, row)); },
        [&](LinearExpr step, LinearExpr column, int64_t valid) {
          return rows.memory.load(
              nest, rows.at(head.batch, head.query, firstQuery + step, column, valid));
        });
  }

  Tiles &tiles;
  LoopNest &nest;
  int64_t lanes;
  Memory &keys, &values, &probabilities, &slopes, &means;
  Head head;
  LinearExpr firstKey, firstQuery;
  Rows keyRows, queryRows;
};

} // namespace

void gradc::cpu::attention::emitGradient(Tiles &tiles, Value begin, Value end) {
  LoopNest &nest = tiles.nest;
  Gradient gradient(tiles);
  nest.loop(begin, end, {}, [&](LinearExpr unit, ValueRange) {
    auto [batch, keyHead] = nest.divide(unit, tiles.sizes.keyHeads);
    gradient.emit(batch, keyHead);
    return SmallVector<Value>();
  });
}
