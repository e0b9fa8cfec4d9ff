// One loop nest over the elements carries the number of true ones so far, which is the column of
// the next one.
#include "compiler/codegen/cpu/ops/OneOp.h"
#include "compiler/codegen/cpu/ops/RowWalk.h"

using namespace mlir;
using namespace gradc::cpu;
using namespace gradc::tile;

namespace {

class Positions {
public:
  Positions(exec::KernelOp kernel, LoopNest &nest, const Memory &operand, const Memory &result)
      : nest(nest), b(nest.builder), operand(operand), result(result),
        shape(cast<RankedTensorType>(kernel.getBlock().getArgument(0).getType()).getShape()),
        most(kernel.getRoot().getDimSize(1)) {}

  void emit() {
    std::vector<LinearExpr> at;
    Value end = nest.constant(most), count = walk(at, nest.constant(0));
    Value last = arith::MinSIOp::create(b, nest.location, count, end);
    for (size_t dim = 0; dim < shape.size(); ++dim)
      nest.loop(last, end, {}, [&](LinearExpr column, ValueRange) {
        store(dim, column, nest.constant(0));
        return SmallVector<Value>();
      });
  }

private:
  /// The loops over the elements behind the coordinates `at`. Takes and returns the number of true
  /// elements so far.
  Value walk(std::vector<LinearExpr> &at, Value count) {
    if (at.size() == shape.size())
      return visit(at, count);
    return nest.loop(nest.constant(0), nest.constant(shape[at.size()]), count,
                     [&](LinearExpr i, ValueRange now) {
                       at.push_back(i);
                       Value next = walk(at, now[0]);
                       at.pop_back();
                       return SmallVector<Value>{next};
                     })[0];
  }

  Value visit(const std::vector<LinearExpr> &at, Value count) {
    Value isTrue = operand.load(nest, Point{at, /*valid=*/0});
    auto storeAll = [&] {
      LinearExpr column = nest.variable(count);
      for (auto [dim, coordinate] : llvm::enumerate(at))
        store(dim, column, nest.index(coordinate));
    };
    if (most == llvm::product_of(shape)) {
      // No branch, which would often be predicted wrong: the next true element overwrites what is
      // stored of others. There are as many columns as elements, so `count` is one of them.
      storeAll();
    } else {
      Value isColumn = arith::CmpIOp::create(b, nest.location, arith::CmpIPredicate::slt, count,
                                             nest.constant(most));
      nest.when(arith::AndIOp::create(b, nest.location, isTrue, isColumn), storeAll);
    }
    Value more = arith::ExtUIOp::create(b, nest.location, b.getI64Type(), isTrue);
    return arith::AddIOp::create(b, nest.location, count, more);
  }

  void store(size_t dim, const LinearExpr &column, Value coordinate) {
    result.store(nest, Point{{LinearExpr(int64_t(dim)), column}, /*valid=*/0}, coordinate);
  }

  LoopNest &nest;
  OpBuilder &b;
  const Memory &operand, &result;
  ArrayRef<int64_t> shape; ///< of the operand
  int64_t most;            ///< columns of the result
};

} // namespace

LogicalResult gradc::cpu::emitPositions(OneOp &op) {
  if (op.kernel.getRows())
    return op.kernel.emitOpError("expected a fixed number of elements");
  Positions positions(op.kernel, op.nest, op.operand(), op.result());
  return forEachRow(op, [&](ArrayRef<LinearExpr>) { positions.emit(); });
}
