// Blocks of windows and units of Winograd's convolutions.
#ifndef PASSES_SCHEDULE_WINOGRADSCHEDULE_H
#define PASSES_SCHEDULE_WINOGRADSCHEDULE_H

#include "passes/layout/Winograd.h"
#include "passes/schedule/LoopSchedule.h"

namespace gradc {

class WinogradSchedule : protected LoopSchedule {
protected:
  using LoopSchedule::LoopSchedule;

  /// Transforms the nine taps of each filter at once; a unit is a panel of filters. Transposes go
  /// through registers, a square at a time.
  void filterTransform();
  /// Each block of windows reads the whole filter. If that does not stay in cache, a block has so
  /// many windows that its arithmetic takes `readsPerBlock` times as long as reading it, over
  /// several lines of a picture if necessary; one slot of them is in cache at a time. All the same
  /// blocks are small enough to be units for some threads, fewer of them if the filter is large.
  void winograd(mlir::grad::ContractionOpInterface op, int64_t outputs);
  /// A unit has some input channels. A thread transforms the gradients of some filters at a time
  /// for several units together. Their sums may be a quarter larger than the L2 cache: they are
  /// visited once per block of windows, and more transforms would take longer (convolution-bench).
  void winogradGradient(mlir::grad::ContractionOpInterface op, int64_t outputs);

  llvm::SmallVector<int64_t> block;
  mlir::exec::Algorithm algorithm = mlir::exec::Algorithm::direct;

private:
  /// The number of windows whose transforms fit in the L2 cache together, or `least`: of several
  /// pictures and, if the batch is small, of several columns. `slots`: of a window's channel.
  std::pair<int64_t, int64_t> windowsTogether(int64_t slots, int64_t channels, int64_t batch,
                                              int64_t columns, int64_t least);
};

} // namespace gradc

#endif
