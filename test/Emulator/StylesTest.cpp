//===- StylesTest.cpp - Other people's styles at every optimisation level -===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// styles.hip compiled with settings that hk does not use, from -O0, which is
// all scratch and calls, to preloaded arguments, must give the values computed
// here and no finding.
//
//===----------------------------------------------------------------------===//

#include "Harness.h"
#include <cmath>
#include <functional>
#include <numeric>

using namespace hk::emu;
using namespace hk::emu::test;

namespace {

constexpr int kN = 256;
using Values = std::vector<int>;
using Reference = std::function<int(const Values &, int)>;

int fibonacci(int k) { return k < 2 ? k : fibonacci(k - 1) + fibonacci(k - 2); }

int controlFlow(const Values &in, int t) {
  int v = in[size_t(t)], s = 0;
  for (int i = 0; i < 20; ++i) {
    int way = (v + i) % 9;
    if (way == 0)
      s += 5;
    if (way == 1) {
      s ^= i;
      continue;
    }
    if (way == 2) {
      s -= v;
      if (s < -500)
        return s;
    }
    if (way == 3)
      for (int j = i; j & 7; ++j)
        s += j;
    if (way == 3 || way == 5)
      s = s * 3 & 0xfff;
    if (way == 7 && !(v & 1))
      s += 11;
    if (s > 3000 && (v & 3) == 2)
      return -s;
    s += i;
  }
  return s;
}

int doubles(const Values &in, int t) {
  double x = in[size_t(t)] + 0.5, y = t + 1.25;
  double q = x / y, r = std::sqrt(y), f = std::fma(x, y, -q);
  double z = std::floor(q * 1000.0) + std::rint(r * 77.0);
  return int(q * 65536.0) ^ int(r * 1048576.0) ^ int(f) ^ int(z) ^ (x < y) ^
         int(std::fmin(x, y));
}

int wideAtomics(const Values &in, int t) {
  uint64_t sum = 0, top = 0, low = ~0ull, swapped = 0;
  for (int i = 0; i < kN; ++i) {
    uint64_t v = uint64_t(in[size_t(i)]) << 20 | uint64_t(i);
    sum += v;
    top = std::max(top, v);
    low = std::min(low, v);
    swapped = swapped * 3 + 1;
  }
  uint64_t all = sum ^ top ^ low ^ swapped ^ uint64_t(kN / 2);
  return int(all >> (t & 1 ? 32 : 0));
}

int structures(const Values &in, int t) {
  int v = in[size_t(t)], stop = v & 3;
  int8_t a = int8_t(v);
  int16_t b = int16_t(t);
  unsigned bits = 3, more = 99;
  int64_t c = v;
  float d[3] = {1, 2, 3};
  for (int i = 0; i <= stop; ++i) {
    int k = (v + i) & 7;
    a = int8_t(a + k);
    b = int16_t(b * k);
    bits = (bits + unsigned(k)) & 31;
    more = (more ^ unsigned(k * 37)) & 2047;
    c -= int64_t(k) << 33;
    d[k % 3] += float(k);
  }
  return a + b + int(bits) + int(more) + int(c >> 32) +
         int(d[0] + d[1] * 2 + d[2] * 4);
}

int longDivision(const Values &in, int t) {
  int64_t a = int64_t(in[size_t(t)]) * 1000003 * (t & 1 ? -977 : 1013);
  int64_t b = t * 12345 + 7;
  uint64_t c = uint64_t(a) * 0x9e3779b97f4a7c15ull;
  // Sums wrap, as the kernel's do.
  return int(unsigned(a / b) + unsigned(a % b) + unsigned(c / uint64_t(b)) +
             unsigned(c % 1000) +
             unsigned(static_cast<unsigned __int128>(c) * c >> 96));
}

int votes(const Values &in, int t) {
  int wave = t & ~63, l = t & 63;
  uint64_t odd = 0;
  for (int i = 0; i < 64; ++i)
    odd |= uint64_t(in[wave + i] & 1) << i;
  return __builtin_popcountll(odd & ((1ull << l) - 1)) + in[wave] * 3 +
         in[wave + 17] * 5 + in[t ^ 1] * 7 + in[t ^ 1] * 11 +
         __builtin_ctzll(odd | 1ull << 63);
}

int halves(const Values &in, int t) {
  auto bf16 = [](float v) {
    uint32_t u;
    std::memcpy(&u, &v, 4);
    u = (u + 0x7fff + (u >> 16 & 1)) & 0xffff0000u;
    std::memcpy(&v, &u, 4);
    return v;
  };
  float x = float(in[size_t(t)]);
  auto h = static_cast<_Float16>(x * 0.125f), g = static_cast<_Float16>(t + 1);
  auto r = static_cast<_Float16>(static_cast<_Float16>(h * g) +
                                 static_cast<_Float16>(3.5f));
  if (r > static_cast<_Float16>(1000.0f))
    r = static_cast<_Float16>(h / g);
  float b = bf16(bf16(bf16(x * 1.5f) * 0.75f) + 1.0f);
  return int(float(r) * 16.0f) + int(b * 4.0f);
}

const struct {
  const char *kernel;
  Reference want;
} kStyles[] = {
    {"shuffle_reduce",
     [](const Values &in, int t) {
       return std::accumulate(in.begin(), in.end(), 0) + t;
     }},
    {"warp_scan",
     [](const Values &in, int t) {
       return std::accumulate(in.begin(), in.begin() + t + 1, 0);
     }},
    {"tile_transpose",
     [](const Values &in, int t) { return in[t % 16 * 16 + t / 16]; }},
    {"recursion",
     [](const Values &in, int t) { return fibonacci(in[size_t(t)] & 7); }},
    {"function_pointers",
     [](const Values &in, int t) {
       int v = in[size_t(t)];
       return v % 3 == 0 ? v + t : v % 3 == 1 ? v - t : v * t;
     }},
    {"virtual_calls",
     [](const Values &in, int t) {
       int v = in[size_t(t)], side = v & 15, sum = 0;
       for (int i = 0; i < 2; ++i)
         sum += (i + v) & 1 ? 3 * t + i + 2 : side * side * (i + 2);
       return sum;
     }},
    {"big_stack",
     [](const Values &in, int t) {
       int v = in[size_t(t)], i = v & 63;
       return int16_t(v + (i * 13 + t) % 1000 * 3 - i) + v + (999 - t) * 3;
     }},
    {"variable_stack",
     [](const Values &in, int t) {
       int s = 0;
       for (int i = 0; i < kN / 8; ++i)
         s += in[size_t((t + i) % kN)];
       return s;
     }},
    {"spills",
     [](const Values &in, int t) {
       unsigned s = 0;
       for (int i = 0; i < 40; ++i)
         s = s * 3 + unsigned(in[size_t((t + (39 - i) * 7) % kN)]);
       return int(s);
     }},
    {"doubles", doubles},
    {"wide_atomics", wideAtomics},
    {"structures", structures},
    {"control_flow", controlFlow},
    {"long_division", longDivision},
    {"halves", halves},
    {"bytes",
     [](const Values &in, int t) {
       int o = 255 - t;
       return int(unsigned(in[size_t(o)]) * 2654435761u >> 3) + o * 2 - o;
     }},
    {"votes", votes},
};

const char *const kSettings[] = {
    "-O0",
    "-O0 -g",
    "-O1",
    "-O2",
    "-O3",
    "-Os",
    "-Oz",
    "-O2 -mllvm -amdgpu-kernarg-preload-count=8",
    "-O2 -mllvm -amdgpu-spill-sgpr-to-vgpr=0",
    "-O3 -mcode-object-version=4",
    "-O1 -mcode-object-version=6",
    "-O3 -funroll-loops -mllvm -amdgpu-function-calls=0",
};

class StylesTest
    : public testing::TestWithParam<std::tuple<const char *, const char *>> {};

TEST_P(StylesTest, ValuesAreRightAndNothingIsReported) {
  auto [chip, setting] = GetParam();
  TestDevice device(chip);
  ASSERT_TRUE(device.load(compileHipFile(
      "styles.hip", chip, std::string(setting) + " -ffp-contract=off")))
      << device.loadError;
  Values in(kN);
  for (int i = 0; i < kN; ++i)
    in[size_t(i)] = (i * 83 + i * i % 31) % 997;
  // LLVM 22 reserves 64 times the size of a variable array on these chips.
  device.options.stackBytes = 16 * 1024;
  auto check = [&](const char *kernel, const Reference &want, auto... more) {
    uint64_t out = device.alloc(4 * kN), from = device.upload(in);
    LaunchResult result =
        device.run(kernel, 1, kN, out, from, int(kN), more...);
    EXPECT_TRUE(result.ok()) << kernel << "\n" << describe(result);
    Values got = device.download<int>(out, kN);
    for (int t = 0; t < kN; ++t)
      ASSERT_EQ(got[size_t(t)], want(in, t)) << kernel << " at " << t;
  };
  for (const auto &style : kStyles)
    check(style.kernel, style.want);
  struct Large {
    int numbers[20];
    uint64_t pointer;
    uint8_t last[8];
  } large = {};
  std::iota(large.numbers, large.numbers + 20, 5);
  large.pointer = device.upload(in);
  large.last[2] = 77;
  LaunchConfig config;
  config.block[0] = kN;
  uint64_t out = device.alloc(4 * kN);
  config.args.assign(24 + sizeof large, 0);
  uint64_t pointers[2] = {out, large.pointer};
  std::memcpy(config.args.data(), pointers, sizeof pointers);
  std::memcpy(config.args.data() + 24, &large, sizeof large);
  LaunchResult result = device.launch("large_argument", config);
  EXPECT_TRUE(result.ok()) << describe(result);
  Values got = device.download<int>(out, kN);
  for (int t = 0; t < kN; ++t) {
    int want = in[size_t(t)] + 77;
    for (int i = 0; i < 20; ++i)
      want += large.numbers[(i + t) % 20] * i;
    ASSERT_EQ(got[size_t(t)], want) << "large_argument at " << t;
  }
}

INSTANTIATE_TEST_SUITE_P(Settings, StylesTest,
                         testing::Combine(testing::ValuesIn(kChips),
                                          testing::ValuesIn(kSettings)));

} // namespace
