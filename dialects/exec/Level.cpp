// The rows. Behind each number: the command that measures it, the data sheet it is from, or
// "estimate". CPU cores differ within a level; a row has the weakest core's caches, and the rates
// of the core that was measured.
#include "dialects/exec/Level.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/TargetParser/Host.h"

#include <sys/syscall.h>
#include <unistd.h>

using namespace mlir::exec;

static constexpr int64_t KB = 1 << 10, MB = 1 << 20;

static constexpr KernelLimits cpuKernels = {
    .maxTensors = 256,            // as GPUs
    .maxTensorsSideBySide = 32,   // estimate: more leave each too few registers and compile slowly
    .maxSmallElements = 4096,     // estimate: 48 KB of traffic at 30 GB/s, within ten team launches
    .minProlongedBytes = 1 << 20, // some 50 us of memory traffic, many launches
    .maxRepeatedElements = 16384, // estimate: 64 KB, which stay in the second-level cache
    .repeatedOpsPerByte = 3,      // vector operations of a core over its memory bandwidth
    .minBlockedSum = 256,         // convolution-bench: filter gradients, walked whole or in blocks
    .minBlockedProduct = 1024,    // estimate: a tile's operands fill the first-level cache
    .minAttentionQueries = 16,    // estimate
    .minAttentionKeys = 16,       // estimate
    .minSorted = 128,             // measured: 256 rows, all pairs against digits
    .minSelected = 32,            // measured: 4096 rows, all pairs against the first 2 or 4
    .minCumulative = 16,          // estimate: from four steps on
    .minSplitSum = 512,           // estimate
    .maxSplitColumns = 256,       // estimate
    .minSplitPieces = 4,          // estimate
    .minWideElements = 1 << 18,   // 1 MB, about the second-level cache
    .maxWideColumns = 1024,       // rows of 4 KB: LoopSchedule::columnVectors
    .reducesBatches = true,
};
// Not measured apart from CPUs.
static constexpr KernelLimits gpuKernels = {
    .maxTensors = 256, // half of `parameterBytes`
    .maxTensorsSideBySide = 32,
    .maxSmallElements = 4096,
    .minProlongedBytes = 1 << 24, // estimate: 5 us of memory traffic, two launches
    .maxRepeatedElements = 16384,
    .repeatedOpsPerByte = 0,
    .minBlockedSum = 256,
    .minBlockedProduct = INT64_MAX, // threads share a sum
    .minAttentionQueries = INT64_MAX,
    .minAttentionKeys = INT64_MAX,
    .minSorted = INT64_MAX,
    .minSelected = INT64_MAX,
    .minCumulative = INT64_MAX,
    .minSplitSum = 512,
    .maxSplitColumns = 256,
    .minSplitPieces = 4,
    .minWideElements = INT64_MAX, // neighbouring threads read neighbouring columns
    .maxWideColumns = 0,
    .reducesBatches = false, // threads share a sum
};

// CUDA C++ Programming Guide, technical specifications per compute capability; rates and sizes of
// the device: NVIDIA A100 80 GB SXM data sheet.
static constexpr Gpu a100 = {
    .device = "A100 80 GB",
    .sm = 80,
    .multiprocessors = 108,
    .threads = 2048,
    .blocks = 32,
    .registers = 65536,
    .sharedBytes = 164 * KB,
    .blockSharedBytes = 163 * KB,
    .parameterBytes = 4 * KB,
    .blockThreads = 256, // estimate, as are all below
    .minSharedSum = 64,
    .sharedMemorySteps = 16,
    .minSharedMemoryColumns = 16,
    .minSharedMemoryBlocks = 52, // about half of the multiprocessors
    .productBlock = 512,
    .maxGroupedBytes = 64 * MB,
    .generatedShare = 0.25,
    .libraryShare = 0.75,
    .callSeconds = 2e-6, // H100, cuBLASLt 13.1: `gradc bench` with its calls and without
    .sumSeconds = 0.5e-6,
};

// The same guide; NVIDIA H200 SXM data sheet.
static constexpr Gpu h200 = {
    .device = "H200",
    .sm = 90,
    .multiprocessors = 132,
    .threads = 2048,
    .blocks = 32,
    .registers = 65536,
    .sharedBytes = 228 * KB,
    .blockSharedBytes = 227 * KB,
    .parameterBytes = 4 * KB,
    .blockThreads = 256, // estimate, as are all below
    .minSharedSum = 64,
    .sharedMemorySteps = 16,
    .minSharedMemoryColumns = 16,
    .minSharedMemoryBlocks = 64, // about half of the multiprocessors
    .productBlock = 512,
    .maxGroupedBytes = 64 * MB,
    .generatedShare = 0.25,
    .libraryShare = 0.75,
    .callSeconds = 2e-6, // H100, cuBLASLt 13.1: `gradc bench` with its calls and without
    .sumSeconds = 0.5e-6,
};

// Of a Zen 3 core.
static constexpr Level v3 = {
    .name = "x86-64-v3",
    .cpu = "x86-64-v3",
    .features = "",
    .vectorBytes = 32, // the instruction set
    .vectorRegisters = 16,
    .tileRows = 6, // test/bars/contraction: 93-98 % of FMA peak
    .tileVectors = 2,
    .rowVectors = 8, // half of the registers
    .chains = 4,     // cycles of an addition, Agner Fog's instruction tables
    .lineBytes = 64,
    .l1Bytes = 32 * KB, // gradc doctor --measure
    .l2Bytes = 512 * KB,
    .cacheBandwidth = 30e9,  // estimate
    .memoryBandwidth = 20e9, // estimate
    .f32Flops = 100e9,       // gradc doctor --measure: 100 to 113
    .bf16Flops = 100e9,      // as f32, which it is converted to
    .int8Flops = 100e9,      // two multiply-adds and two additions of vectors take four steps
    .loopFlops = 10e9,       // estimate
    .specials = 4e9,         // gradc doctor --measure, beside other work
    .launch = 0.25e-6,       // a barrier of running threads: 200 to 300 ns
    .kernels = &cpuKernels,
    .unpairedFlops = 62e9,  // gradc bench, a GPT in bf16 before its factors were packed: 57 to 68
    .winogradChannels = 32, // convolution-bench: by F(2x2) 1.25 times faster with 32, 1.7 with 64
    // In smaller ones a third of the taps stand on padding, which costs direct loops nothing.
    .winogradPicture = 8,
    // Steps of ResNet-18 and ResNet-50 with 256 channels of 14x14 and 8x8 pictures were no faster
    // by F(4x4), those of VGG-11 with 256 of 56x56 and 512 of 28x28 by a tenth.
    .winogradBytes = 4 * MB,
    .winogradPositions = 512,
    .blockSteps = 128,      // convolution-bench
    .minPrefetchSteps = 32, // 32 steps of the tile take 60 ns, a memory access
};

// Rates were measured on a Zen 4 core, which has one 512-bit multiply-add per cycle; `gradc doctor
// --measure` measures the same. Sizes are those of the smallest cores of the level, Skylake's
// servers.
static constexpr Level makeV4() {
  Level v4 = v3;
  v4.name = v4.cpu = "x86-64-v4";
  v4.features = "-prefer-256-bit";
  v4.vectorBytes = 64; // the instruction set
  v4.vectorRegisters = 32;
  v4.tileRows = 8;    // test/bars/contraction: 97-99 %; 8x3 is equal but wastes more on widths
  v4.tileVectors = 2; // that are no multiple of 48
  v4.rowVectors = 16; // half of the registers
  v4.l2Bytes = 1 * MB;
  v4.cacheBandwidth = 32e9;  // 1-2 ns per line of another core
  v4.memoryBandwidth = 24e9; // a triad
  v4.f32Flops = 118e9;       // multiply-adds in registers
  v4.bf16Flops = 118e9;      // as f32, which it is converted to
  v4.int8Flops = 118e9;
  v4.unpairedFlops = 80e9; // the same: 45 to 97
  v4.loopFlops = 20e9;     // a triad in the first-level cache: 119 GB/s, 12 bytes per two flops
  v4.specials = 6e9;       // exponentials
  return v4;
}
static constexpr Level makeV4Bf16() {
  Level level = makeV4();
  level.name = "x86-64-v4+bf16";
  level.features = "-prefer-256-bit,+avx512bf16,+avx512vnni";
  level.bf16Flops = 233e9; // products of pairs in registers
  level.int8Flops = 466e9; // of quads
  level.bf16Dots = level.int8Dots = true;
  return level;
}
// Of an Emerald Rapids core. Its vdpbf16ps is no faster than f32, and its tile registers multiply
// ten times as fast.
static constexpr Level makeV4Amx() {
  Level level = makeV4Bf16();
  level.name = "x86-64-v4+amx";
  level.features = "-prefer-256-bit,+avx512bf16,+avx512vnni,+amx-tile,+amx-bf16";
  level.bf16Flops = 1200e9; // contraction-bench; 2,900 from the first-level cache
  level.amxRows = 32;       // two blocks of 16
  return level;
}

// NVIDIA A100 80 GB SXM data sheet, where nothing else is said.
static constexpr Level sm80 = {
    .name = "cuda:sm_80",
    .cpu = "sm_80",
    .features = "+ptx80",
    .vectorBytes = 16,     // a thread's widest access
    .vectorRegisters = 63, // 255 registers of 32 bits
    .tileRows = 4,         // estimate: 16 accumulators
    .tileVectors = 1,
    .rowVectors = 8, // estimate
    .chains = 4,     // cycles of a multiply-add
    .lineBytes = 128,
    .l1Bytes = 192 * KB,
    .l2Bytes = 40 * MB,
    .cacheBandwidth = 4e12, // estimate: twice the memory's
    .memoryBandwidth = 2.0e12,
    .f32Flops = 19.5e12,
    .bf16Flops = 312e12,
    .int8Flops = 19.5e12,  // as f32: tensor cores are not used
    .loopFlops = 4.875e12, // estimate: a quarter of the peak
    .specials = 4.875e12,  // estimate: not told apart
    .launch = 2e-6,        // estimate, in a graph
    .kernels = &gpuKernels,
    .gpu = &a100,
};

static constexpr Level makeSm90() {
  Level level = sm80;
  level.name = "cuda:sm_90";
  level.cpu = "sm_90";
  level.l1Bytes = 256 * KB; // NVIDIA H200 SXM data sheet, where nothing else is said
  level.l2Bytes = 50 * MB;
  level.cacheBandwidth = 9.6e12; // estimate: twice the memory's
  level.memoryBandwidth = 4.8e12;
  level.f32Flops = 67e12;
  level.bf16Flops = 989e12;
  level.int8Flops = 67e12;
  level.loopFlops = 16.75e12; // estimate: a quarter of the peak
  level.specials = 16.75e12;  // estimate: not told apart
  level.gpu = &h200;
  return level;
}

static constexpr Level table[] = {v3, makeV4(), makeV4Bf16(), makeV4Amx(), sm80, makeSm90()};

llvm::ArrayRef<Level> mlir::exec::levels() { return table; }

const KernelLimits &mlir::exec::kernelLimits(bool isCuda) {
  return isCuda ? gpuKernels : cpuKernels;
}

const Level *mlir::exec::findLevel(llvm::StringRef name) {
  const Level *found = llvm::find_if(table, [&](const Level &l) { return l.name == name; });
  return found == std::end(table) ? nullptr : found;
}

/// Asks Linux to save AMX's registers, once for the process: without, their first use is a fault.
static bool requestTiles() {
  constexpr long requestPermission = 0x1023, tileData = 18; // ARCH_REQ_XCOMP_PERM
  static const bool granted = syscall(SYS_arch_prctl, requestPermission, tileData) == 0;
  return granted;
}

const Level *mlir::exec::nativeLevel() {
  auto features = llvm::sys::getHostCPUFeatures();
  auto hasAll = [&](llvm::ArrayRef<const char *> names) {
    return llvm::all_of(names, [&](const char *n) { return features.lookup(n); });
  };
  if (!hasAll({"avx2", "fma", "bmi", "bmi2", "f16c", "lzcnt", "movbe"}))
    return nullptr;
  if (!hasAll({"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}))
    return &table[0];
  if (!hasAll({"avx512bf16", "avx512vnni"}))
    return &table[1];
  return hasAll({"amx-tile", "amx-bf16"}) && requestTiles() ? &table[3] : &table[2];
}

bool mlir::exec::runsHere(const Level &level) {
  const Level *native = nativeLevel();
  return native && &level <= native;
}
