// Copies of a product's factors in panels, as the kernel's schedule says.
#ifndef COMPILER_CODEGEN_CPU_LOOPS_PANELCOPIES_H
#define COMPILER_CODEGEN_CPU_LOOPS_PANELCOPIES_H

#include "compiler/codegen/cpu/loops/SpaceEmitter.h"

namespace gradc::cpu {

/// Steps [first, second) of a sum.
using Steps = std::pair<tile::LinearExpr, tile::LinearExpr>;

/// Whether results take the value at their own index: through elementwise ops alone.
bool isReadAtItsIndex(mlir::Value value);

/// The units [begin, end) in groups of at most `together`, all about equally large.
void forGroups(tile::LoopNest &nest, mlir::Value begin, mlir::Value end, int64_t together,
               llvm::function_ref<void(mlir::Value, mlir::Value)> body);

/// Calls `body` with the first column and the number of columns of each of the units [begin, end),
/// which have `width` columns of `all`; the last unit may have fewer.
void forColumns(tile::LoopNest &nest, mlir::Value begin, mlir::Value end, int64_t all,
                int64_t width, llvm::function_ref<void(const tile::LinearExpr &, int64_t)> body);

/// Copies the factors of a kernel's product, and emits the tiles that read the copies.
class PanelCopies {
public:
  /// `operands`: where the kernel's operands are. `scratch`: of `panelsScratch` bytes.
  PanelCopies(mlir::exec::KernelOp kernel, tile::LoopNest &nest, tile::TileEmitter &tiles,
              llvm::ArrayRef<tile::Memory> operands, mlir::Value scratch);

  /// Whether the schedule has panels. Fails if it has, but the kernel is no product with factors
  /// across its sum, or reads the product elsewhere than at the root's own index.
  mlir::FailureOr<bool> areWanted();
  /// The number of units whose panels are copied together; 0: those of the outer dim are not. Only
  /// if copies are wanted.
  int64_t unitsTogether() const { return panels[outer]; }

  /// Emits the tiles of the units [from, to), in a space whose sums have these steps.
  void emitUnits(SpaceEmitter &space, mlir::Value from, mlir::Value to, const Steps &steps);

private:
  void copyUnits(mlir::Value begin, mlir::Value end, const Steps &steps);
  void copyPanels(unsigned factor, const tile::Memory &to, const tile::LinearExpr &column,
                  int64_t width, const Steps &steps);
  tile::Memory panelsAt(unsigned factor, const tile::LinearExpr &column,
                        const tile::LinearExpr &firstStep);
  mlir::BlockArgument operandOf(unsigned factor) const;

  mlir::exec::KernelOp kernel;
  tile::LoopNest &nest;
  tile::TileEmitter &tiles;
  llvm::ArrayRef<tile::Memory> operands;
  mlir::Value scratch;
  mlir::exec::ScheduleAttr schedule;
  llvm::SmallVector<int64_t> panels; ///< of each factor
  unsigned outer = 0;                ///< the root's dim of the units
};

} // namespace gradc::cpu

#endif
