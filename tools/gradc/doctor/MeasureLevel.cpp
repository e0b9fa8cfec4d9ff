// Sizes are those the system reports; rates and costs are the best of several short runs.
#include "tools/gradc/doctor/MeasureLevel.h"

#include "runtime/base/ThreadTeam.h"
#include "tools/gradc/doctor/Peaks.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <immintrin.h>
#include <unistd.h>

using mlir::exec::Level;

namespace gradc {
using namespace runtime;
namespace {

constexpr LevelNumber numbers[] = {
    {"line_bytes", "B", 1, [](const Level &l) { return double(l.lineBytes); }},
    {"l1_bytes", "KB", 1 << 10, [](const Level &l) { return double(l.l1Bytes); }},
    {"l2_bytes", "KB", 1 << 10, [](const Level &l) { return double(l.l2Bytes); }},
    {"cache_bandwidth", "GB/s", 1e9, [](const Level &l) { return l.cacheBandwidth; }},
    {"memory_bandwidth", "GB/s", 1e9, [](const Level &l) { return l.memoryBandwidth; }},
    {"f32_flops", "GFLOP/s", 1e9, [](const Level &l) { return l.f32Flops; }},
    {"bf16_flops", "GFLOP/s", 1e9, [](const Level &l) { return l.bf16Flops; }},
    {"loop_flops", "GFLOP/s", 1e9, [](const Level &l) { return l.loopFlops; }},
    {"specials", "G/s", 1e9, [](const Level &l) { return l.specials; }},
    {"launch", "ns", 1e-9, [](const Level &l) { return l.launch; }},
};

// e^x as compiled kernels compute it: 2^n multiplied by a polynomial.
constexpr std::array<float, 6> coefficients = {1.0f / 120, 1.0f / 24, 1.0f / 6, 0.5f, 1.0f, 1.0f};
constexpr float log2E = 1.44269504f, ln2 = 0.69314718f;

__attribute__((target("avx2,fma"))) void exp256(float *values, int64_t count) {
  for (int64_t i = 0; i < count; i += 8) {
    __m256 x = _mm256_load_ps(values + i);
    __m256 n = _mm256_round_ps(_mm256_mul_ps(x, _mm256_set1_ps(log2E)),
                               _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    __m256 rest = _mm256_fnmadd_ps(n, _mm256_set1_ps(ln2), x), sum = _mm256_setzero_ps();
    for (float c : coefficients)
      sum = _mm256_fmadd_ps(sum, rest, _mm256_set1_ps(c));
    __m256i exponent = _mm256_slli_epi32(_mm256_cvtps_epi32(n), 23);
    sum = _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(sum), exponent));
    _mm256_store_ps(values + i, _mm256_mul_ps(sum, _mm256_set1_ps(0.5f)));
  }
}

__attribute__((target("avx512f"))) void exp512(float *values, int64_t count) {
  for (int64_t i = 0; i < count; i += 16) {
    __m512 x = _mm512_load_ps(values + i);
    __m512 n = _mm512_roundscale_ps(_mm512_mul_ps(x, _mm512_set1_ps(log2E)), 0);
    __m512 rest = _mm512_fnmadd_ps(n, _mm512_set1_ps(ln2), x), sum = _mm512_setzero_ps();
    for (float c : coefficients)
      sum = _mm512_fmadd_ps(sum, rest, _mm512_set1_ps(c));
    _mm512_store_ps(values + i, _mm512_mul_ps(_mm512_scalef_ps(sum, n), _mm512_set1_ps(0.5f)));
  }
}

double measureSpecials(bool wide) {
  constexpr int64_t count = 4096, passes = 400;
  alignas(64) static float values[count];
  double seconds = fastest(1, [&](int) {
    for (int64_t pass = 0; pass < passes; ++pass) {
      wide ? exp512(values, count) : exp256(values, count);
      asm volatile("" ::: "memory");
    }
  });
  return double(count * passes) / seconds;
}

__attribute__((target("avx512f,avx512bf16"))) float multiplyPairs(int64_t rounds) {
  constexpr int chains = 12;
  const __m512bh one = _mm512_cvtne2ps_pbh(_mm512_set1_ps(1), _mm512_set1_ps(1));
  __m512 sums[chains];
  for (__m512 &sum : sums)
    sum = _mm512_setzero_ps();
  for (int64_t round = 0; round < rounds; ++round)
    for (__m512 &sum : sums) {
      sum = _mm512_dpbf16_ps(sum, one, one);
      asm volatile("" : "+v"(sum));
    }
  for (int i = 1; i < chains; ++i)
    sums[0] = _mm512_add_ps(sums[0], sums[i]);
  return _mm512_cvtss_f32(sums[0]);
}

/// Products of two by two blocks in AMX's tile registers, with their loads.
__attribute__((target("amx-tile,amx-bf16"))) void multiplyBlocks(int64_t rounds) {
  struct alignas(64) {
    uint8_t palette = 1, startRow = 0, reserved[14] = {};
    uint16_t rowBytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
    uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
  } shapes;
  alignas(64) static uint16_t factors[4][16 * 32] = {};
  _tile_loadconfig(&shapes);
  _tile_zero(0), _tile_zero(1), _tile_zero(2), _tile_zero(3);
  for (int64_t round = 0; round < rounds; ++round) {
    _tile_loadd(4, factors[0], 64);
    _tile_loadd(5, factors[1], 64);
    _tile_loadd(6, factors[2], 64);
    _tile_loadd(7, factors[3], 64);
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
  _tile_release();
}

double measureAmx() {
  constexpr int64_t rounds = 100'000, flopsPerRound = 4 * 2 * 16 * 16 * 32;
  double seconds = fastest(1, [&](int) { multiplyBlocks(rounds); });
  return double(rounds * flopsPerRound) / seconds;
}

double measureBf16() {
  constexpr int64_t rounds = 400'000, flopsPerRound = 12 * 64;
  volatile float sink = 0;
  double seconds = fastest(1, [&](int) { sink = multiplyPairs(rounds); });
  return double(rounds * flopsPerRound) / seconds;
}

/// Bytes per second that a core reads and writes after another core has written them.
double measureExchange(ThreadTeam &team, int64_t bytes) {
  constexpr int64_t passes = 64;
  int64_t count = bytes / int64_t(sizeof(float));
  std::vector<std::vector<float>> parts(team.size(), std::vector<float>(size_t(count), 1.0f));
  auto work = [&](unsigned thread) {
    for (int64_t pass = 0; pass < passes; ++pass) {
      for (float &value : parts[(thread + pass) % team.size()])
        value *= 0.5f;
      team.barrier(thread);
    }
  };
  double seconds = fastest(1, [&](int) { team.run(work); });
  return double(passes * count) * 2 * sizeof(float) / seconds;
}

double measureLaunch(ThreadTeam &team) {
  constexpr int launches = 1000;
  return fastest(1,
                 [&](int) {
                   for (int i = 0; i < launches; ++i)
                     team.run([](unsigned) {});
                 }) /
         launches;
}

/// The system's answer, or `otherwise` if it has none.
int64_t systemSize(int name, int64_t otherwise) {
  long size = sysconf(name);
  return size > 0 ? size : otherwise;
}

/// The bytes of the last-level cache that this CPU uses, as Linux tells; on AMD's servers, sysconf
/// adds up those of all CPUs.
int64_t lastCacheBytes() {
  std::ifstream file("/sys/devices/system/cpu/cpu0/cache/index3/size");
  int64_t kilobytes = 0;
  return file >> kilobytes ? kilobytes << 10 : systemSize(_SC_LEVEL3_CACHE_SIZE, 0);
}

} // namespace

llvm::ArrayRef<LevelNumber> levelNumbers() { return numbers; }

Level measureLevel(const Level &row) {
  Level level = row;
  bool wide = row.vectorBytes == 64;
  level.lineBytes = systemSize(_SC_LEVEL1_DCACHE_LINESIZE, row.lineBytes);
  level.l1Bytes = systemSize(_SC_LEVEL1_DCACHE_SIZE, row.l1Bytes);
  level.l2Bytes = systemSize(_SC_LEVEL2_CACHE_SIZE, row.l2Bytes);
  level.memoryBandwidth = measureTriad(1, int64_t(192) << 20);
  level.f32Flops = measureFlops(wide, 1);
  level.bf16Flops = row.amxRows ? measureAmx() : row.bf16Dots ? measureBf16() : level.f32Flops;
  level.int8Flops = row.int8Flops / row.f32Flops * level.f32Flops;
  // A triad in the first-level cache has two flops per 12 bytes.
  level.loopFlops = measureTriad(1, level.l1Bytes / 2) / 6;
  level.specials = measureSpecials(wide);
  int threads = int(std::min(2u, ThreadTeam::availableCpus()));
  if (auto team = ThreadTeam::create(threads)) {
    level.cacheBandwidth = measureExchange(**team, level.l2Bytes / 4);
    level.launch = measureLaunch(**team);
  }
  return level;
}

Machine measureMachine(const Level &level, int threads) {
  Machine machine{measureLevel(level), threads, 0, {}};
  bool wide = level.vectorBytes == 64;
  machine.flops = measureFlops(wide, threads);
  machine.inFlight = machine.core.f32Flops / measureChain(wide);
  auto add = [&](int64_t bytes, int64_t one, int64_t all) { // sizes of triads
    machine.tiers.push_back({bytes, measureTriad(1, one), measureTriad(threads, all)});
  };
  int64_t l2 = machine.core.l2Bytes, l3 = lastCacheBytes();
  add(l2, l2 / 2, threads * l2 / 2);
  if (l3 > 4 * threads * l2) // else what all threads have is in their L2 caches
    add(l3, std::min(l3 / 2, 8 * l2), std::clamp(threads * 8 * l2, 2 * threads * l2, l3 / 2));
  int64_t memory = std::max<int64_t>(4 * l3, int64_t(192) << 20);
  add(INT64_MAX, memory, memory);
  return machine;
}

} // namespace gradc
