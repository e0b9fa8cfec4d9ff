// The parts of an attention and its gradient: register tiles of products, transposed blocks, and
// their scratch memory.
#ifndef COMPILER_CODEGEN_CPU_OPS_ATTENTIONTILES_H
#define COMPILER_CODEGEN_CPU_OPS_ATTENTIONTILES_H

#include "compiler/codegen/tile/Memory.h"
#include "passes/schedule/AttentionKernel.h"

namespace gradc::cpu::attention {

/// A tensor of the kernel, indexed by [batch, head, position, element] regardless of its order in
/// memory. A dim of size 1 repeats.
class Tensor {
public:
  Tensor() = default;
  Tensor(tile::Memory memory, mlir::RankedTensorType type, llvm::ArrayRef<int64_t> order)
      : memory(memory), type(type), order(order) {}
  explicit operator bool() const { return bool(type); }

  /// The element or, with `valid`, that many from it on along the lanes.
  tile::Point at(const tile::LinearExpr &batch, const tile::LinearExpr &head,
                 const tile::LinearExpr &position, const tile::LinearExpr &element,
                 int64_t valid = 0) const;

  tile::Memory memory;

private:
  mlir::RankedTensorType type;
  llvm::ArrayRef<int64_t> order;
};

/// A batch element, one of its query heads and that head's key head.
struct Head {
  tile::LinearExpr batch, query, key;
};

/// A number of rows. The remainder after full register tiles is `rest` rows or none; -1: any
/// number.
struct Rows {
  mlir::Value count;
  int64_t rest;
};

class Tiles {
public:
  /// `slices`: of the kernel's operands, then of its results. `op` is the kernel's only op.
  Tiles(tile::LoopNest &nest, mlir::exec::KernelOp kernel, mlir::grad::AttentionOpInterface op,
        llvm::ArrayRef<tile::Memory> slices, mlir::Value scratch);

  using Body = llvm::function_ref<void(tile::LinearExpr)>;
  using Values = llvm::SmallVector<mlir::Value>;
  /// for (i = 0; i < count; i++).
  void forAll(mlir::Value count, Body body);
  void forAll(int64_t count, Body body) { forAll(nest.constant(count), body); }
  /// Loops over tiles of the level's rows, then one tile with the remaining rows, or row by row if
  /// their number is unknown. Carries values.
  Values
  forRows(const Rows &rows, mlir::ValueRange carried,
          llvm::function_ref<Values(tile::LinearExpr row, int64_t height, mlir::ValueRange)> body);
  /// Rows of `all` left over after full register tiles; -1 if a block is not a multiple of them.
  int64_t restOf(int64_t all, int64_t block) const {
    return block % nest.level.tileRows ? -1 : all % nest.level.tileRows;
  }
  /// Loops over panels of the level's vectors, with the remainder of `width` in a last panel;
  /// `body` gets the first column, and the number of columns in each vector.
  void forColumns(int64_t width,
                  llvm::function_ref<void(tile::LinearExpr, llvm::ArrayRef<int64_t>)> body);

  using Operand = llvm::function_ref<mlir::Value(tile::LinearExpr step, int64_t i)>;
  /// initial + the sum over the steps of lhs(step, row) rhs(step, vector), row by row.
  Values product(Values initial, int64_t vectors, mlir::Value steps, Operand lhs, Operand rhs);
  /// Adds a product to rows of sums, in a tensor or in scratch. If `factor` is given, the previous
  /// sums of a row are first multiplied by its factor.
  using Sums =
      llvm::function_ref<tile::Point(tile::LinearExpr row, tile::LinearExpr column, int64_t valid)>;
  void addProduct(
      const tile::Memory &sums, Sums at, const Rows &rows, int64_t width, mlir::Value steps,
      llvm::function_ref<mlir::Value(tile::LinearExpr)> factor,
      llvm::function_ref<mlir::Value(tile::LinearExpr step, tile::LinearExpr row)> lhs,
      llvm::function_ref<mlir::Value(tile::LinearExpr step, tile::LinearExpr column, int64_t valid)>
          rhs);

  /// to[column][row] = `load`(row, column, valid lanes) of `rows` rows by `width` columns.
  void transpose(
      int64_t rows, int64_t width, const tile::Memory &to,
      llvm::function_ref<mlir::Value(tile::LinearExpr row, tile::LinearExpr column, int64_t valid)>
          load);
  /// Transposes a square of rows from `row` on; its first `valid` columns are stored as rows.
  void transposeSquare(tile::LinearExpr row, int64_t valid,
                       llvm::function_ref<mlir::Value(tile::LinearExpr row)> load,
                       llvm::function_ref<void(int64_t column, mlir::Value)> store);

  // Values.
  mlir::Value number(double value);
  mlir::Value add(mlir::Value x, mlir::Value y);
  mlir::Value subtract(mlir::Value x, mlir::Value y);
  mlir::Value multiply(mlir::Value x, mlir::Value y);
  mlir::Value maximum(mlir::Value x, mlir::Value y);
  mlir::Value exponential(mlir::Value x);
  /// The sum over the lanes, by halves.
  mlir::Value sumOfLanes(mlir::Value vector);
  /// A mask's values as summands of the scores: bools become 0 and -inf.
  mlir::Value maskTerm(mlir::Value mask);
  /// `score` where query >= key - causal, else -inf. One of both is a vector.
  mlir::Value hide(mlir::Value score, mlir::Value query, mlir::Value key);
  /// The position as an integer as wide as the elements; with lanes, that of each lane.
  mlir::Value position(const tile::LinearExpr &e, bool alongLanes);
  mlir::Value smaller(mlir::Value x, mlir::Value y);
  /// Lane by lane: whether the position is before `end`.
  mlir::Value isBefore(const tile::LinearExpr &e, int64_t end);
  /// `weights` of one query and one key as dropout leaves them; along the lanes are keys, or
  /// queries.
  mlir::Value drop(mlir::Value weights, const Head &head, const tile::LinearExpr &query,
                   const tile::LinearExpr &key, bool keysAlongLanes);
  /// The value of a mask that hides nothing, in every lane.
  mlir::Value noMask();
  /// min(row, last): rows after the last one repeat it.
  tile::LinearExpr clamp(const tile::LinearExpr &row, int64_t last);

  tile::LoopNest &nest;
  mlir::grad::AttentionForm form;
  mlir::grad::AttentionSizes sizes;
  mlir::Type element;
  AttentionBlock block;
  Tensor query, key, value, mask, result, statistic, gradient;
  Tensor results[3];      ///< of the op; false: it has no reader
  tile::Memory pieces[5]; ///< of the scratch, as `attentionScratch` says

private:
  mlir::Value seed, step; ///< of a dropout, in all lanes
};

/// [row][lanes from column on] of a piece of scratch.
tile::Point lanesAt(const tile::LoopNest &nest, const tile::LinearExpr &row,
                    tile::LinearExpr column);
tile::Point elementAt(const tile::LinearExpr &row, const tile::LinearExpr &column);

/// The blocks of a head's queries [begin, end), counted over all heads.
void emitForward(Tiles &tiles, mlir::Value begin, mlir::Value end);
/// The gradients of the key heads [begin, end), and of the queries that read them.
void emitGradient(Tiles &tiles, mlir::Value begin, mlir::Value end);

} // namespace gradc::cpu::attention

#endif
