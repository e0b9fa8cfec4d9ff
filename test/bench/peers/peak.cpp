// The machine's own limits: FMA peak in f32 (and bf16, if it has dot products) and memory bandwidth
// of a triad, as one JSON line.
//
//   machine-peak [THREADS] [SECONDS]
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <immintrin.h>
#include <memory>
#include <thread>
#include <vector>

namespace {

constexpr int64_t fmaSteps = 20000;
constexpr int64_t chains = 12; // hides the latency of two units
constexpr size_t triadFloats = size_t(64) << 20;

// Whole loops in assembly, so that no compiler keeps an accumulator in memory.
#define FMA_LOOP(instruction)                                                                      \
  int64_t steps = fmaSteps;                                                                        \
  asm volatile("vzeroall\n1:\n"                                                                    \
               ".irp r,0,1,2,3,4,5,6,7,8,9,10,11\n" instruction "\n.endr\n"                        \
               "dec %0\njnz 1b\nvzeroupper"                                                        \
               : "+r"(steps)                                                                       \
               :                                                                                   \
               : "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8",     \
                 "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15")

double fma256(int) {
  FMA_LOOP("vfmadd231ps %%ymm14, %%ymm15, %%ymm\\r");
  return 2.0 * 8 * chains * fmaSteps;
}
double fma512(int) {
  FMA_LOOP("vfmadd231ps %%zmm14, %%zmm15, %%zmm\\r");
  return 2.0 * 16 * chains * fmaSteps;
}
double dotBf16(int) {
  FMA_LOOP("vdpbf16ps %%zmm14, %%zmm15, %%zmm\\r");
  return 4.0 * 16 * chains * fmaSteps;
}

double now() {
  using namespace std::chrono;
  return duration<double>(steady_clock::now().time_since_epoch()).count();
}

/// Work per second of all threads together, in the units returned by work(thread); the best of five
/// slices.
double rate(int threads, double seconds, const std::function<double(int)> &work) {
  double best = 0;
  for (int slice = 0; slice < 5; ++slice) {
    std::atomic<int> ready{0};
    std::vector<double> rates(static_cast<size_t>(threads));
    std::vector<std::thread> team;
    for (int thread = 0; thread < threads; ++thread)
      team.emplace_back([&, thread] {
        for (++ready; ready < threads;)
          ;
        double begin = now(), done = 0;
        while (now() - begin < seconds / 5)
          done += work(thread);
        rates[size_t(thread)] = done / (now() - begin);
      });
    double sum = 0;
    for (int thread = 0; thread < threads; ++thread) {
      team[size_t(thread)].join();
      sum += rates[size_t(thread)];
    }
    best = std::max(best, sum);
  }
  return best;
}

/// a = b + 0.5 c over arrays much larger than the caches; each thread has its own arrays.
class Triad {
public:
  explicit Triad(int threads) : size(triadFloats / size_t(threads)) {
    for (int thread = 0; thread < threads; ++thread)
      arrays.emplace_back(allocate(), allocate(), allocate());
  }

  /// The bytes moved, excluding the read of `a` that a normal store causes.
  __attribute__((target("avx2,fma"))) double run(int thread, bool streaming) {
    auto &[a, b, c] = arrays[size_t(thread)];
    __m256 half = _mm256_set1_ps(0.5f);
    for (size_t i = 0; i < size; i += 8) {
      __m256 sum = _mm256_fmadd_ps(half, _mm256_load_ps(&c[i]), _mm256_load_ps(&b[i]));
      if (streaming)
        _mm256_stream_ps(&a[i], sum);
      else
        _mm256_store_ps(&a[i], sum);
    }
    return 12.0 * double(size);
  }

private:
  struct Free {
    void operator()(float *pointer) const { std::free(pointer); }
  };
  using Array = std::unique_ptr<float[], Free>;

  Array allocate() const {
    Array array(static_cast<float *>(std::aligned_alloc(64, size * sizeof(float))));
    std::fill_n(array.get(), size, 1.0f);
    return array;
  }

  size_t size;
  std::vector<std::tuple<Array, Array, Array>> arrays;
};

} // namespace

int main(int argc, char **argv) {
  int threads = argc > 1 ? std::atoi(argv[1]) : 1;
  double seconds = argc > 2 ? std::atof(argv[2]) : 1;
  if (threads < 1 || !__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) {
    std::fprintf(stderr,
                 "usage: machine-peak [THREADS] [SECONDS], on a machine with AVX2 and FMA\n");
    return 2;
  }
  std::printf("{\"threads\": %d, \"avx2_gflops\": %.1f", threads,
              rate(threads, seconds, fma256) / 1e9);
  if (__builtin_cpu_supports("avx512f"))
    std::printf(", \"avx512_gflops\": %.1f", rate(threads, seconds, fma512) / 1e9);
  if (__builtin_cpu_supports("avx512bf16"))
    std::printf(", \"bf16_gflops\": %.1f", rate(threads, seconds, dotBf16) / 1e9);
  Triad triad(threads);
  for (bool streaming : {false, true})
    std::printf(", \"%s_gb_per_s\": %.1f", streaming ? "streaming_triad" : "triad",
                rate(threads, seconds, [&](int thread) { return triad.run(thread, streaming); }) /
                    1e9);
  std::printf("}\n");
}
