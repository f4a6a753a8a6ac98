// Prints the rate, in GB/s, at which threads read memory once, front to back:
// the peak that products with one row are measured against. Arguments: bytes,
// threads, attempts. Each line is the median and the best attempt.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

typedef long long Vec __attribute__((ext_vector_type(8), aligned(8)));

/// Four accumulators, so that no addition waits for another.
static void read(const char *from, size_t bytes) {
  Vec sum[4] = {};
  for (size_t i = 0; i + sizeof sum <= bytes; i += sizeof sum)
    for (int j = 0; j < 4; ++j)
      sum[j] += *reinterpret_cast<const Vec *>(from + i + j * sizeof(Vec));
  asm volatile("" ::"x"(sum[0][0] + sum[1][0] + sum[2][0] + sum[3][0]));
}

int main(int count, char **arguments) {
  if (count != 4)
    return 1;
  size_t bytes = std::strtoull(arguments[1], nullptr, 10);
  int threads = std::atoi(arguments[2]), attempts = std::atoi(arguments[3]);
  constexpr size_t piece = 1 << 16;
  auto *data = static_cast<char *>(std::aligned_alloc(4096, bytes));
  std::memset(data, 1, bytes);
  std::vector<double> rates;
  for (int attempt = 0; attempt < attempts; ++attempt) {
    std::atomic<size_t> next{0};
    auto work = [&] {
      for (size_t at; (at = next.fetch_add(piece)) < bytes;)
        read(data + at, std::min(piece, bytes - at));
    };
    auto start = std::chrono::steady_clock::now();
    std::vector<std::thread> others;
    for (int t = 1; t < threads; ++t)
      others.emplace_back(work);
    work();
    for (auto &other : others)
      other.join();
    std::chrono::duration<double> time =
        std::chrono::steady_clock::now() - start;
    rates.push_back(bytes / time.count() / 1e9);
  }
  std::sort(rates.begin(), rates.end());
  std::printf("%.2f %.2f\n", rates[rates.size() / 2], rates.back());
}
