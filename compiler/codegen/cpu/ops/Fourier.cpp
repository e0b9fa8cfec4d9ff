// Each unit is a vector of rows: its lanes are the rows, turned in registers on their way to
// scratch memory and back.
#include "dialects/grad/math/Fourier.h"
#include "compiler/codegen/cpu/ops/Butterfly.h"
#include "compiler/codegen/cpu/ops/OneOp.h"
#include "compiler/codegen/cpu/ops/RowWalk.h"
#include "passes/schedule/FourierKernel.h"

using namespace mlir;
using namespace gradc::cpu;
using namespace gradc::tile;

namespace {

class Transform : ComplexArithmetic {
public:
  /// Must be created in the function's entry block.
  Transform(exec::KernelOp kernel, LoopNest &nest, ModuleOp module, const Memory &operand,
            const Memory &result, Value scratch)
      : ComplexArithmetic(nest, kernel.getRoot().getElementType()),
        plan(*gradc::FourierPlan::of(kernel)), factors(plan.factors(nest.level)), module(module),
        operand(operand), result(result), b(nest.builder),
        element(kernel.getRoot().getElementType()),
        slots(scratch, RankedTensorType::get({plan.slots(), 2, nest.lanes}, element), {}) {
    Value rows = nest.extent(kernel.getRoot().getDimSize(0), kernel.getRowsOf(0));
    Value last = arith::SubIOp::create(b, nest.location, rows, nest.constant(1));
    // A run without rows has a unit, too.
    lastRow = arith::MaxSIOp::create(b, nest.location, last, nest.constant(0));
    makeTables();
  }

  /// 1. Copy the rows to scratch memory, each number to its place.
  /// 2. For each factor, transform as many numbers, which were rotated before, in place.
  /// 3. Copy the numbers, which are in order now, to the result.
  ///
  /// Half as many complex numbers as real ones are transformed. Their spectrum becomes that of the
  /// real numbers after step 2, or, of real results, the other way round before step 2.
  ///
  /// The last tile may have fewer rows than lanes: the other lanes do the same as that of the last
  /// row, and store the same.
  void emitTile(const LinearExpr &first) {
    rows.clear();
    for (int64_t lane = 0; lane < nest.lanes; ++lane) {
      Value row = nest.index(first + LinearExpr(lane));
      rows.push_back(nest.variable(arith::MinSIOp::create(b, nest.location, row, lastRow)));
    }
    int64_t n = plan.numbers;
    if (plan.isToReal) {
      copyIn(n + 1, [&](const LinearExpr &k) { return k + LinearExpr(n + 1); });
      doubleEnds();
      forNumbers(n, [&](const LinearExpr &k) { store(placeOf(k), combine(n + 1, k)); });
    } else {
      copyIn(n, [&](const LinearExpr &k) { return placeOf(k); });
    }
    emitStages();
    if (plan.isFromReal) {
      store(n, load(0)); // the spectrum is periodic
      forNumbers(n + 1, [&](const LinearExpr &k) { store(k + LinearExpr(n + 1), combine(0, k)); });
    }
    copyOut(plan.isFromReal ? n + 1 : 0, plan.isFromReal ? n + 1 : n);
  }

private:
  // Tables ----------------------------------------------------------------------------------------

  void makeTables() {
    int64_t n = plan.numbers;
    grad::HostTensor numbers(RankedTensorType::get({n}, b.getI32Type()));
    for (auto [k, place] : llvm::enumerate(plan.places(factors)))
      numbers.setInt(int64_t(k), place);
    places = constantMemory(nest, module, numbers);

    SmallVector<std::complex<double>> waves;
    int64_t together = 1;
    for (int64_t factor : factors) {
      for (int64_t j = 0; j < together; ++j)
        for (int64_t q = 1; q < factor; ++q)
          waves.push_back(grad::fourierWave(j * q, together * factor, plan.isInverse));
      together *= factor;
    }
    rotations = table(waves);
    if (!plan.isFromReal && !plan.isToReal)
      return;
    waves.clear();
    for (int64_t k = 0; k <= n; ++k)
      waves.push_back(grad::fourierWave(k, 2 * n, plan.isInverse) * (plan.isInverse ? -0.5 : 0.5));
    halfWaves = table(waves);
  }

  Memory table(ArrayRef<std::complex<double>> numbers) {
    grad::HostTensor parts(RankedTensorType::get({int64_t(numbers.size()), 2}, element));
    for (auto [i, number] : llvm::enumerate(numbers)) {
      parts.setFloat(int64_t(2 * i), number.real());
      parts.setFloat(int64_t(2 * i + 1), number.imag());
    }
    return constantMemory(nest, module, parts);
  }
  ComplexVector read(const Memory &table, const LinearExpr &i) {
    auto part = [&](int64_t p) { return nest.splat(table.load(nest, Point{{i, p}, 0})); };
    return {part(0), part(1)};
  }

  // Scratch memory --------------------------------------------------------------------------------

  LinearExpr placeOf(const LinearExpr &k) {
    Value place = places.load(nest, Point{{k}, 0});
    return nest.variable(arith::ExtUIOp::create(b, nest.location, b.getI64Type(), place));
  }
  Point slotAt(const LinearExpr &slot, int64_t part) {
    LinearExpr lane;
    lane.lane = 1;
    return {{slot, part, lane}, nest.lanes};
  }
  ComplexVector load(const LinearExpr &slot) {
    return {slots.load(nest, slotAt(slot, 0)), slots.load(nest, slotAt(slot, 1))};
  }
  void store(const LinearExpr &slot, const ComplexVector &number) {
    slots.store(nest, slotAt(slot, 0), number.real);
    slots.store(nest, slotAt(slot, 1), number.imaginary);
  }

  // Steps -----------------------------------------------------------------------------------------

  void forNumbers(int64_t count, llvm::function_ref<void(const LinearExpr &)> body) {
    nest.loop(0, count, /*unroll=*/false, {}, [&](LinearExpr k, ValueRange) {
      body(k);
      return SmallVector<Value>();
    });
  }

  /// Calls `body` with the numbers of each vector along a row: the first one, and how many.
  void forVectors(int64_t numbers, llvm::function_ref<void(const LinearExpr &, int64_t)> body) {
    int64_t most = nest.lanes / 2, whole = numbers / most, rest = numbers % most;
    forNumbers(whole, [&](const LinearExpr &i) { body(i * most, most); });
    if (rest)
      body(LinearExpr(whole * most), rest);
  }
  /// `count` numbers of a row, whose parts are adjacent, in the operand or the result.
  Point alongRow(const LinearExpr &row, const LinearExpr &first, int64_t count) {
    LinearExpr column = first * 2;
    column.lane = 1;
    return {{row, 0, column}, 2 * count};
  }

  void copyIn(int64_t numbers, llvm::function_ref<LinearExpr(const LinearExpr &)> slotOf) {
    forVectors(numbers, [&](const LinearExpr &first, int64_t count) {
      SmallVector<Value> vectors;
      for (const LinearExpr &row : rows)
        vectors.push_back(operand.load(nest, alongRow(row, first, count)));
      vectors = transposeRegisters(nest, vectors);
      for (int64_t k = 0; k < count; ++k)
        store(slotOf(first + LinearExpr(k)), {vectors[2 * k], vectors[2 * k + 1]});
    });
  }

  void copyOut(int64_t from, int64_t numbers) {
    forVectors(numbers, [&](const LinearExpr &first, int64_t count) {
      SmallVector<Value> vectors;
      for (int64_t k = 0; k < count; ++k) {
        ComplexVector number = load(first + LinearExpr(from + k));
        vectors.append({number.real, number.imaginary});
      }
      vectors.resize(size_t(nest.lanes), vectors.back());
      for (auto [row, vector] : llvm::zip_equal(rows, transposeRegisters(nest, vectors)))
        result.store(nest, alongRow(row, first, count), vector);
    });
  }

  void emitStages() {
    int64_t together = 1, rotation = 0;
    for (int64_t factor : factors) {
      int64_t all = together * factor;
      forNumbers(plan.numbers / all, [&](const LinearExpr &group) {
        forNumbers(together, [&](const LinearExpr &j) {
          emitButterfly(factor, group * all + j, together, LinearExpr(rotation) + j * (factor - 1));
        });
      });
      rotation += together * (factor - 1);
      together = all;
    }
  }

  /// `factor` numbers from `first` on, `apart` slots apart; the rotations of all but the first one
  /// are adjacent in the table. Neighbours are not rotated.
  void emitButterfly(int64_t factor, const LinearExpr &first, int64_t apart,
                     const LinearExpr &rotation) {
    SmallVector<ComplexVector> numbers;
    for (int64_t q = 0; q < factor; ++q) {
      ComplexVector number = load(first + LinearExpr(q * apart));
      if (q > 0 && apart > 1) {
        ComplexVector wave = read(rotations, rotation + LinearExpr(q - 1));
        number = multiply(number, wave.real, wave.imaginary);
      }
      numbers.push_back(number);
    }
    for (auto [q, number] : llvm::enumerate(transform(numbers, plan.isInverse)))
      store(first + LinearExpr(int64_t(q) * apart), number);
  }

  // Real rows -------------------------------------------------------------------------------------

  /// With z = x[2 k] + i x[2 k + 1] of n / 2 numbers, and w = e^(-2 pi i k / n):
  ///   X[k] = (Z[k] + conj Z[n/2 - k]) / 2 - i w (Z[k] - conj Z[n/2 - k]) / 2.
  /// With the conjugate of w and the other sign, Z follows from a spectrum that is half of X.
  ComplexVector combine(int64_t from, const LinearExpr &k) {
    ComplexVector z = load(k + LinearExpr(from)),
                  mirrored = load(LinearExpr(from + plan.numbers) + k * -1);
    ComplexVector wave = read(halfWaves, k);
    Value half = constant(0.5);
    Value real = subtract(z.real, mirrored.real), imaginary = add(z.imaginary, mirrored.imaginary);
    ComplexVector turned = multiply({real, imaginary}, wave.real, wave.imaginary);
    return {multiplyAdd(half, add(z.real, mirrored.real), turned.imaginary),
            multiplyAdd(half, subtract(z.imaginary, mirrored.imaginary), negate(turned.real))};
  }

  /// The first and the last number of half a spectrum have no conjugate in the other half, and
  /// their imaginary parts no effect.
  void doubleEnds() {
    for (int64_t slot : {plan.spectrum(), plan.spectrum() + plan.numbers}) {
      Value real = load(slot).real;
      store(slot, {add(real, real), constant(0)});
    }
  }

  gradc::FourierPlan plan;
  SmallVector<int64_t> factors;
  ModuleOp module;
  const Memory &operand, &result;
  OpBuilder &b;
  Type element;
  Memory slots, places, rotations, halfWaves;
  Value lastRow;
  SmallVector<LinearExpr> rows; ///< of the tile, one per lane
};

} // namespace

LogicalResult gradc::cpu::emitFourier(OneOp &op) {
  Transform tile(op.kernel, op.nest, op.module, op.operand(), op.result(), op.scratch);
  return forEachRow(op, [&](ArrayRef<LinearExpr> first) { tile.emitTile(first[0]); });
}
