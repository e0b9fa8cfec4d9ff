// Scatters whose sums a CPU kernel keeps in scratch memory.
#ifndef PASSES_LAYOUT_SCATTERSUMS_H
#define PASSES_LAYOUT_SCATTERSUMS_H

#include "dialects/exec/Exec.h"
#include "dialects/exec/Level.h"
#include "passes/kernel/Scatters.h"

namespace gradc {

/// Fewer updates than these are searched for.
inline constexpr int64_t manyUpdates = 64;
/// With fewer targets, a search takes no longer than sums in scratch memory.
inline constexpr int64_t manyTargets = 128;

/// The units of the outermost loop, in a schedule with this tile and order, whose targets lie in
/// scratch memory together, or in the result, and for which all updates are read once. 1 if the
/// outermost dim is none that indices choose along: each unit has updates of its own. 0: each tile
/// searches for its updates. Tiles search if there are few updates or targets, if several indices
/// choose a target, if a row that is chosen has an index per element, if results read other targets
/// than their own, or if the rows of the run change the number of targets that an index chooses
/// among or updates.
int64_t scatterUnits(mlir::exec::KernelOp kernel, llvm::ArrayRef<int64_t> tile,
                     llvm::ArrayRef<int64_t> order, const mlir::exec::Level &level);

/// Seconds that each thread takes to tell the updates of its own targets from others, if the
/// kernel's outermost loop is along dim `outer` of the root.
double searchSeconds(mlir::exec::KernelOp kernel, int64_t outer);

/// The updates of each scatter, if the kernel's schedule is one of scatters.
llvm::SmallVector<mlir::RankedTensorType> summedUpdates(mlir::exec::KernelOp kernel);
/// The sums of each scatter that lie in scratch memory at one time: those of some units along the
/// dim of the root's outermost loop. Empty if the kernel's schedule is none of scatters, or updates
/// are added to the result in place.
llvm::SmallVector<mlir::RankedTensorType> scatterSums(mlir::exec::KernelOp kernel);
/// The bytes in scratch memory before the sums of a scatter.
int64_t scatterOffset(mlir::exec::KernelOp kernel, size_t scatter);
/// The bytes of all of them.
int64_t scatterScratch(mlir::exec::KernelOp kernel);

} // namespace gradc

#endif
