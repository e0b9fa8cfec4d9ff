// The first positions of a row in order, kept in a small set: an element that precedes the last
// one of the set replaces it. Most elements follow it, a vector of them in one comparison.
#include "compiler/codegen/cpu/ops/SortKeys.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace gradc::cpu;
using namespace gradc::tile;

namespace {

/// Numbers of 64 bits with a key in the high half and the element's position in the low one: no two
/// are equal, and they are in the order of the sort.
class Selection {
public:
  explicit Selection(SortRow &row)
      : row(row), nest(row.nest), b(nest.builder), lanes(nest.lanes / 2),
        elements(row.plan.selectedElements()),
        set(row.scratch, RankedTensorType::get({elements}, b.getI64Type()), /*panel=*/{}),
        vectorType(VectorType::get({lanes}, b.getI64Type())) {}

  /// 1. Fill the set with numbers behind all elements', and its last vector with 0, which is
  ///    before them.
  /// 2. Go through the row. The carried value is the last number of the set.
  /// 3. Store each position where as many numbers of the set precede it.
  void emit() {
    for (int64_t i = 0; i < elements; ++i)
      set.store(nest, at(LinearExpr(i)), i < row.plan.count ? behind(i) : nest.constant(0));
    Value last = behind(row.plan.count - 1), done = nest.constant(0);
    if (row.isAdjacent()) {
      Value width = nest.constant(nest.lanes);
      Value vectors = row.apply<arith::DivUIOp>(row.size, width);
      last = nest.loop(done, vectors, last, [&](LinearExpr i, ValueRange now) {
        return Carried{addVector(i * nest.lanes, now[0])};
      })[0];
      done = row.apply<arith::MulIOp>(vectors, width);
    }
    nest.loop(done, row.size, last, [&](LinearExpr i, ValueRange now) {
      return Carried{add(row.keyAt(i), nest.index(i), now[0])};
    });
    store();
  }

private:
  using Carried = SmallVector<Value>;

  static Point at(const LinearExpr &position) { return {{position}, /*valid=*/0}; }
  /// A number behind all elements', whose positions have 31 bits.
  Value behind(int64_t i) { return row.constant(int64_t(0xffffffff80000000) + i, b.getI64Type()); }
  Value addressOf(int64_t vector) { return set.address(nest, LinearExpr(vector * lanes)); }
  Value loadSet(int64_t vector) {
    return LLVM::LoadOp::create(b, nest.location, vectorType, addressOf(vector), 8 * lanes);
  }
  void storeSet(int64_t vector, Value numbers) {
    LLVM::StoreOp::create(b, nest.location, numbers, addressOf(vector), 8 * lanes);
  }

  /// The last number of the set after an element; `last`: before it.
  Value add(Value key, Value position, Value last) {
    Value high = row.apply<arith::ShLIOp>(row.toI64(key), 32);
    Value number = row.apply<arith::OrIOp>(high, position);
    Value precedes = row.compare(arith::CmpIPredicate::ult, number, last);
    return nest.choose(precedes, last, [&] { return Carried{replace(last, number)}; })[0];
  }

  /// Adds a vector of elements from `i` on, of which only those are visited that do not follow
  /// the last number.
  Value addVector(const LinearExpr &i, Value last) {
    Value keys = row.keysAt(i), key = row.apply<arith::ShRUIOp>(last, 32);
    Value bound = nest.splat(arith::TruncIOp::create(b, nest.location, b.getI32Type(), key));
    Value isNear = row.compare(arith::CmpIPredicate::ule, keys, bound);
    Type bits = b.getIntegerType(unsigned(nest.lanes));
    Value mask = row.toI64(LLVM::BitcastOp::create(b, nest.location, bits, isNear));
    Value isAny = row.compare(arith::CmpIPredicate::ne, mask, nest.constant(0));
    return nest.choose(isAny, last, [&] {
      Value count = math::CtPopOp::create(b, nest.location, mask);
      Carried after =
          nest.loop(nest.constant(0), count, {mask, last}, [&](LinearExpr, ValueRange now) {
            Value lane = math::CountTrailingZerosOp::create(b, nest.location, now[0]);
            LinearExpr element = i + nest.variable(lane);
            Value rest = row.apply<arith::AndIOp>(
                now[0], row.apply<arith::SubIOp>(now[0], nest.constant(1)));
            return Carried{rest, add(row.keyAt(element), nest.index(element), now[1])};
          });
      return Carried{after[1]};
    })[0];
  }

  /// Puts a number in the place of the last one; returns the last one afterwards.
  Value replace(Value last, Value number) {
    auto inLanes = [&](Value x) -> Value {
      return vector::BroadcastOp::create(b, nest.location, vectorType, x);
    };
    Value old = inLanes(last), other = inLanes(number), most;
    for (int64_t v = 0; v < elements / lanes; ++v) {
      Value now = loadSet(v);
      now = row.choose(row.compare(arith::CmpIPredicate::eq, now, old), other, now);
      storeSet(v, now);
      most = most ? row.apply<arith::MaxUIOp>(most, now) : now;
    }
    return vector::ReductionOp::create(b, nest.location, vector::CombiningKind::MAXUI, most);
  }

  void store() {
    int64_t count = row.plan.count;
    nest.loop(int64_t(0), count, /*unroll=*/false, {}, [&](LinearExpr i, ValueRange) {
      Value number = set.load(nest, at(i));
      Value own = vector::BroadcastOp::create(b, nest.location, vectorType, number), later;
      for (int64_t v = 0; v < elements / lanes; ++v) {
        Value follows = row.compare(arith::CmpIPredicate::ugt, loadSet(v), own);
        Value ones = row.extend(follows, b.getI64Type());
        later = later ? row.apply<arith::AddIOp>(later, ones) : ones;
      }
      Value behind =
          vector::ReductionOp::create(b, nest.location, vector::CombiningKind::ADD, later);
      Value place = row.apply<arith::SubIOp>(nest.constant(count - 1), behind);
      row.store(nest.variable(place), row.apply<arith::AndIOp>(number, 0xffffffff));
      return Carried();
    });
  }

  SortRow &row;
  LoopNest &nest;
  OpBuilder &b;
  int64_t lanes;    ///< of 64 bits
  int64_t elements; ///< of the set, in whole vectors
  Memory set;
  VectorType vectorType;
};

} // namespace

void gradc::cpu::emitSelection(SortRow &row) { Selection(row).emit(); }
