// Patches inside a picture and patches across its edge use two copies of the same loops.
#include "compiler/codegen/cpu/winograd/WinogradPatches.h"

#include "passes/layout/Winograd.h"

using namespace mlir;
using namespace gradc::cpu;
using namespace gradc::tile;
using namespace gradc::cpu::winograd;

void winograd::forAll(LoopNest &nest, Value count, llvm::function_ref<void(LinearExpr)> body) {
  nest.loop(nest.constant(0), count, {}, [&](LinearExpr i, ValueRange) {
    body(i);
    return SmallVector<Value>();
  });
}

Value WindowBlock::picturesOf(LoopNest &nest, Value all) const {
  Value left = arith::SubIOp::create(nest.builder, nest.location, all, nest.index(picture));
  return arith::MinSIOp::create(nest.builder, nest.location, left, nest.constant(batch));
}

LinearExpr WindowBlock::rowOf(LoopNest &nest, const LinearExpr &line, const LinearExpr &column,
                              const LinearExpr &picture) const {
  LinearExpr window = line * columns + column;
  if (!pictures)
    return window * batch + picture;
  return nest.variable(
             arith::MulIOp::create(nest.builder, nest.location, nest.index(window), pictures)) +
         picture;
}

Value WindowBlock::rowCount(LoopNest &nest) const {
  auto times = [&](Value a, Value b) -> Value {
    return arith::MulIOp::create(nest.builder, nest.location, a, b);
  };
  Value windows =
      linesLeft ? times(linesLeft, nest.constant(columns)) : nest.constant(lines * columns);
  return times(windows, pictures ? pictures : nest.constant(batch));
}

void winograd::forBlocks(LoopNest &nest, int64_t size, int64_t perRow, WindowBlock &block,
                         llvm::function_ref<void()> body) {
  auto each = [&](LinearExpr i) {
    block.picture = i * block.batch;
    if (perRow)
      block.pictures = block.picturesOf(nest, nest.extent(size, perRow));
    body();
  };
  if (!perRow)
    return forAll(nest, size / block.batch, each);
  Value all = nest.extent(size, perRow), batch = nest.constant(block.batch);
  forAll(nest, arith::CeilDivSIOp::create(nest.builder, nest.location, all, batch), each);
}

void winograd::forWindows(LoopNest &nest, const WindowBlock &block,
                          llvm::function_ref<void(LinearExpr, LinearExpr)> body) {
  auto each = [&](LinearExpr line) {
    forAll(nest, block.columns, [&](LinearExpr column) { body(line, column); });
  };
  if (block.linesLeft)
    forAll(nest, block.linesLeft, each);
  else
    forAll(nest, block.lines, each);
}

void winograd::forPictures(LoopNest &nest, const WindowBlock &block,
                           llvm::function_ref<void(LinearExpr)> body) {
  if (block.pictures)
    forAll(nest, block.pictures, body);
  else
    forAll(nest, block.batch, body);
}

void winograd::forAll(LoopNest &nest, int64_t count, llvm::function_ref<void(LinearExpr)> body) {
  nest.loop(0, count, false, {}, [&](LinearExpr i, ValueRange) {
    body(i);
    return SmallVector<Value>();
  });
}

LinearExpr winograd::lanesFrom(LinearExpr first) {
  first.lane = 1;
  return first;
}

Scratch::Scratch(LoopNest &nest, ScratchMemory &from, int64_t slots, int64_t rows, int64_t channels)
    : channels(channels), lanes(nest.lanes) {
  OpBuilder &b = nest.builder;
  auto type = RankedTensorType::get({slots, winogradSlotElements(rows, channels, nest.level)},
                                    b.getF32Type());
  Value base = nest.addressBehind(from.base, b.getI8Type(), from.used);
  from.used += type.getNumElements() * int64_t(sizeof(float));
  memory = Memory(base, type, {});
}

Point Scratch::at(const LinearExpr &slot, const LinearExpr &row, const LinearExpr &channel) const {
  return {{slot, row * channels + channel}, channel.lane ? lanes : 0};
}

std::optional<Picture> winograd::pictureOf(linalg::GenericOp convolution) {
  Picture picture;
  picture.padded = picture.inside = convolution.getDpsInputOperand(0)->get();
  auto around = picture.padded.getDefiningOp<linalg::GenericOp>();
  if (!around || !around->hasAttr("grad.nothing"))
    return picture;
  auto pieces = piecesOf(around);
  if (!pieces)
    return std::nullopt;
  picture.inside = around->getOperand(0);
  picture.isPadded = true;
  for (int64_t d = 0; d < 2; ++d)
    picture.low[d] = (*pieces)[d].offset;
  return picture;
}

linalg::GenericOp winograd::convolutionOf(exec::KernelOp kernel) {
  for (auto op : kernel.getBlock().getOps<linalg::GenericOp>())
    if (op.getNumReductionLoops() > 0 && op.getNumDpsInputs() == 2 &&
        cast<RankedTensorType>(op.getResult(0).getType()).getRank() == 4)
      return op;
  return {};
}

int64_t winograd::tileRows(const LoopNest &nest, int64_t vectors) {
  int64_t registers = nest.level.vectorRegisters - 1; // one register holds the broadcast element
  return std::clamp<int64_t>((registers - vectors) / vectors, 1, 8);
}

int64_t winograd::picturesAhead(int64_t vectors) {
  constexpr int64_t vectorsAhead = 8; // 4 to 16 are equal
  return llvm::divideCeil(vectorsAhead, vectors);
}

void winograd::prefetchSquare(TileEmitter &tiles, Value value, int64_t size,
                              llvm::function_ref<Point(int64_t, int64_t)> at) {
  SmallVector<Point> points;
  for (int64_t i = 0; i < size; ++i)
    for (int64_t j = 0; j < size; ++j)
      points.push_back(at(i, j));
  tiles.prefetcher.lines(value, points, Memory::Cache::second);
}

Value winograd::zeroF32(LoopNest &nest) {
  OpBuilder &b = nest.builder;
  return arith::ConstantOp::create(b, nest.location, b.getZeroAttr(nest.vectorOf(b.getF32Type())));
}

Value winograd::pullF32(LoopNest &nest, TileEmitter &tiles, Value value, const Point &point) {
  Value pulled = nest.splat(tiles.pull(value, point));
  Type f32 = nest.builder.getF32Type();
  if (getElementTypeOrSelf(pulled) == f32)
    return pulled;
  return arith::ExtFOp::create(nest.builder, nest.location, nest.vectorOf(f32), pulled);
}

/// Whether the patch from (y, x) on lies inside the picture.
static Value liesInside(LoopNest &nest, const Picture &picture, int64_t patch, const LinearExpr &y,
                        const LinearExpr &x) {
  OpBuilder &b = nest.builder;
  auto shape = cast<RankedTensorType>(picture.inside.getType()).getShape();
  auto holds = [&](const LinearExpr &position, int64_t d) -> Value {
    // As unsigned numbers, positions before the first one exceed the last one.
    Value first = nest.index(position + LinearExpr(-picture.low[d]));
    return arith::CmpIOp::create(b, nest.location, arith::CmpIPredicate::ult, first,
                                 nest.constant(std::max<int64_t>(shape[d] - patch + 1, 0)));
  };
  return arith::AndIOp::create(b, nest.location, holds(y, 0), holds(x, 1));
}

void winograd::transformPatches(LoopNest &nest, TileEmitter &tiles, const Transform &transform,
                                const Picture &picture, const WindowBlock &block,
                                const ChannelRange &range, const Scratch &to, bool reversed) {
  int64_t patch = transform.patch;
  auto turned = [&](int64_t i) { return reversed ? patch - 1 - i : i; };
  forWindows(nest, block, [&](LinearExpr line, LinearExpr c) {
    LinearExpr y = (block.row + line) * transform.outputs,
               x = (block.column + c) * transform.outputs;
    auto patches = [&](bool padded) {
      forPictures(nest, block, [&](LinearExpr n) {
        LinearExpr row = block.rowOf(nest, line, c, n);
        auto transformVector = [&](LinearExpr k) {
          auto pointAt = [&](int64_t i, int64_t j, int64_t later, bool padded) {
            int64_t down = turned(i) - (padded ? 0 : picture.low[0]),
                    right = turned(j) - (padded ? 0 : picture.low[1]);
            return Point{{y + LinearExpr(down), x + LinearExpr(right),
                          block.picture + n + LinearExpr(later),
                          lanesFrom(range.first + k * nest.lanes)},
                         nest.lanes};
          };
          prefetchSquare(tiles, picture.inside, patch, [&](int64_t i, int64_t j) {
            return pointAt(i, j, picturesAhead(to.channels / nest.lanes), /*padded=*/false);
          });
          auto at = [&](int64_t i, int64_t j) {
            Value from = padded ? picture.padded : picture.inside;
            return pullF32(nest, tiles, from, pointAt(i, j, /*later=*/0, padded));
          };
          transform.ofPatch(at, [&](int64_t i, int64_t j, Value value) {
            LinearExpr slot(transform.slotOf(i, j));
            to.memory.store(nest, to.at(slot, row, lanesFrom(k * nest.lanes)), value);
          });
        };
        if (range.vectors)
          forAll(nest, range.vectors, transformVector);
        else
          forAll(nest, to.channels / nest.lanes, transformVector);
      });
    };
    if (!picture.isPadded)
      return patches(false);
    Value inside = liesInside(nest, picture, patch, y, x);
    nest.when(inside, [&] { patches(false); });
    Value no = arith::ConstantIntOp::create(nest.builder, nest.location, 0, 1);
    nest.when(
        arith::CmpIOp::create(nest.builder, nest.location, arith::CmpIPredicate::eq, inside, no),
        [&] { patches(true); });
  });
}
