// AMX's tile registers as a kernel uses them: two blocks of 16 rows and two of 16 columns of a
// product, and their four results.
#ifndef COMPILER_CODEGEN_TILE_AMX_H
#define COMPILER_CODEGEN_TILE_AMX_H

#include "compiler/codegen/tile/Memory.h"

namespace gradc::tile {

class Amx {
public:
  static constexpr int64_t rows = 16;     ///< of a block, and of its pairs of steps
  static constexpr int64_t lanes = 16;    ///< the columns of a block
  static constexpr int64_t steps = 32;    ///< of a sum that one instruction adds
  static constexpr int64_t rowBytes = 64; ///< of a register's row
  static constexpr size_t together = 2;   ///< blocks of rows, and of columns
  static constexpr int64_t lhs = 4;       ///< the first register of the lhs; results come before
  static constexpr int64_t rhs = 6;       ///< the first register of the rhs
  static constexpr int64_t registers = 8;

  /// Takes the registers into use, with memory for each. Shapes become globals of `module`.
  Amx(LoopNest &nest, mlir::ModuleOp module);
  /// Releases them, at the end of the kernel.
  void release() { emit("tilerelease", {}); }

  /// Sets the numbers of rows of the two blocks, which clears all registers.
  void configure(int64_t first, int64_t second);
  void zero(int64_t tile) { emit("tilezero", number(tile)); }
  /// `stride`: bytes between rows.
  void load(int64_t tile, mlir::Value address, int64_t stride) {
    emit("tileloadd64", {number(tile), address, nest.constant(stride)});
  }
  /// Stores to the register's own memory.
  void store(int64_t tile) {
    emit("tilestored64", {number(tile), address(tile, 0), nest.constant(rowBytes)});
  }
  /// Adds the products of 16 rows by 32 steps with 16 pairs of steps by 16 columns.
  void multiply(int64_t result, int64_t rowTile, int64_t columnTile) {
    emit("tdpbf16ps", {number(result), number(rowTile), number(columnTile)});
  }
  /// A row of the register's own memory.
  mlir::Value address(int64_t tile, const LinearExpr &row);
  /// Loads only `rest` steps of a block, with zeros behind them: `count` rows of the lhs, or pairs
  /// of the rhs, from `at` on, `stride` elements apart.
  void loadRest(int64_t tile, const Memory &memory, const LinearExpr &at, mlir::Value rest,
                int64_t count, int64_t stride);

private:
  void emit(const llvm::Twine &name, mlir::ValueRange operands);
  mlir::Value number(int64_t tile);
  void copyRows(int64_t tile, const Memory &memory, const LinearExpr &at, mlir::Value rest,
                int64_t count, int64_t stride);
  void copyPairs(int64_t tile, const Memory &memory, const LinearExpr &at, mlir::Value rest,
                 int64_t stride);
  /// Stores `row` of each i in [from, to) to the register's memory.
  void storeRows(int64_t tile, mlir::Value from, mlir::Value to,
                 llvm::function_ref<mlir::Value(const LinearExpr &)> row);

  LoopNest &nest;
  mlir::ModuleOp module;
  mlir::Value memory;
};

} // namespace gradc::tile

#endif
