// A radix sort by counting, from the last digit to the first, which keeps the order of equal keys.
#include "compiler/codegen/cpu/ops/SortKeys.h"

using namespace mlir;
using namespace gradc::cpu;
using namespace gradc::tile;
using gradc::SortPlan;

namespace {

class RadixSort {
public:
  explicit RadixSort(SortRow &row)
      : row(row), plan(row.plan), nest(row.nest), b(nest.builder),
        counts(memoryOf(SortPlan::counts, baseOf(SortPlan::counts))) {}

  /// 1. Write the keys and positions of all elements or, if few positions are wanted, of those
  ///    that may be among them. Masked elements go to their places behind the others.
  /// 2. Count the values of all digits.
  /// 3. For each digit that is not the same in all keys, move keys and positions in its order.
  /// 4. Store the positions.
  void emit() {
    Buffers from = {baseOf(SortPlan::keys), baseOf(SortPlan::positions)};
    Buffers to = {baseOf(SortPlan::nextKeys), baseOf(SortPlan::nextPositions)};
    bool isApart = row.putsMaskedLast();
    Value sorted = plan.leadingBits ? bringCandidates(from)
                   : isApart        ? bringUnmasked(from)
                                    : bringAll(from);
    countDigits(from, sorted);
    for (int64_t digit = 0; digit < plan.digits; ++digit) {
      Value first = memoryOf(SortPlan::keys, from.keys).load(nest, at(LinearExpr(0)));
      Value alike = row.toI64(counts.load(nest, countOf(first, digit)));
      Value differs = row.compare(arith::CmpIPredicate::ne, alike, sorted);
      Carried next = nest.choose(differs, {from.keys, from.positions, to.keys, to.positions}, [&] {
        moveByDigit(from, to, sorted, digit);
        return Carried{to.keys, to.positions, from.keys, from.positions};
      });
      from = {next[0], next[1]};
      to = {next[2], next[3]};
    }
    Memory positions = memoryOf(SortPlan::positions, from.positions);
    forAll(isApart ? sorted : row.count,
           [&](LinearExpr i) { row.store(i, row.toI64(positions.load(nest, at(i)))); });
  }

private:
  using Carried = SmallVector<Value>;
  struct Buffers {
    Value keys, positions;
  };

  Value baseOf(SortPlan::Piece piece) {
    return nest.addressBehind(row.scratch, b.getI8Type(), plan.offsetOf(piece));
  }
  Memory memoryOf(SortPlan::Piece piece, Value base) {
    bool holdsKeys = piece == SortPlan::keys || piece == SortPlan::nextKeys;
    Type element = holdsKeys ? row.keyType : b.getI32Type();
    return {base, RankedTensorType::get({plan.elementsOf(piece)}, element), /*panel=*/{}};
  }
  static Point at(const LinearExpr &position) { return {{position}, /*valid=*/0}; }
  Point at(Value position) { return at(nest.variable(position)); }

  void forAll(Value count, llvm::function_ref<void(LinearExpr)> body) {
    nest.loop(nest.constant(0), count, {}, [&](LinearExpr i, ValueRange) {
      body(i);
      return Carried();
    });
  }
  void clear(int64_t values) {
    Value zero = row.constant(0, b.getI32Type());
    forAll(nest.constant(values), [&](LinearExpr i) { counts.store(nest, at(i), zero); });
  }
  void increment(const Point &point) {
    counts.store(nest, point, row.apply<arith::AddIOp>(counts.load(nest, point), 1));
  }

  /// The count of a key's digit.
  Point countOf(Value key, int64_t digit) {
    Value value = row.apply<arith::AndIOp>(
        row.apply<arith::ShRUIOp>(key, digit * SortPlan::digitBits), SortPlan::digitValues - 1);
    return at(nest.variable(row.toI64(value)) + LinearExpr(digit * SortPlan::digitValues));
  }
  Value leadingOf(Value key) {
    return row.toI64(row.apply<arith::ShRUIOp>(key, plan.elementBits - plan.leadingBits));
  }

  void put(const Buffers &to, const Point &place, Value key, Value position) {
    memoryOf(SortPlan::keys, to.keys).store(nest, place, key);
    memoryOf(SortPlan::positions, to.positions).store(nest, place, position);
  }
  Value positionOf(const LinearExpr &i) {
    return arith::TruncIOp::create(b, nest.location, b.getI32Type(), nest.index(i));
  }

  Value bringAll(const Buffers &to) {
    forAll(row.size, [&](LinearExpr i) { put(to, at(i), row.keyAt(i), positionOf(i)); });
    return row.size;
  }

  /// Writes the elements that are not masked, and stores the positions of the others, in order, at
  /// the end of the result; returns the number of the former.
  Value bringUnmasked(const Buffers &to) {
    Value none = nest.constant(0), one = nest.constant(1);
    Value last = row.apply<arith::SubIOp>(row.size, one);
    Value unmasked = nest.loop(none, row.size, none, [&](LinearExpr i, ValueRange found) {
      Value key = row.keyAt(i);
      put(to, at(found[0]), key, positionOf(i));
      Value next = row.apply<arith::AddIOp>(found[0], one);
      return Carried{row.choose(row.isMasked(key), found[0], next)};
    })[0];
    // From the last element on. A place before all masked ones gets its position later.
    nest.when(row.compare(arith::CmpIPredicate::ne, unmasked, row.size), [&] {
      nest.loop(none, row.size, last, [&](LinearExpr n, ValueRange place) {
        LinearExpr i = nest.variable(row.apply<arith::SubIOp>(last, nest.index(n)));
        row.store(nest.variable(place[0]), nest.index(i));
        Value before = row.apply<arith::SubIOp>(place[0], one);
        return Carried{row.choose(row.isMasked(row.keyAt(i)), before, place[0])};
      });
    });
    return unmasked;
  }

  /// Writes the elements whose leading bits are at most those of the last wanted one; returns their
  /// number.
  Value bringCandidates(const Buffers &to) {
    int64_t values = int64_t(1) << plan.leadingBits;
    clear(values);
    forAll(row.size, [&](LinearExpr i) { increment(at(leadingOf(row.keyAt(i)))); });
    Value none = nest.constant(0);
    Value last =
        nest.loop(none, nest.constant(values), {none, none}, [&](LinearExpr value, ValueRange now) {
          Value lacks = row.compare(arith::CmpIPredicate::slt, now[0], row.count);
          Value here = row.toI64(counts.load(nest, at(value)));
          return Carried{row.apply<arith::AddIOp>(now[0], here),
                         row.choose(lacks, nest.index(value), now[1])};
        })[1];
    return nest.loop(none, row.size, none, [&](LinearExpr i, ValueRange found) {
      Value key = row.keyAt(i);
      put(to, at(found[0]), key, positionOf(i));
      Value isCandidate = row.compare(arith::CmpIPredicate::ule, leadingOf(key), last);
      return Carried{row.apply<arith::AddIOp>(found[0], row.toI64(isCandidate))};
    })[0];
  }

  void countDigits(const Buffers &from, Value sorted) {
    clear(plan.digits * SortPlan::digitValues);
    Memory keys = memoryOf(SortPlan::keys, from.keys);
    forAll(sorted, [&](LinearExpr i) {
      Value key = keys.load(nest, at(i));
      for (int64_t digit = 0; digit < plan.digits; ++digit)
        increment(countOf(key, digit));
    });
  }

  void moveByDigit(const Buffers &from, const Buffers &to, Value sorted, int64_t digit) {
    // Counts become the places of each value's first key.
    nest.loop(nest.constant(0), nest.constant(SortPlan::digitValues),
              row.constant(0, b.getI32Type()), [&](LinearExpr value, ValueRange before) {
                Point point = at(value + LinearExpr(digit * SortPlan::digitValues));
                Value here = counts.load(nest, point);
                counts.store(nest, point, before[0]);
                return Carried{row.apply<arith::AddIOp>(before[0], here)};
              });
    Memory keys = memoryOf(SortPlan::keys, from.keys),
           positions = memoryOf(SortPlan::positions, from.positions);
    forAll(sorted, [&](LinearExpr i) {
      Value key = keys.load(nest, at(i));
      Point point = countOf(key, digit);
      Value place = counts.load(nest, point);
      counts.store(nest, point, row.apply<arith::AddIOp>(place, 1));
      put(to, at(row.toI64(place)), key, positions.load(nest, at(i)));
    });
  }

  SortRow &row;
  const SortPlan &plan;
  LoopNest &nest;
  OpBuilder &b;
  Memory counts;
};

} // namespace

void gradc::cpu::emitRadixSort(SortRow &row) { RadixSort(row).emit(); }
