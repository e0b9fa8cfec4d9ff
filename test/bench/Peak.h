// Clock, and loops that run at this machine's FMA peak.
#ifndef TEST_BENCH_PEAK_H
#define TEST_BENCH_PEAK_H

#include <chrono>
#include <cstdint>
#include <immintrin.h>

namespace gradc::bench {

inline double seconds() {
  using namespace std::chrono;
  return duration<double>(steady_clock::now().time_since_epoch()).count();
}

template <typename Work> double timeOf(Work work) {
  double start = seconds();
  work();
  return seconds() - start;
}

// Twelve chains hide the latency of two units of five cycles each.
inline constexpr int64_t peakSteps = 20000, chains = 12;
__attribute__((target("avx2,fma"))) inline void peakOf256() {
  __m256 acc[chains], x = _mm256_set1_ps(0.5f);
  for (__m256 &a : acc)
    a = x;
  for (int64_t i = 0; i < peakSteps; ++i)
    for (__m256 &a : acc) {
      a = _mm256_fmadd_ps(a, x, x);
      asm volatile("" : "+x"(a));
    }
}
__attribute__((target("avx512f"))) inline void peakOf512() {
  __m512 acc[chains], x = _mm512_set1_ps(0.5f);
  for (__m512 &a : acc)
    a = x;
  for (int64_t i = 0; i < peakSteps; ++i)
    for (__m512 &a : acc) {
      a = _mm512_fmadd_ps(a, x, x);
      asm volatile("" : "+v"(a));
    }
}

/// Two by two blocks of bf16 in tile registers, with their loads.
inline constexpr int64_t amxProducts = 4 * 16 * 16 * 32; // of a step
__attribute__((target("amx-tile,amx-bf16"))) inline void peakOfAmx() {
  struct alignas(64) {
    uint8_t palette = 1, startRow = 0, reserved[14] = {};
    uint16_t rowBytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
    uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
  } shapes;
  alignas(64) static uint16_t factors[4][16 * 32] = {};
  _tile_loadconfig(&shapes);
  _tile_zero(0), _tile_zero(1), _tile_zero(2), _tile_zero(3);
  for (int64_t i = 0; i < peakSteps; ++i) {
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

} // namespace gradc::bench

#endif
