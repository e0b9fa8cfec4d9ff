// Works on blocks of windows whose transforms fit in the second-level cache. Every patch of the
// picture is transformed, a contraction over channels follows for each of its slots, and their
// results become m x m results, which the rest of the kernel reads from registers. Those beyond the
// edge of a picture are dropped.
#include "compiler/codegen/cpu/winograd/Winograd.h"

#include "compiler/codegen/cpu/winograd/WinogradPatches.h"
#include "passes/layout/Winograd.h"

using namespace mlir;
using namespace gradc::cpu;
using namespace gradc::tile;
using namespace gradc::cpu::winograd;

namespace {

class Convolution {
public:
  Convolution(LoopNest &nest, TileEmitter &tiles, linalg::GenericOp op, const Picture &picture,
              exec::KernelOp kernel, Value filter, ArrayRef<Memory> results, ScratchMemory scratch)
      : nest(nest), tiles(tiles), op(op), picture(picture), kernel(kernel), results(results),
        channels(cast<RankedTensorType>(picture.inside.getType()).getShape().back()),
        filters(cast<RankedTensorType>(op.getResult(0).getType()).getShape().back()),
        panel(kernel.getScheduleAttr().getTile().back()),
        // A gradient reverses the filter, so its operand is not the block argument itself.
        reversed(!isa<BlockArgument>(op.getDpsInputOperand(1)->get())),
        transform(nest, kernel.getScheduleAttr().getWinogradOutputs()),
        block(blockOf(kernel, transform.outputs)),
        filter(filter,
               RankedTensorType::get({filters / panel, transform.slots, channels, panel},
                                     nest.builder.getF32Type()),
               {}),
        patches(nest, scratch, transform.slots, rows(), channels),
        products(nest, scratch, transform.slots, rows(), filters) {}

  void emit(Value begin, Value end) {
    ArrayRef<int64_t> shape = cast<RankedTensorType>(op.getResult(0).getType()).getShape();
    int64_t columns = llvm::divideCeil(shape[1], transform.outputs * block.columns);
    nest.loop(begin, end, {}, [&](LinearExpr unit, ValueRange) {
      OpBuilder &b = nest.builder;
      Value at = nest.index(unit), all = nest.constant(columns);
      Value line = arith::DivSIOp::create(b, nest.location, at, all),
            column = arith::RemSIOp::create(b, nest.location, at, all);
      block.row = nest.variable(line) * block.lines;
      block.column = nest.variable(column) * block.columns;
      if (int64_t lines = llvm::divideCeil(shape[0], transform.outputs); lines % block.lines != 0)
        block.linesLeft = linesLeft(lines);
      forBlocks(nest, shape[2], tiles.perRow(op.getResult(0), 2), block, [&] { emitBlock(); });
      return SmallVector<Value>();
    });
  }

private:
  static WindowBlock blockOf(exec::KernelOp kernel, int64_t outputs) {
    ArrayRef<int64_t> tile = kernel.getScheduleAttr().getTile();
    return {tile[1] / outputs, tile[2], {}, {}, {}, {}, tile[0] / outputs};
  }
  int64_t rows() const { return block.lines * block.columns * block.batch; }

  /// The block's lines, of `all` lines of the picture.
  Value linesLeft(int64_t all) {
    Value left = nest.index(LinearExpr(all) + block.row * -1);
    return arith::MinSIOp::create(nest.builder, nest.location, left, nest.constant(block.lines));
  }

  void emitBlock() {
    transformPatches(nest, tiles, transform, picture, block, {LinearExpr(0)}, patches, reversed);
    multiply();
    forWindows(nest, block, [&](LinearExpr line, LinearExpr c) {
      forPictures(nest, block, [&](LinearExpr n) {
        LinearExpr row = block.rowOf(nest, line, c, n);
        forAll(nest, filters / nest.lanes,
               [&](LinearExpr o) { transformBack(line, c, n, row, o); });
      });
    });
  }

  /// products[slot] = patches[slot] x filter[slot], in register tiles. If the number of rows is
  /// only known at run time, the last tile begins early enough to end with them.
  void multiply() {
    int64_t vectors = panel / nest.lanes, height = std::min(tileRows(nest, vectors), rows());
    if (block.varies())
      return multiplyRows(height);
    int64_t full = rows() / height;
    forAll(nest, transform.slots, [&](LinearExpr slot) {
      forAll(nest, filters / panel, [&](LinearExpr p) {
        forAll(nest, full, [&](LinearExpr i) { multiplyTile(slot, p, i * height, height); });
        if (int64_t rest = rows() - full * height)
          multiplyTile(slot, p, LinearExpr(full * height), rest);
      });
    });
  }

  void multiplyRows(int64_t height) {
    OpBuilder &b = nest.builder;
    Value all = block.rowCount(nest), step = nest.constant(height), zero = nest.constant(0);
    Value last = arith::MaxSIOp::create(b, nest.location, zero,
                                        arith::SubIOp::create(b, nest.location, all, step));
    Value count = arith::CeilDivSIOp::create(b, nest.location, all, step);
    forAll(nest, transform.slots, [&](LinearExpr slot) {
      forAll(nest, filters / panel, [&](LinearExpr p) {
        forAll(nest, count, [&](LinearExpr i) {
          Value row = arith::MinSIOp::create(b, nest.location, nest.index(i * height), last);
          multiplyTile(slot, p, nest.variable(row), height);
        });
      });
    });
  }

  /// Sums channels in parts: the transform back enlarges the rounding of the sums, which is most of
  /// the result's.
  void multiplyTile(const LinearExpr &slot, const LinearExpr &p, const LinearExpr &row,
                    int64_t height) {
    constexpr int64_t part = 64;
    int64_t first = channels % part ? channels % part : part;
    addTile(slot, p, row, height, LinearExpr(0), first, /*toProducts=*/false);
    forAll(nest, (channels - first) / part, [&](LinearExpr i) {
      addTile(slot, p, row, height, i * part + LinearExpr(first), part, /*toProducts=*/true);
    });
  }

  /// The sums of `count` channels from `begin` on, alone or added to the products.
  void addTile(const LinearExpr &slot, const LinearExpr &p, const LinearExpr &row, int64_t height,
               const LinearExpr &begin, int64_t count, bool toProducts) {
    OpBuilder &b = nest.builder;
    int64_t vectors = panel / nest.lanes;
    SmallVector<Value> sums(height * vectors, zeroF32(nest));
    sums = nest.loop(0, count, false, sums, [&](LinearExpr i, ValueRange carried) {
      LinearExpr k = begin + i;
      SmallVector<Value> columns, next;
      for (int64_t v = 0; v < vectors; ++v)
        columns.push_back(
            filter.load(nest, {{p, slot, k, lanesFrom(LinearExpr(v * nest.lanes))}, nest.lanes}));
      for (int64_t r = 0; r < height; ++r) {
        Value scalar = patches.memory.load(nest, patches.at(slot, row + LinearExpr(r), k));
        for (int64_t v = 0; v < vectors; ++v)
          next.push_back(vector::FMAOp::create(b, nest.location, nest.splat(scalar), columns[v],
                                               carried[r * vectors + v]));
      }
      return next;
    });
    for (int64_t r = 0; r < height; ++r)
      for (int64_t v = 0; v < vectors; ++v) {
        Point at = products.at(slot, row + LinearExpr(r),
                               lanesFrom(p * panel + LinearExpr(v * nest.lanes)));
        Value sum = sums[r * vectors + v];
        if (toProducts)
          sum = arith::AddFOp::create(b, nest.location, products.memory.load(nest, at), sum);
        products.memory.store(nest, at, sum);
      }
  }

  void transformBack(const LinearExpr &l, const LinearExpr &c, const LinearExpr &n,
                     const LinearExpr &row, const LinearExpr &o) {
    LinearExpr first = lanesFrom(o * nest.lanes);
    auto product = [&](int64_t i, int64_t j) {
      return products.memory.load(nest,
                                  products.at(LinearExpr(transform.slotOf(i, j)), row, first));
    };
    transform.toResults(product, [&](int64_t i, int64_t j, Value value) {
      if (reversed)
        i = transform.outputs - 1 - i, j = transform.outputs - 1 - j;
      Point point{{(block.row + l) * transform.outputs + LinearExpr(i),
                   (block.column + c) * transform.outputs + LinearExpr(j), block.picture + n,
                   first},
                  nest.lanes};
      whenInside(point, {i, j}, [&] {
        nest.known(op.getResult(0), point) = value;
        finish(point);
      });
    });
  }

  /// `offset`: of the point in the results of its window.
  void whenInside(const Point &point, std::array<int64_t, 2> offset,
                  llvm::function_ref<void()> body) {
    ArrayRef<int64_t> shape = cast<RankedTensorType>(op.getResult(0).getType()).getShape();
    Value inside;
    for (int64_t d = 0; d < 2; ++d) {
      int64_t rest = shape[d] % transform.outputs;
      if (rest == 0 || offset[d] < rest)
        continue;
      Value holds =
          arith::CmpIOp::create(nest.builder, nest.location, arith::CmpIPredicate::slt,
                                nest.index(point.coordinates[d]), nest.constant(shape[d]));
      inside = inside ? arith::AndIOp::create(nest.builder, nest.location, inside, holds) : holds;
    }
    inside ? nest.when(inside, body) : body();
  }

  /// Emits the ops after the convolution. Results may overwrite operands read at the same element,
  /// so all results are computed before any is stored.
  void finish(const Point &point) {
    auto values =
        llvm::map_to_vector(kernel.getYielded(), [&](Value v) { return tiles.pull(v, point); });
    for (auto [memory, value] : llvm::zip(results, values))
      memory.store(nest, point, value);
  }

  LoopNest &nest;
  TileEmitter &tiles;
  linalg::GenericOp op;
  Picture picture;
  exec::KernelOp kernel;
  ArrayRef<Memory> results;
  int64_t channels, filters, panel; // `channels` is the summed dim
  bool reversed;
  Transform transform;
  WindowBlock block;
  Memory filter;
  Scratch patches, products;
};

} // namespace

LogicalResult gradc::cpu::emitWinograd(exec::KernelOp kernel, LoopNest &nest, TileEmitter &tiles,
                                       Value filter, ArrayRef<Memory> results, Value begin,
                                       Value end, Value scratch) {
  linalg::GenericOp op = convolutionOf(kernel);
  std::optional<Picture> picture = op ? pictureOf(op) : std::nullopt;
  exec::PanelAttr layout = kernel.getLayout(*transformedFilter(kernel));
  if (!picture || kernel.getScheduleAttr().getWinogradOutputs() != layout.getWinogradOutputs())
    return kernel.emitOpError("expected one convolution over two dims to read its filter "
                              "transformed, for as many results as its schedule says");
  Convolution(nest, tiles, op, *picture, kernel, filter, results, {scratch}).emit(begin, end);
  return success();
}
