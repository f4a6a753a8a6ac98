// Prints the rate, in GFLOP/s, at which one core runs independent f32
// multiply-adds on registers: the peak that matrix products on the host are
// measured against.
#include <chrono>
#include <cstdio>

#if defined(__AVX512F__)
constexpr int kLanes = 16, kChains = 24;
#else
constexpr int kLanes = 8, kChains = 12;
#endif
typedef float Vec __attribute__((ext_vector_type(kLanes)));

int main() {
  Vec acc[kChains], factor = Vec(1.0000001f), term = Vec(1e-7f);
  for (int i = 0; i < kChains; ++i)
    acc[i] = Vec(float(i));
  asm volatile("" : "+v"(factor), "+v"(term));
  double best = 0;
  for (int attempt = 0; attempt < 10; ++attempt) {
    constexpr int rounds = 1000000;
    auto start = std::chrono::steady_clock::now();
    for (int r = 0; r < rounds; ++r) {
#pragma unroll
      for (int i = 0; i < kChains; ++i)
        acc[i] = __builtin_elementwise_fma(acc[i], factor, term);
      asm volatile("" : "+v"(acc[0]));
    }
    std::chrono::duration<double> time =
        std::chrono::steady_clock::now() - start;
    double rate = 2.0 * kLanes * kChains * rounds / time.count() / 1e9;
    best = rate > best ? rate : best;
  }
  float sum = 0;
  for (int i = 0; i < kChains; ++i)
    sum += acc[i][0];
  std::printf("%.1f\n", best);
  return sum == 0;
}
