// Blocks of windows, so small that their transforms stay in the second cache: every 4x4 patch of
// the picture is transformed, 16 contractions over channels follow, and each 4x4 of their results
// becomes 2x2 results, which the rest of the kernel takes from registers.
//
// With B^T = [[1,0,-1,0],[0,1,1,0],[0,-1,1,0],[0,1,0,-1]] and A^T = [[1,1,1,0],[0,1,-1,-1]]:
// result = A^T ((G g G^T) * (B^T d B)) A   (Lavin and Gray, 2015).
#include "compiler/codegen/cpu/Winograd.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace gradc::cpu;

namespace {
constexpr int64_t patch = 4, outputs = 2, slots = patch * patch;

using Line = std::array<Value, patch>;
using Square = std::array<Line, patch>;

Line columnOf(const Square &square, int64_t j) {
  return {square[0][j], square[1][j], square[2][j], square[3][j]};
}

/// The filter of a gradient is turned around: of its transform, the first and the last change
/// places.
int64_t slotOf(int64_t i, int64_t j, bool reversed) {
  auto turned = [&](int64_t k) { return reversed && k % (patch - 1) == 0 ? patch - 1 - k : k; };
  return turned(i) * patch + turned(j);
}

/// The convolution and what its schedule says about it.
struct Problem {
  linalg::GenericOp op;
  Value padded, inside;    // the picture with and without its padding
  int64_t low[2] = {0, 0}; // padding before the first row and column
  bool isPadded = false, reversed = false;
  int64_t height, width, pictures, channels, filters; // of the result; channels are summed over
  int64_t columns, batch; // windows along a row, and pictures, that go together
  int64_t panel;          // filters of one panel

  int64_t rows() const { return columns * batch; }
};

FailureOr<Problem> inspect(exec::KernelOp kernel) {
  Problem p;
  for (auto op : kernel.getBlock().getOps<linalg::GenericOp>())
    if (op.getNumReductionLoops() > 0)
      p.op = op;
  exec::ScheduleAttr schedule = kernel.getScheduleAttr();
  if (!p.op || p.op.getNumDpsInputs() != 2 || schedule.getTile().size() != 4)
    return kernel.emitOpError(
        "expected one convolution over two dims to read the transformed filter");
  p.padded = p.inside = p.op.getDpsInputOperand(0)->get();
  auto around = p.padded.getDefiningOp<linalg::GenericOp>();
  if (around && around->hasAttr("grad.nothing")) {
    auto pieces = piecesOf(around);
    if (!pieces)
      return kernel.emitOpError("expected a padded picture");
    p.inside = around->getOperand(0);
    p.isPadded = true;
    for (int64_t d = 0; d < 2; ++d)
      p.low[d] = (*pieces)[d].offset;
  }
  p.reversed = !isa<BlockArgument>(p.op.getDpsInputOperand(1)->get());
  ArrayRef<int64_t> result = cast<RankedTensorType>(p.op.getResult(0).getType()).getShape();
  ArrayRef<int64_t> tile = schedule.getTile();
  p.height = result[0], p.width = result[1], p.pictures = result[2], p.filters = result[3];
  p.channels = cast<RankedTensorType>(p.inside.getType()).getShape().back();
  p.columns = tile[1] / outputs, p.batch = tile[2], p.panel = tile[3];
  return p;
}

class Winograd {
public:
  Winograd(LoopNest &nest, TileEmitter &tiles, const Problem &problem, Value filter,
           ValueRange yielded, ArrayRef<Memory> results)
      : nest(nest), tiles(tiles), p(problem), yielded(yielded), results(results) {
    Builder &b = nest.builder;
    auto type =
        RankedTensorType::get({p.filters / p.panel, slots, p.channels, p.panel}, b.getF32Type());
    this->filter = Memory(filter, type, {});
    patches = scratch(p.channels);
    products = scratch(p.filters);
  }

  void emit(Value begin, Value end) {
    nest.loop(begin, end, {}, [&](LinearExpr row, ValueRange) {
      forAll(p.width / (outputs * p.columns), [&](LinearExpr column) {
        forAll(p.pictures / p.batch, [&](LinearExpr picture) {
          at = {row, column * p.columns, picture * p.batch};
          forAll(p.columns, [&](LinearExpr c) { transformPatches(c); });
          multiply();
          forAll(p.columns, [&](LinearExpr c) {
            forAll(p.batch, [&](LinearExpr n) {
              forAll(p.filters / nest.lanes, [&](LinearExpr o) { transformBack(c, n, o); });
            });
          });
        });
      });
      return SmallVector<Value>();
    });
  }

private:
  void forAll(int64_t count, llvm::function_ref<void(LinearExpr)> body) {
    nest.loop(0, count, false, {}, [&](LinearExpr i, ValueRange) {
      body(i);
      return SmallVector<Value>();
    });
  }

  /// [slots][windows of a block][channels]; a line more a slot, so that slots do not meet in the
  /// same sets of a cache.
  Memory scratch(int64_t channels) {
    constexpr int64_t lineBytes = 64;
    OpBuilder &b = nest.builder;
    auto type = RankedTensorType::get({slots, p.rows() * channels + lineBytes / 4}, b.getF32Type());
    Value memory =
        LLVM::AllocaOp::create(b, nest.location, LLVM::LLVMPointerType::get(b.getContext()),
                               b.getF32Type(), nest.constant(type.getNumElements()), lineBytes);
    return Memory(memory, type, {});
  }
  Point inScratch(int64_t slot, const LinearExpr &row, int64_t channels, LinearExpr first) const {
    Point point{{LinearExpr(slot), row * channels + first}, first.lane ? nest.lanes : 0};
    return point;
  }

  Value add(Value x, Value y) { return arith::AddFOp::create(nest.builder, nest.location, x, y); }
  Value subtract(Value x, Value y) {
    return arith::SubFOp::create(nest.builder, nest.location, x, y);
  }

  Line transformed(const Line &d) {
    return {subtract(d[0], d[2]), add(d[1], d[2]), subtract(d[2], d[1]), subtract(d[1], d[3])};
  }

  /// One column of windows: patches on the picture are read as they are, those over its edge from
  /// the padded picture.
  void transformPatches(const LinearExpr &c) {
    LinearExpr y = at.row * outputs, x = (at.column + c) * outputs;
    auto all = [&](bool padded) {
      forAll(p.batch, [&](LinearExpr n) {
        forAll(p.channels / nest.lanes,
               [&](LinearExpr k) { transformPatch(y, x, c * p.batch + n, n, k, padded); });
      });
    };
    if (!p.isPadded)
      return all(false);
    OpBuilder &b = nest.builder;
    auto shape = cast<RankedTensorType>(p.inside.getType()).getShape();
    Value inside;
    for (auto [position, low, size] :
         {std::tuple(y, p.low[0], shape[0]), {x, p.low[1], shape[1]}}) {
      // As unsigned numbers, what is before the first is beyond the last.
      Value first = nest.index(position + LinearExpr(-low));
      Value holds = arith::CmpIOp::create(b, nest.location, arith::CmpIPredicate::ult, first,
                                          nest.constant(std::max<int64_t>(size - patch + 1, 0)));
      inside = inside ? arith::AndIOp::create(b, nest.location, inside, holds).getResult() : holds;
    }
    nest.when(inside, [&] { all(false); });
    Value no = arith::ConstantIntOp::create(b, nest.location, 0, 1);
    nest.when(arith::CmpIOp::create(b, nest.location, arith::CmpIPredicate::eq, inside, no),
              [&] { all(true); });
  }

  void transformPatch(const LinearExpr &y, const LinearExpr &x, const LinearExpr &row,
                      const LinearExpr &n, const LinearExpr &k, bool padded) {
    LinearExpr channel = k * nest.lanes;
    channel.lane = 1;
    Square d;
    for (int64_t i = 0; i < patch; ++i)
      for (int64_t j = 0; j < patch; ++j) {
        LinearExpr first(padded ? i : i - p.low[0]), second(padded ? j : j - p.low[1]);
        Point point{{y + first, x + second, at.picture + n, channel}, nest.lanes};
        d[i][j] = nest.splat(tiles.pull(padded ? p.padded : p.inside, point));
      }
    for (Line &line : d)
      line = transformed(line);
    for (int64_t j = 0; j < patch; ++j) {
      Line column = transformed(columnOf(d, j));
      for (int64_t i = 0; i < patch; ++i)
        patches.store(nest, inScratch(slotOf(i, j, p.reversed), row, p.channels, channel),
                      column[i]);
    }
  }

  /// products[slot] = patches[slot] x filter[slot], in register tiles.
  void multiply() {
    int64_t vectors = p.panel / nest.lanes, registers = nest.lanes == 16 ? 32 : 16;
    int64_t height = std::min<int64_t>(8, (registers - 1 - vectors) / vectors);
    int64_t full = p.rows() / height;
    forAll(slots, [&](LinearExpr slot) {
      forAll(p.filters / p.panel, [&](LinearExpr panel) {
        forAll(full, [&](LinearExpr i) { multiplyTile(slot, panel, i * height, height); });
        if (int64_t rest = p.rows() - full * height)
          multiplyTile(slot, panel, LinearExpr(full * height), rest);
      });
    });
  }

  void multiplyTile(const LinearExpr &slot, const LinearExpr &panel, const LinearExpr &row,
                    int64_t height) {
    OpBuilder &b = nest.builder;
    int64_t vectors = p.panel / nest.lanes;
    auto lanesFrom = [&](LinearExpr first) {
      first.lane = 1;
      return first;
    };
    Value zero =
        arith::ConstantOp::create(b, nest.location, b.getZeroAttr(nest.vectorOf(b.getF32Type())));
    SmallVector<Value> sums(height * vectors, zero);
    sums = nest.loop(0, p.channels, false, sums, [&](LinearExpr k, ValueRange carried) {
      SmallVector<Value> columns, next;
      for (int64_t v = 0; v < vectors; ++v)
        columns.push_back(filter.load(
            nest, {{panel, slot, k, lanesFrom(LinearExpr(v * nest.lanes))}, nest.lanes}));
      for (int64_t r = 0; r < height; ++r) {
        Value scalar = patches.load(nest, {{slot, (row + LinearExpr(r)) * p.channels + k}, 0});
        for (int64_t v = 0; v < vectors; ++v)
          next.push_back(vector::FMAOp::create(b, nest.location, nest.splat(scalar), columns[v],
                                               carried[r * vectors + v]));
      }
      return next;
    });
    for (int64_t r = 0; r < height; ++r)
      for (int64_t v = 0; v < vectors; ++v)
        products.store(nest,
                       {{slot, (row + LinearExpr(r)) * p.filters +
                                   lanesFrom(panel * p.panel + LinearExpr(v * nest.lanes))},
                        nest.lanes},
                       sums[r * vectors + v]);
  }

  void transformBack(const LinearExpr &c, const LinearExpr &n, const LinearExpr &o) {
    LinearExpr filters = o * nest.lanes, row = c * p.batch + n;
    filters.lane = 1;
    Square m;
    for (int64_t i = 0; i < patch; ++i)
      for (int64_t j = 0; j < patch; ++j)
        m[i][j] = products.load(nest, inScratch(slotOf(i, j, p.reversed), row, p.filters, filters));
    auto folded = [&](const Line &line) {
      return std::array<Value, outputs>{add(add(line[0], line[1]), line[2]),
                                        subtract(subtract(line[1], line[2]), line[3])};
    };
    std::array<Line, outputs> half;
    for (int64_t j = 0; j < patch; ++j) {
      auto column = folded(columnOf(m, j));
      for (int64_t i = 0; i < outputs; ++i)
        half[i][j] = column[i];
    }
    for (int64_t i = 0; i < outputs; ++i) {
      auto line = folded(half[i]);
      for (int64_t j = 0; j < outputs; ++j) {
        Point point{{at.row * outputs + LinearExpr(i), (at.column + c) * outputs + LinearExpr(j),
                     at.picture + n, filters},
                    nest.lanes};
        nest.known(p.op.getResult(0), point) = line[j];
        finish(point);
      }
    }
  }

  /// What follows the convolution. Results may take the place of operands that are read at the same
  /// element: all are computed before any is stored.
  void finish(const Point &point) {
    auto values = llvm::map_to_vector(yielded, [&](Value v) { return tiles.pull(v, point); });
    for (auto [memory, value] : llvm::zip(results, values))
      memory.store(nest, point, value);
  }

  LoopNest &nest;
  TileEmitter &tiles;
  Problem p;
  ValueRange yielded;
  ArrayRef<Memory> results;
  Memory filter, patches, products;
  struct {
    LinearExpr row, column, picture; // of the block: row and column of windows
  } at;
};
} // namespace

std::optional<unsigned> gradc::cpu::transformedFilter(exec::KernelOp kernel) {
  for (unsigned i = 0; i < kernel.getBlock().getNumArguments(); ++i)
    if (exec::PanelAttr layout = kernel.getLayout(i); layout && layout.getWinograd())
      return i;
  return std::nullopt;
}

LogicalResult gradc::cpu::emitWinograd(exec::KernelOp kernel, LoopNest &nest, TileEmitter &tiles,
                                       Value filter, ArrayRef<Memory> results, Value begin,
                                       Value end) {
  FailureOr<Problem> problem = inspect(kernel);
  if (failed(problem))
    return failure();
  Winograd(nest, tiles, *problem, filter, kernel.getYielded(), results).emit(begin, end);
  return success();
}

bool gradc::cpu::transformsFilter(exec::KernelOp kernel) {
  exec::PanelAttr layout = kernel.getLayout(kernel.getBlock().getNumArguments());
  return layout && layout.getWinograd();
}

void gradc::cpu::emitFilterTransform(exec::KernelOp kernel, LoopNest &nest, TileEmitter &tiles,
                                     Value transformed, Value begin, Value end) {
  OpBuilder &b = nest.builder;
  Value value = kernel.getYielded().front();
  ArrayRef<int64_t> shape = cast<RankedTensorType>(value.getType()).getShape();
  int64_t channels = shape[2], panel = kernel.getScheduleAttr().getTile().back();
  auto type =
      RankedTensorType::get({shape[3] / panel, slots, channels, panel}, nest.builder.getF32Type());
  Memory memory(transformed, type, {});
  Value half = nest.splat(arith::ConstantOp::create(b, nest.location, b.getF32FloatAttr(0.5f)));
  auto add = [&](Value x, Value y) -> Value {
    return arith::AddFOp::create(b, nest.location, x, y);
  };
  auto transform = [&](Value g0, Value g1, Value g2) -> Line {
    Value outer = arith::MulFOp::create(b, nest.location, add(g0, g2), half);
    Value inner = arith::MulFOp::create(b, nest.location, g1, half);
    return {g0, add(outer, inner), arith::SubFOp::create(b, nest.location, outer, inner), g2};
  };
  auto count = [&](int64_t n, llvm::function_ref<void(LinearExpr)> body) {
    nest.loop(0, n, false, {}, [&](LinearExpr i, ValueRange) {
      body(i);
      return SmallVector<Value>();
    });
  };

  // Squares of channels, so that a filter that lies the other way is transposed in registers.
  auto square = [&](const LinearExpr &unit, const LinearExpr &block, int64_t vector) {
    LinearExpr lanes = unit * panel + LinearExpr(vector * nest.lanes);
    lanes.lane = 1;
    auto pointAt = [&](int64_t tap, int64_t k) {
      return Point{
          {LinearExpr(tap / 3), LinearExpr(tap % 3), block * nest.lanes + LinearExpr(k), lanes},
          nest.lanes};
    };
    for (int64_t tap = 0; tap < 9; ++tap)
      tiles.prepare(value, llvm::map_to_vector(llvm::seq<int64_t>(0, nest.lanes),
                                               [&](int64_t k) { return pointAt(tap, k); }));
    for (int64_t k = 0; k < nest.lanes; ++k) {
      std::array<Line, 3> lines;
      for (int64_t i = 0; i < 3; ++i) {
        std::array<Value, 3> g;
        for (int64_t j = 0; j < 3; ++j)
          g[j] = nest.splat(tiles.pull(value, pointAt(3 * i + j, k)));
        lines[i] = transform(g[0], g[1], g[2]);
      }
      for (int64_t j = 0; j < patch; ++j)
        for (auto [i, u] : llvm::enumerate(transform(lines[0][j], lines[1][j], lines[2][j]))) {
          LinearExpr inPanel(vector * nest.lanes);
          inPanel.lane = 1;
          memory.store(nest,
                       {{unit, LinearExpr(int64_t(i) * patch + j),
                         block * nest.lanes + LinearExpr(k), inPanel},
                        nest.lanes},
                       u);
        }
    }
  };
  nest.loop(begin, end, {}, [&](LinearExpr unit, ValueRange) {
    count(channels / nest.lanes, [&](LinearExpr block) {
      for (int64_t vector = 0; vector < panel / nest.lanes; ++vector)
        square(unit, block, vector);
    });
    return SmallVector<Value>();
  });
}
