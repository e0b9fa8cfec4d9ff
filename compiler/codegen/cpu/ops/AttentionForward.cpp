// The online softmax (Milakov and Gimelshein, 2018; Dao and others, 2022): each block of queries
// visits blocks of keys. Queries run along the lanes of the scores, so maxima and sums are
// vectors, and neither keys nor values are transposed.
#include "compiler/codegen/cpu/ops/AttentionTiles.h"

using namespace mlir;
using namespace gradc::cpu;
using namespace gradc::tile;
using namespace gradc::cpu::attention;

static constexpr double infinity = std::numeric_limits<double>::infinity();

namespace {

class Forward {
public:
  explicit Forward(Tiles &tiles)
      : tiles(tiles), nest(tiles.nest), lanes(nest.lanes), queries(tiles.pieces[0]),
        scores(tiles.pieces[1]), masks(tiles.pieces[2]), sums(tiles.pieces[3]),
        statistics(tiles.pieces[4]) {}

  /// Computes a block of queries that begins at `first`:
  /// 1. Transpose the queries to [size][query] and scale them.
  /// 2. For each block of keys that any of the queries sees, compute scores and their maxima, then
  ///    probabilities. Rescale the sums of probabilities and their products with the values to the
  ///    new maximum.
  /// 3. Divide by the sums.
  void emit(const Head &at, const LinearExpr &first) {
    head = at;
    begin = first;
    bringQueries();
    clear();
    Value keys = nest.constant(tiles.sizes.keys), step = nest.constant(tiles.block.keys);
    Value seen = tiles.form.causal ? keysSeen() : keys;
    Value blocks = arith::CeilDivSIOp::create(nest.builder, nest.location, seen, step);
    tiles.forAll(blocks, [&](LinearExpr i) {
      LinearExpr key = i * tiles.block.keys;
      Value left = arith::SubIOp::create(nest.builder, nest.location, seen, nest.index(key));
      Value count = tiles.smaller(left, step);
      if (gradc::masksQueries(tiles.form))
        bringMask(key);
      rescale(computeScores(key, count), key, count);
      addValues(key, count);
    });
    finish();
  }

private:
  /// Rows of `statistics`.
  enum Statistic { maxima, totals, factors };
  int64_t vectors() const { return tiles.block.queries / lanes; }
  Point statisticAt(Statistic which, int64_t v) const {
    return lanesAt(nest, LinearExpr(which), LinearExpr(v * lanes));
  }
  Value load(Statistic which, int64_t v) { return statistics.load(nest, statisticAt(which, v)); }
  void store(Statistic which, int64_t v, Value x) {
    statistics.store(nest, statisticAt(which, v), x);
  }
  /// Loads a statistic of one query.
  Value loadOne(Statistic which, const LinearExpr &query) {
    return statistics.load(nest, elementAt(LinearExpr(which), query));
  }
  Value isEqual(Value x, double y) {
    return arith::CmpFOp::create(nest.builder, nest.location, arith::CmpFPredicate::OEQ, x,
                                 tiles.number(y));
  }
  Value choose(Value condition, Value x, Value y) {
    return arith::SelectOp::create(nest.builder, nest.location, condition, x, y);
  }

  /// The number of keys that the block's last query sees, rounded up to whole tiles, or all keys.
  Value keysSeen() {
    int64_t rows = nest.level.tileRows;
    Value seen = nest.index(begin + LinearExpr(tiles.block.queries + *tiles.form.causal));
    seen = arith::MaxSIOp::create(nest.builder, nest.location, seen, nest.constant(0));
    Value step = nest.constant(rows);
    seen = arith::CeilDivSIOp::create(nest.builder, nest.location, seen, step);
    seen = arith::MulIOp::create(nest.builder, nest.location, seen, step);
    return tiles.smaller(seen, nest.constant(tiles.sizes.keys));
  }

  /// Lanes past the last query repeat it; their results are not stored.
  LinearExpr queryOf(const LinearExpr &row) {
    return tiles.clamp(begin + row, tiles.sizes.queries - 1);
  }

  void bringQueries() {
    Value scale = tiles.number(tiles.form.scale);
    tiles.transpose(tiles.block.queries, tiles.sizes.size, queries,
                    [&](LinearExpr row, LinearExpr column, int64_t valid) {
                      Point point =
                          tiles.query.at(head.batch, head.query, queryOf(row), column, valid);
                      return tiles.multiply(tiles.query.memory.load(nest, point), scale);
                    });
  }

  void clear() {
    for (int64_t v = 0; v < vectors(); ++v) {
      store(maxima, v, tiles.number(-infinity));
      store(totals, v, tiles.number(0));
    }
    tiles.forAll(tiles.block.queries, [&](LinearExpr row) {
      for (int64_t e = 0; e < tiles.sizes.width; e += lanes)
        sums.store(nest, lanesAt(nest, row, LinearExpr(e)), tiles.number(0));
    });
  }

  /// Transposes the mask of a block of keys in squares. A square that would extend past the last
  /// key begins earlier.
  void bringMask(const LinearExpr &key) {
    int64_t keys = tiles.sizes.keys, valid = std::min(keys, lanes);
    tiles.forAll(tiles.block.queries / lanes, [&](LinearExpr i) {
      LinearExpr row = i * lanes;
      tiles.forAll(llvm::divideCeil(tiles.block.keys, lanes), [&](LinearExpr j) {
        LinearExpr column = tiles.clamp(key + j * lanes, keys - valid);
        LinearExpr to = column + key * -1 + LinearExpr(lanes);
        tiles.transposeSquare(
            row, valid,
            [&](LinearExpr r) {
              Point point = tiles.mask.at(head.batch, head.query, queryOf(r), column, valid);
              return tiles.maskTerm(tiles.mask.memory.load(nest, point));
            },
            [&](int64_t c, Value v) {
              masks.store(nest, lanesAt(nest, to + LinearExpr(c), row), v);
            });
      });
    });
  }

  /// The masked scores of one key and the queries of vector `v`.
  Value masked(Value score, const LinearExpr &key, const LinearExpr &row, const LinearExpr &query) {
    if (gradc::masksQueries(tiles.form)) {
      Point point = lanesAt(nest, row + LinearExpr(lanes), query);
      score = tiles.add(score, masks.load(nest, point));
    } else if (tiles.mask) {
      Point point = tiles.mask.at(head.batch, head.query, LinearExpr(0), key + row);
      score = tiles.add(score, tiles.maskTerm(tiles.mask.memory.load(nest, point)));
    }
    if (!tiles.form.causal)
      return score;
    Value last = tiles.position(key + row + LinearExpr(-*tiles.form.causal), /*alongLanes=*/false);
    return tiles.hide(score, tiles.position(begin + query, /*alongLanes=*/true), last);
  }

  /// Computes the scores of `count` keys; returns the maximum per query.
  Tiles::Values computeScores(const LinearExpr &key, Value count) {
    int64_t panel = nest.level.tileVectors;
    Tiles::Values all;
    for (int64_t v0 = 0; v0 < vectors(); v0 += panel) {
      Tiles::Values most(panel, tiles.number(-infinity));
      llvm::append_range(
          all, tiles.forRows(Rows{count, tiles.restOf(tiles.sizes.keys, tiles.block.keys)}, most,
                             [&](LinearExpr row, int64_t height, ValueRange now) {
                               Tiles::Values products = tiles.product(
                                   Tiles::Values(height * panel, tiles.number(0)), panel,
                                   nest.constant(tiles.sizes.size),
                                   [&](LinearExpr d, int64_t i) {
                                     return tiles.key.memory.load(
                                         nest, tiles.key.at(head.batch, head.key,
                                                            key + row + LinearExpr(i), d));
                                   },
                                   [&](LinearExpr d, int64_t v) {
                                     return queries.load(
                                         nest, lanesAt(nest, d, LinearExpr((v0 + v) * lanes)));
                                   });
                               Tiles::Values next(now);
                               for (int64_t i = 0; i < height; ++i)
                                 for (int64_t v = 0; v < panel; ++v) {
                                   LinearExpr r = row + LinearExpr(i), query((v0 + v) * lanes);
                                   Value score = masked(products[i * panel + v], key, r, query);
                                   scores.store(nest, lanesAt(nest, r, query), score);
                                   next[v] = tiles.maximum(next[v], score);
                                 }
                               return next;
                             }));
    }
    return all;
  }

  /// Computes probabilities relative to the new maxima, their sums, and the factors that rescale
  /// earlier sums.
  void rescale(ValueRange most, const LinearExpr &key, Value count) {
    Tiles::Values shifts, sums;
    for (int64_t v = 0; v < vectors(); ++v) {
      Value before = load(maxima, v), now = tiles.maximum(before, most[v]);
      // For a query that has seen no key so far, e^(-inf - 0) = 0.
      shifts.push_back(choose(isEqual(now, -infinity), tiles.number(0), now));
      Value factor = tiles.exponential(tiles.subtract(before, shifts[v]));
      store(maxima, v, now);
      store(factors, v, factor);
      sums.push_back(tiles.multiply(load(totals, v), factor));
    }
    sums = nest.loop(nest.constant(0), count, sums, [&](LinearExpr row, ValueRange now) {
      Tiles::Values next;
      for (int64_t v = 0; v < vectors(); ++v) {
        Point point = lanesAt(nest, row, LinearExpr(v * lanes));
        Value p = tiles.exponential(tiles.subtract(scores.load(nest, point), shifts[v]));
        scores.store(nest, point,
                     tiles.drop(p, head, begin + LinearExpr(v * lanes), key + row,
                                /*keysAlongLanes=*/false));
        next.push_back(tiles.add(now[v], p));
      }
      return next;
    });
    for (int64_t v = 0; v < vectors(); ++v)
      store(totals, v, sums[v]);
  }

  Rows queriesHere() {
    int64_t all = tiles.sizes.queries;
    Value left =
        arith::SubIOp::create(nest.builder, nest.location, nest.constant(all), nest.index(begin));
    return {tiles.smaller(left, nest.constant(tiles.block.queries)),
            tiles.restOf(all, tiles.block.queries)};
  }

  void addValues(const LinearExpr &key, Value count) {
    tiles.addProduct(
        sums,
        [&](LinearExpr row, LinearExpr column, int64_t) { return lanesAt(nest, row, column); },
        queriesHere(), tiles.sizes.width, count,
        [&](LinearExpr row) { return loadOne(factors, row); },
        [&](LinearExpr step, LinearExpr row) { return scores.load(nest, elementAt(step, row)); },
        [&](LinearExpr step, LinearExpr column, int64_t valid) {
          return tiles.value.memory.load(
              nest, tiles.value.at(head.batch, head.key, key + step, column, valid));
        });
  }

  /// A query that sees no key gets the result 0 and a statistic of zeros.
  void finish() {
    for (int64_t v = 0; v < vectors(); ++v) {
      Value total = load(totals, v), isEmpty = isEqual(total, 0), none = tiles.number(0);
      Value share = arith::DivFOp::create(nest.builder, nest.location, tiles.number(1), total);
      store(factors, v, choose(isEmpty, none, share));
      store(maxima, v, choose(isEmpty, none, load(maxima, v)));
    }
    tiles.forAll(queriesHere().count, [&](LinearExpr row) {
      LinearExpr query = begin + row;
      if (Tensor &to = tiles.results[1])
        for (auto [column, which] : {std::pair(0, maxima), {1, factors}})
          to.memory.store(nest, to.at(head.batch, head.query, query, LinearExpr(column)),
                          loadOne(which, row));
      Tensor &to = tiles.results[0];
      Value share = nest.splat(loadOne(factors, row));
      for (int64_t e = 0; e < tiles.sizes.width && to; e += lanes) {
        Value sum = sums.load(nest, lanesAt(nest, row, LinearExpr(e)));
        int64_t valid = std::min(lanes, tiles.sizes.width - e);
        to.memory.store(nest, to.at(head.batch, head.query, query, LinearExpr(e), valid),
                        tiles.multiply(sum, share));
      }
    });
  }

  Tiles &tiles;
  LoopNest &nest;
  int64_t lanes;
  Memory &queries, &scores, &masks, &sums, &statistics;
  Head head;
  LinearExpr begin;
};

} // namespace

void gradc::cpu::attention::emitForward(Tiles &tiles, Value begin, Value end) {
  LoopNest &nest = tiles.nest;
  Forward forward(tiles);
  int64_t blocks = llvm::divideCeil(tiles.sizes.queries, tiles.block.queries);
  nest.loop(begin, end, {}, [&](LinearExpr unit, ValueRange) {
    auto [line, query] = nest.divide(unit, blocks);
    auto [batch, head] = nest.divide(line, tiles.sizes.heads);
    LinearExpr key = tiles.sizes.group() == 1 ? head : nest.divide(head, tiles.sizes.group()).first;
    forward.emit({batch, head, key}, query * tiles.block.queries);
    return SmallVector<Value>();
  });
}
