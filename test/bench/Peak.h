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

} // namespace gradc::bench

#endif
