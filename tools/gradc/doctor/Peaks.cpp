// Measures independent multiply-adds, and a triad over memory; takes the best of several short
// runs.
#include "tools/gradc/doctor/Peaks.h"

#include "dialects/exec/Level.h"

#include <algorithm>
#include <barrier>
#include <chrono>
#include <functional>
#include <immintrin.h>
#include <memory>
#include <thread>
#include <vector>

namespace gradc {
namespace {

/// `value`, unknown to the compiler: it would drop the chain of 1, whose every sum rounds to 1.
__attribute__((target("avx2"))) inline __m256 hidden(__m256 value) {
  asm("" : "+x"(value));
  return value;
}
__attribute__((target("avx512f"))) inline __m512 hidden(__m512 value) {
  asm("" : "+v"(value));
  return value;
}

template <int chains> __attribute__((target("avx2,fma"))) float multiplyAdd256(int64_t rounds) {
  const __m256 factor = _mm256_set1_ps(0.999f), addend = _mm256_set1_ps(0.001f);
  __m256 sums[chains];
  for (int i = 0; i < chains; ++i)
    sums[i] = hidden(_mm256_set1_ps(float(i)));
  for (int64_t round = 0; round < rounds; ++round)
    for (int i = 0; i < chains; ++i)
      sums[i] = _mm256_fmadd_ps(sums[i], factor, addend);
  for (int i = 1; i < chains; ++i)
    sums[0] = _mm256_add_ps(sums[0], sums[i]);
  return _mm256_cvtss_f32(sums[0]);
}

template <int chains> __attribute__((target("avx512f"))) float multiplyAdd512(int64_t rounds) {
  const __m512 factor = _mm512_set1_ps(0.999f), addend = _mm512_set1_ps(0.001f);
  __m512 sums[chains];
  for (int i = 0; i < chains; ++i)
    sums[i] = hidden(_mm512_set1_ps(float(i)));
  for (int64_t round = 0; round < rounds; ++round)
    for (int i = 0; i < chains; ++i)
      sums[i] = _mm512_fmadd_ps(sums[i], factor, addend);
  for (int i = 1; i < chains; ++i)
    sums[0] = _mm512_add_ps(sums[0], sums[i]);
  return _mm512_cvtss_f32(sums[0]);
}

__attribute__((target("avx2,fma"))) void triad(float *__restrict a, const float *__restrict b,
                                               const float *__restrict c, int64_t count) {
  const __m256 factor = _mm256_set1_ps(3.0f);
  for (int64_t i = 0; i + 8 <= count; i += 8)
    _mm256_store_ps(a + i, _mm256_fmadd_ps(_mm256_load_ps(c + i), factor, _mm256_load_ps(b + i)));
}

} // namespace

double fastest(int threads, const std::function<void(int)> &work) {
  using Clock = std::chrono::steady_clock;
  constexpr int runs = 8;
  // Threads that have just started may share a CPU for some milliseconds.
  constexpr std::chrono::milliseconds least(40);
  double best = 1e30;
  bool isDone = false;
  std::barrier together(threads);
  Clock::time_point start = Clock::now();
  auto body = [&](int thread) {
    for (int run = 1; !isDone; ++run) {
      together.arrive_and_wait();
      Clock::time_point begin = Clock::now();
      work(thread);
      together.arrive_and_wait();
      if (thread == 0) {
        Clock::time_point end = Clock::now();
        best = std::min(best, std::chrono::duration<double>(end - begin).count());
        isDone = run >= runs && end - start >= least;
      }
      together.arrive_and_wait();
    }
  };
  std::vector<std::thread> others;
  for (int thread = 1; thread < threads; ++thread)
    others.emplace_back(body, thread);
  body(0);
  for (std::thread &other : others)
    other.join();
  return best;
}

namespace {

template <int chains> double flopsOfChains(bool wide, int threads) {
  constexpr int64_t rounds = 400'000; // a few milliseconds
  [[maybe_unused]] volatile float sink = 0;
  double seconds = fastest(threads, [&](int) {
    float sum = wide ? multiplyAdd512<chains>(rounds) : multiplyAdd256<chains>(rounds);
    if (sum < 0) // never happens, but the compiler cannot know that
      sink = sum;
  });
  return double(threads) * rounds * chains * (wide ? 16 : 8) * 2 / seconds;
}

} // namespace

double measureFlops(bool wide, int threads) {
  // Two units with a latency of four cycles need eight; more hide the surrounding loop.
  return flopsOfChains<12>(wide, threads);
}

double measureChain(bool wide) { return flopsOfChains<1>(wide, 1); }

double measureTriad(int threads, int64_t workingSet) {
  int64_t count = workingSet / (3 * int64_t(sizeof(float)) * threads) / 32 * 32; // per thread
  int64_t passes = std::max<int64_t>(1, (int64_t(16) << 20) / workingSet);
  struct Free {
    void operator()(float *memory) const { std::free(memory); }
  };
  using Array = std::unique_ptr<float[], Free>;
  std::vector<Array> arrays;
  for (int i = 0; i < 3 * threads; ++i) {
    arrays.emplace_back(static_cast<float *>(std::aligned_alloc(128, size_t(count) * 4)));
    std::fill_n(arrays.back().get(), count, 1.0f);
  }
  double seconds = fastest(threads, [&](int thread) {
    Array *own = &arrays[3 * thread];
    for (int64_t pass = 0; pass < passes; ++pass) {
      triad(own[0].get(), own[1].get(), own[2].get(), count);
      asm volatile("" ::: "memory");
    }
  });
  return double(threads) * double(passes) * double(count) * 3 * sizeof(float) / seconds;
}

Peaks measurePeaks(llvm::StringRef level, int threads, int64_t workingSet) {
  bool wide = level.starts_with("x86-64-v4");
  Peaks peaks;
  peaks.triadBytes =
      std::clamp<int64_t>(workingSet, int64_t(threads) * (24 << 10), int64_t(192) << 20);
  peaks.flops = {measureFlops(wide, 1), 0, threads};
  peaks.flops.all = threads > 1 ? measureFlops(wide, threads) : peaks.flops.one;
  const mlir::exec::Level &row = *mlir::exec::findLevel(level);
  double ratio = row.int8Flops / row.f32Flops;
  peaks.int8Flops = {ratio * peaks.flops.one, ratio * peaks.flops.all, threads};
  peaks.bytes = {measureTriad(1, peaks.triadBytes), 0, threads};
  peaks.bytes.all = threads > 1 ? measureTriad(threads, peaks.triadBytes) : peaks.bytes.one;
  return peaks;
}

} // namespace gradc
