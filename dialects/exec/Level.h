// The table of levels: the machine parameters that passes and the code generator decide by, one row
// per family of machines. Units are bytes, seconds, and rates per second; `gradc doctor --measure`
// prints those of a CPU.
#ifndef DIALECTS_EXEC_LEVEL_H
#define DIALECTS_EXEC_LEVEL_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace mlir::exec {

/// Units that are enough for the threads of a small machine.
inline constexpr int64_t manyUnits = 8;

/// Limits on kernels. Kernels form once for all CPU levels and once for all GPU levels, before the
/// pipeline splits by level.
struct KernelLimits {
  int64_t maxTensors;           ///< read and written by one kernel
  int64_t maxTensorsSideBySide; ///< of a kernel whose results have only a scalar in common
  int64_t maxSmallElements;     ///< a kernel with this many elements costs no more than its launch
  /// Of a tensor for which an op keeps out of a kernel that would hold it.
  int64_t minProlongedBytes;
  int64_t maxRepeatedElements; ///< summed by a reduction that may be recomputed inside another
  int64_t repeatedOpsPerByte;  ///< repeated in place of a byte written or read; 0: never
  int64_t minBlockedSum;       ///< min sum length to block a filter gradient ...
  int64_t minBlockedProduct;   ///< ... or a product whose operands both stride across the sum
  int64_t minAttentionQueries; ///< min queries to compute an attention in one kernel ...
  int64_t minAttentionKeys;    ///< ... and min keys
  int64_t minSorted;           ///< min elements to sort them; fewer are compared in pairs ...
  int64_t minSelected;         ///< ... and to select at most a quarter of them
  int64_t minCumulative;       ///< min elements to accumulate one by one; fewer take log2(n) steps
  int64_t minSplitSum;         ///< min elements per column to split a column sum in two steps ...
  int64_t maxSplitColumns;     ///< ... with at most this many columns ...
  int64_t minSplitPieces;      ///< ... and at least this many pieces per column
  int64_t minWideElements;     ///< the same for sums over so many elements that memory is read ...
  int64_t maxWideColumns;      ///< ... at most this many columns, at least manyUnits pieces each
  bool reducesBatches;         ///< kernels of products with batches of codes reduce these as well
};

/// Numbers that only GPUs have.
struct Gpu {
  llvm::StringRef device; ///< the rates are from its data sheet
  int64_t sm;             ///< compute capability, 90 for 9.0
  int64_t multiprocessors;

  // Of one multiprocessor.
  int64_t threads;
  int64_t blocks;
  int64_t registers; ///< of 32 bits
  int64_t sharedBytes;

  int64_t blockSharedBytes; ///< max shared memory per block
  int64_t parameterBytes;   ///< max parameter bytes of one kernel that every driver accepts

  // How work is divided.
  int64_t blockThreads;           ///< default threads per block
  int64_t minSharedSum;           ///< min elements for threads to share a sum
  int64_t sharedMemorySteps;      ///< reduction steps staged in shared memory together
  int64_t minSharedMemoryColumns; ///< min columns of a product through shared memory
  int64_t minSharedMemoryBlocks;  ///< min blocks of a product through shared memory
  int64_t productBlock;           ///< results per block of a product, as the cost model assumes
  int64_t maxGroupedBytes;        ///< arena bytes that one grouped launch may keep alive

  // Costs.
  double generatedShare; ///< fraction of `f32Flops` that generated products reach
  double libraryShare;   ///< fraction of `f32Flops` that library products reach
  double callSeconds;    ///< fixed overhead of a library call over a launch
  double sumSeconds;     ///< a reduction that depends on another one in the same kernel
};

/// Threads that run in lockstep on every GPU.
constexpr int64_t warpThreads = 32;

/// Rates are per CPU core, or per GPU.
struct Level {
  llvm::StringRef name;     ///< in the artifact; the command line prefixes "cpu:" for CPUs
  llvm::StringRef cpu;      ///< LLVM's -mcpu
  llvm::StringRef features; ///< LLVM's -mattr, beyond the cpu's own

  // Registers of a core, or of a GPU's thread.
  int64_t vectorBytes; ///< of the widest register used, or of a GPU thread's widest access
  int64_t vectorRegisters;
  int64_t tileRows; ///< the contraction's register tile: rows x vectors
  int64_t tileVectors;
  int64_t rowVectors; ///< max vectors of a row that stays in registers between passes over it
  int64_t chains;     ///< independent dependency chains that hide an operation's latency

  // Memory.
  int64_t lineBytes;     ///< of a cache line
  int64_t l1Bytes;       ///< of a core or multiprocessor, for data
  int64_t l2Bytes;       ///< of a core, or of a whole GPU
  double cacheBandwidth; ///< for data that another core has just written; on a GPU, of its L2 cache
  double memoryBandwidth;

  // Arithmetic.
  double f32Flops;  ///< multiply-adds, two flops each
  double bf16Flops; ///< bf16 products accumulated in f32
  double int8Flops; ///< products of 8-bit integers summed in 32 bits
  double loopFlops; ///< operations of loops other than contractions
  double specials;  ///< exponentials and similar functions

  /// Seconds to dispatch work to the thread team and wait, or to launch a GPU kernel.
  double launch;

  const KernelLimits *kernels;

  // CPUs only.
  double unpairedFlops = 0; ///< bf16 products whose factors are not interleaved in pairs
  bool bf16Dots = false;    ///< has an instruction that accumulates bf16 pair products in f32
  bool int8Dots = false;    ///< has one that adds the products of four 8-bit integers to a sum
  /// Rows of the register tile of bf16 products in AMX's tile registers; 0: the level has none.
  int64_t amxRows = 0;
  /// Min input and output channels for Winograd's convolutions to beat direct loops; 0: never.
  int64_t winogradChannels = 0;
  int64_t winogradPicture = 0; ///< min height and width for these
  /// Max bytes of a filter transformed for F(4x4, 3x3); where pictures have this many positions,
  /// any.
  int64_t winogradBytes = 0, winogradPositions = 0;
  int64_t blockSteps = 0;       ///< reduction steps between loading and storing accumulators
  int64_t minPrefetchSteps = 0; ///< min sum length that covers the latency of memory

  const Gpu *gpu = nullptr; ///< null for CPUs

  bool isCuda() const { return gpu; }
  /// Whether storing some lanes costs no more than storing all. AVX2's instruction takes about 20
  /// cycles on AMD's first Zen cores.
  bool hasFastMaskedStores() const { return isCuda() || vectorBytes > 32; }
  /// The part of the L2 cache that a loop may fill and still hit later.
  int64_t cachedBytes() const { return l2Bytes / 2; }
  /// A core's part of the cache that cores share, as a guess: machines of a level differ.
  int64_t sharedCacheBytes() const { return 8 * l2Bytes; }
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
