// The table of levels: every number by which passes and the code generator decide for a family of
// machines. Bytes, seconds, and rates per second; `gradc doctor --measure` prints a CPU's.
#ifndef DIALECTS_EXEC_LEVEL_H
#define DIALECTS_EXEC_LEVEL_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace mlir::exec {

/// Limits on kernels. Kernels form once for all CPUs and once for all GPUs, before levels part.
struct KernelLimits {
  int64_t maxTensors;           ///< read and written by one kernel
  int64_t maxTensorsSideBySide; ///< of a kernel of several results that only share a number
  int64_t maxSmallElements;     ///< a kernel of this many elements takes no longer than its launch
  int64_t maxRepeatedElements;  ///< summed by a reduction that may be repeated inside another
  int64_t minBlockedSum;        ///< steps from which a filter's gradient is walked in blocks ...
  int64_t minBlockedProduct;    ///< ... and a product whose operands both run across the sum
  int64_t minAttentionQueries;  ///< from which one kernel computes an attention ...
  int64_t minAttentionKeys;     ///< ... if it has as many keys as this
  int64_t minSplitSum;          ///< elements from which a column's sum is split in two steps ...
  int64_t maxSplitColumns;      ///< ... where there are no more columns than this ...
  int64_t minSplitPieces;       ///< ... and at least this many pieces per column
};

/// Numbers that only GPUs have.
struct Gpu {
  llvm::StringRef device; ///< whose data sheet the rates are from
  int64_t sm;             ///< compute capability, 90 for 9.0
  int64_t multiprocessors;

  // Of one multiprocessor.
  int64_t threads;
  int64_t blocks;
  int64_t registers; ///< of 32 bits
  int64_t sharedBytes;

  int64_t blockSharedBytes; ///< the most shared memory of one block
  int64_t parameterBytes;   ///< of one kernel, with every driver

  // How work is cut.
  int64_t blockThreads;           ///< of a block, where the kernel leaves the choice
  int64_t minSharedSum;           ///< elements from which threads share a sum
  int64_t sharedMemorySteps;      ///< of a sum whose operands pass through shared memory together
  int64_t minSharedMemoryColumns; ///< the fewest columns of such a product
  int64_t minSharedMemoryBlocks;  ///< the fewest blocks of such a product
  int64_t productBlock;    ///< results of a product that one block computes, as the estimate has it
  int64_t maxGroupedBytes; ///< of the arena that one grouped launch may keep alive

  // Costs.
  double generatedShare; ///< of `f32Flops` that generated products reach
  double libraryShare;   ///< of `f32Flops` that a library's products reach
  double callSeconds;    ///< what a library's call takes longer than a launch, however small
  double sumSeconds;     ///< a sum that waits for the one before it, in the same kernel
};

/// Threads that run in lockstep on every GPU.
constexpr int64_t warpThreads = 32;

/// Rates are those of one core, or of a whole GPU.
struct Level {
  llvm::StringRef name;     ///< in the artifact; on the command line a CPU's has "cpu:" before it
  llvm::StringRef cpu;      ///< LLVM's -mcpu
  llvm::StringRef features; ///< LLVM's -mattr, beyond the cpu's own

  // Registers of a core, or of a GPU's thread.
  int64_t vectorBytes; ///< of the widest register used, or of a thread's widest access
  int64_t vectorRegisters;
  int64_t tileRows; ///< the contraction's register tile: rows x vectors
  int64_t tileVectors;
  int64_t rowVectors; ///< the longest row that stays in registers between its passes
  int64_t chains;     ///< independent operations that hide the latency of one

  // Memory.
  int64_t lineBytes;     ///< of a cache line
  int64_t l1Bytes;       ///< of a core or multiprocessor, for data
  int64_t l2Bytes;       ///< of a core, or of a whole GPU
  double cacheBandwidth; ///< of data that another core has just written; a GPU's second-level cache
  double memoryBandwidth;

  // Arithmetic.
  double f32Flops;  ///< multiply-adds, two flops each
  double bf16Flops; ///< products of bf16 added up in f32
  double loopFlops; ///< operations of loops that are no contraction
  double specials;  ///< exponentials and their like

  double
      launch; ///< seconds to hand work to a team of threads and wait for it, or to launch a kernel

  const KernelLimits *kernels;

  // CPUs only.
  double unpairedFlops = 0; ///< products of bf16 whose factors do not lie in pairs
  bool bf16Dots = false;    ///< products of bf16 pairs add up in f32 in one instruction
  /// The fewest channels, in and out, with which F(2x2, 3x3) beats direct loops; 0: never.
  int64_t winogradChannels = 0;
  int64_t winogradPicture = 0;  ///< the smallest height and width for it
  int64_t blockSteps = 0;       ///< of a sum between loading and storing its accumulators
  int64_t minPrefetchSteps = 0; ///< the shortest sum that memory answers during

  const Gpu *gpu = nullptr; ///< null: a CPU

  bool isCuda() const { return gpu; }
  /// The part of the second-level cache that one loop may fill and still find later.
  int64_t cachedBytes() const { return l2Bytes / 2; }
};

/// All levels, CPUs first, each kind lowest first.
llvm::ArrayRef<Level> levels();
/// The level of that name, or null.
const Level *findLevel(llvm::StringRef name);
/// The highest level that this machine executes, or null.
const Level *nativeLevel();
/// The limits on kernels of all CPU levels, or of all GPU levels.
const KernelLimits &kernelLimits(bool isCuda);
/// Whether this machine executes a level of the table.
bool runsHere(const Level &level);

} // namespace mlir::exec

#endif
