// The filter's side of Winograd's convolutions: its transform G g G^T, and its gradient, the sum
// over all windows of G^T ((A y A^T) * (B^T d B)) G for gradients y and patches d.
#include "compiler/codegen/cpu/winograd/Winograd.h"

#include "compiler/codegen/cpu/loops/PanelCopies.h"
#include "compiler/codegen/cpu/winograd/WinogradPatches.h"
#include "passes/layout/Winograd.h"

using namespace mlir;
using namespace gradc::cpu;
using namespace gradc::tile;
using namespace gradc::cpu::winograd;

namespace {

class FilterTransform {
public:
  FilterTransform(exec::KernelOp kernel, LoopNest &nest, TileEmitter &tiles, Value transformed)
      : nest(nest), tiles(tiles), value(kernel.getYielded().front()),
        shape(cast<RankedTensorType>(value.getType()).getShape()),
        panel(kernel.getScheduleAttr().getTile()[3]),
        together(kernel.getScheduleAttr().getTile()[2]),
        transform(nest, kernel.getLayout(kernel.getBlock().getNumArguments()).getWinogradOutputs()),
        memory(transformed,
               RankedTensorType::get({shape[3] / panel, transform.slots, shape[2], panel},
                                     nest.builder.getF32Type()),
               {}) {}

  void emit(Value begin, Value end) {
    nest.loop(begin, end, {}, [&](LinearExpr unit, ValueRange) {
      forAll(nest, shape[2] / together, [&](LinearExpr block) {
        forAll(nest, panel / nest.lanes, [&](LinearExpr vector) {
          emitChannels(unit, block * together, vector * nest.lanes);
        });
      });
      return SmallVector<Value>();
    });
  }

private:
  /// A vector of filters for a few channels: a square of channels where a filter that is stored the
  /// other way is transposed in registers, else one channel.
  void emitChannels(const LinearExpr &unit, const LinearExpr &channel, const LinearExpr &column) {
    auto pointAt = [&](int64_t i, int64_t j, int64_t k) {
      return Point{
          {LinearExpr(i), LinearExpr(j), channel + LinearExpr(k), lanesFrom(unit * panel + column)},
          nest.lanes};
    };
    auto channels = llvm::seq<int64_t>(0, together);
    for (int64_t i = 0; i < taps; ++i)
      for (int64_t j = 0; j < taps; ++j)
        tiles.prepare(value,
                      llvm::map_to_vector(channels, [&](int64_t k) { return pointAt(i, j, k); }));
    for (int64_t k : channels) {
      auto tap = [&](int64_t i, int64_t j) {
        return pullF32(nest, tiles, value, pointAt(i, j, k));
      };
      transform.ofFilter(tap, [&](int64_t i, int64_t j, Value number) {
        memory.store(
            nest,
            {{unit, LinearExpr(transform.slotOf(i, j)), channel + LinearExpr(k), lanesFrom(column)},
             nest.lanes},
            number);
      });
    }
  }

  LoopNest &nest;
  TileEmitter &tiles;
  Value value;
  ArrayRef<int64_t> shape;
  int64_t panel, together; // filters of a unit, channels in registers
  Transform transform;
  Memory memory;
};

/// A unit covers a vector or two of input channels, a group of filters at a time. The units of a
/// call share each pass over the windows, so that gradients are transformed once for them.
class FilterGradient {
public:
  FilterGradient(LoopNest &nest, TileEmitter &tiles, linalg::GenericOp op, const Picture &picture,
                 exec::ScheduleAttr schedule, int64_t together, const Memory &result,
                 ScratchMemory scratch)
      : nest(nest), tiles(tiles), picture(picture), gradient(op.getDpsInputOperand(1)->get()),
        result(result), shape(cast<RankedTensorType>(gradient.getType()).getShape()),
        channels(schedule.getTile()[2]), filters(schedule.getTile()[3]), together(together),
        transform(nest, schedule.getWinogradOutputs()),
        block{schedule.getBlock()[1] / transform.outputs, schedule.getBlock()[2], {}, {}, {}, {}},
        patches(nest, scratch, transform.slots, rows(), together * channels),
        gradients(nest, scratch, transform.slots, rows(), filters),
        sums(nest, scratch, transform.slots, together * channels, filters) {}

  void emit(Value begin, Value end) {
    forGroups(nest, begin, end, together, [&](Value first, Value next) {
      units = arith::SubIOp::create(nest.builder, nest.location, next, first);
      firstChannel = nest.variable(first) * channels;
      forAll(nest, shape[3] / filters, [&](LinearExpr i) {
        firstFilter = i * filters;
        clearSums();
        forAll(nest, shape[0] / transform.outputs, [&](LinearExpr row) {
          forAll(nest, shape[1] / (transform.outputs * block.columns), [&](LinearExpr column) {
            forBlocks(nest, shape[2], tiles.perRow(gradient, 2), block, [&] {
              block.row = row;
              block.column = column * block.columns;
              transformPatches(nest, tiles, transform, picture, block,
                               {firstChannel, ofUnits(channels / nest.lanes)}, patches,
                               /*reversed=*/false);
              transformGradients();
              multiplyAndAdd();
            });
          });
        });
        transformSums();
      });
    });
  }

private:
  int64_t rows() const { return block.columns * block.batch; }
  /// In this run: n of each unit.
  Value ofUnits(int64_t n) {
    return arith::MulIOp::create(nest.builder, nest.location, units, nest.constant(n));
  }

  /// Calls `body` for each vector of sums.
  void forSums(llvm::function_ref<void(LinearExpr, LinearExpr)> body) {
    forAll(nest, ofUnits(channels), [&](LinearExpr k) {
      forAll(nest, filters / nest.lanes, [&](LinearExpr o) { body(k, lanesFrom(o * nest.lanes)); });
    });
  }

  void clearSums() {
    forAll(nest, transform.slots, [&](LinearExpr slot) {
      forSums([&](LinearExpr k, LinearExpr o) {
        sums.memory.store(nest, sums.at(slot, k, o), zeroF32(nest));
      });
    });
  }

  /// Computes A y A^T.
  void transformGradients() {
    forAll(nest, block.columns, [&](LinearExpr c) {
      forPictures(nest, block, [&](LinearExpr n) {
        LinearExpr row = block.rowOf(nest, 0, c, n);
        forAll(nest, filters / nest.lanes, [&](LinearExpr o) {
          auto pointAt = [&](int64_t i, int64_t j, int64_t later) {
            return Point{{block.row * transform.outputs + LinearExpr(i),
                          (block.column + c) * transform.outputs + LinearExpr(j),
                          block.picture + n + LinearExpr(later),
                          lanesFrom(firstFilter + o * nest.lanes)},
                         nest.lanes};
          };
          prefetchSquare(tiles, gradient, transform.outputs, [&](int64_t i, int64_t j) {
            return pointAt(i, j, picturesAhead(filters / nest.lanes));
          });
          auto at = [&](int64_t i, int64_t j) {
            return pullF32(nest, tiles, gradient, pointAt(i, j, /*later=*/0));
          };
          transform.ofGradient(at, [&](int64_t i, int64_t j, Value value) {
            LinearExpr slot(transform.slotOf(i, j));
            gradients.memory.store(nest, gradients.at(slot, row, lanesFrom(o * nest.lanes)), value);
          });
        });
      });
    });
  }

  /// sums[slot] += patches[slot]^T x gradients[slot], in register tiles. Each block's windows are
  /// summed alone first: transformSums() enlarges the rounding of the sums.
  void multiplyAndAdd() {
    constexpr int64_t vectors = 2;
    int64_t width = std::min(filters / nest.lanes, vectors), height = tileRows(nest, width);
    int64_t full = channels / height;
    forAll(nest, transform.slots, [&](LinearExpr slot) {
      forAll(nest, filters / (width * nest.lanes), [&](LinearExpr o) {
        LinearExpr filter = o * (width * nest.lanes);
        forAll(nest, units, [&](LinearExpr unit) {
          LinearExpr channel = unit * channels;
          forAll(nest, full,
                 [&](LinearExpr k) { addTile(slot, channel + k * height, height, filter, width); });
          if (int64_t rest = channels - full * height)
            addTile(slot, channel + LinearExpr(full * height), rest, filter, width);
        });
      });
    });
  }

  void addTile(const LinearExpr &slot, const LinearExpr &channel, int64_t height,
               const LinearExpr &filter, int64_t width) {
    auto sumAt = [&](int64_t k, int64_t v) {
      return sums.at(slot, channel + LinearExpr(k), lanesFrom(filter + LinearExpr(v * nest.lanes)));
    };
    SmallVector<Value> values(height * width, zeroF32(nest));
    auto addRow = [&](LinearExpr row, ValueRange carried) {
      SmallVector<Value> columns, next;
      for (int64_t v = 0; v < width; ++v)
        columns.push_back(gradients.memory.load(
            nest, gradients.at(slot, row, lanesFrom(filter + LinearExpr(v * nest.lanes)))));
      for (int64_t k = 0; k < height; ++k) {
        Value scalar = patches.memory.load(nest, patches.at(slot, row, channel + LinearExpr(k)));
        for (int64_t v = 0; v < width; ++v)
          next.push_back(vector::FMAOp::create(nest.builder, nest.location, nest.splat(scalar),
                                               columns[v], carried[k * width + v]));
      }
      return next;
    };
    values = block.pictures ? nest.loop(nest.constant(0), block.rowCount(nest), values, addRow)
                            : nest.loop(0, rows(), false, values, addRow);
    for (int64_t k = 0; k < height; ++k)
      for (int64_t v = 0; v < width; ++v) {
        Value before = sums.memory.load(nest, sumAt(k, v));
        Value sum =
            arith::AddFOp::create(nest.builder, nest.location, before, values[k * width + v]);
        sums.memory.store(nest, sumAt(k, v), sum);
      }
  }

  /// Stores G^T u G of the sums u as the result.
  void transformSums() {
    forSums([&](LinearExpr k, LinearExpr o) {
      auto sum = [&](int64_t i, int64_t j) {
        return sums.memory.load(nest, sums.at(LinearExpr(transform.slotOf(i, j)), k, o));
      };
      transform.toFilter(sum, [&](int64_t i, int64_t j, Value value) {
        Point point{{LinearExpr(i), LinearExpr(j), firstChannel + k, firstFilter + o}, nest.lanes};
        result.store(nest, point, value);
      });
    });
  }

  LoopNest &nest;
  TileEmitter &tiles;
  Picture picture;
  Value gradient;
  Memory result;
  ArrayRef<int64_t> shape;   // the gradient's
  int64_t channels, filters; // of a unit, and of those processed at a time
  int64_t together;          // units at most
  Transform transform;
  WindowBlock block;
  Scratch patches, gradients, sums;
  LinearExpr firstChannel, firstFilter;
  Value units; // processed together in this run
};
} // namespace

bool gradc::cpu::transformsFilter(exec::KernelOp kernel) {
  exec::PanelAttr layout = kernel.getLayout(kernel.getBlock().getNumArguments());
  return layout && layout.isWinograd();
}

void gradc::cpu::emitFilterTransform(exec::KernelOp kernel, LoopNest &nest, TileEmitter &tiles,
                                     Value transformed, Value begin, Value end) {
  FilterTransform(kernel, nest, tiles, transformed).emit(begin, end);
}

LogicalResult gradc::cpu::emitWinogradGradient(exec::KernelOp kernel, LoopNest &nest,
                                               TileEmitter &tiles, const Memory &result,
                                               Value begin, Value end, Value scratch) {
  linalg::GenericOp op = convolutionOf(kernel);
  std::optional<Picture> picture = op ? pictureOf(op) : std::nullopt;
  exec::ScheduleAttr schedule = kernel.getScheduleAttr();
  if (!picture || kernel.getYielded().front() != op.getResult(0) || schedule.getBlock().size() != 3)
    return kernel.emitOpError("expected the gradient of a 3x3 filter over two dims, in blocks");
  FilterGradient(nest, tiles, op, *picture, schedule, winogradUnitsTogether(kernel), result,
                 {scratch})
      .emit(begin, end);
  return success();
}
