//===- AlgorithmsTest.cpp - Kernels as other people write them ------------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The kernels of algorithms.hip at the optimisation levels of clang against
// references on the host: right values and nothing reported. With its bug each
// is reported by the check that looks for it.
//
//===----------------------------------------------------------------------===//

#include "Harness.h"
#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

using namespace hk::emu;
using namespace hk::emu::test;

namespace {

constexpr int kN = 4096;
using Values = std::vector<float>;

struct Algorithm {
  const char *kernel;
  uint32_t grid, block;
  const char *check; ///< what reports the bug
  size_t results;    ///< floats, or counters where `counters`
  std::function<double(const Values &in, size_t i)> want;
  double tolerance = 0; ///< relative
  bool counters = false;
  const char *chip = "";
};

double gemm(const Values &in, size_t i) {
  double sum = 0;
  for (size_t k = 0; k < 64; ++k)
    sum += double(in[k % 32 * 64 + i / 64]) * in[2048 + k % 32 * 64 + i % 64];
  return sum;
}

double histogram(const Values &in, size_t bin) {
  return double(std::count_if(in.begin(), in.end(), [&](float v) {
    return uint32_t(v) * 37 % 128 == bin;
  }));
}

double softmax(const Values &in, size_t i) {
  size_t row = i / 512 * 512;
  double sum = 0, top = in[row + 511] * 0.01;
  for (size_t k = row; k < row + 512; ++k)
    sum += std::exp2(in[k] * 0.01 - top);
  return std::exp2(in[i] * 0.01 - top) / sum;
}

double sorted(const Values &in, size_t i) {
  std::vector<uint32_t> keys(512);
  for (size_t k = 0; k < keys.size(); ++k)
    keys[k] = uint32_t(in[k]) * 2654435761u >> 8;
  std::sort(keys.begin(), keys.end());
  return double(float(keys[i]));
}

double columnSum(const Values &in, size_t i) {
  double sum = 0;
  for (size_t k = i; k < kN; k += 64)
    sum += in[k];
  return sum;
}

double prefix(const Values &in, size_t i) {
  return std::accumulate(in.begin(), in.begin() + long(i) + 1, 0.0);
}

double clamped(const Values &in, size_t i) {
  return in[kN - 128 + i] + in[kN - 64 + i];
}

double drawn(const Values &in, size_t i) {
  size_t tile = i / 256;
  return in[i] * 2 + double(tile);
}

double piped(const Values &in, size_t i) {
  double sum = 0;
  for (size_t step = 0; i >= 64 && step < 16; ++step)
    sum += in[step * 64 + 63 - i % 64];
  return sum;
}

/// Result (lane, element e) of a group of 16 is element lane % 4 of what lane
/// e * 4 + lane / 4 of the group read; each lane reads four in a row.
double transposed(const Values &in, size_t i) {
  size_t lane = i / 4, e = i % 4, group = lane & ~size_t(15), l = lane % 16;
  return in[(group + e * 4 + l / 4) * 4 + l % 4];
}

/// Row and column r of both operands hold the powers of two of the lanes that
/// carry them; scales are 2 and 1/4.
double scaled(const Values &in, size_t i) {
  auto power = [&](size_t lane) { return double(1 << (int(in[lane]) % 3)); };
  size_t lane = i / 4, row = lane / 16 * 4 + i % 4, column = lane % 16;
  double sum = 0;
  for (size_t chunk = 0; chunk < 4; ++chunk)
    sum += 32 * power(chunk * 16 + row) * power(chunk * 16 + column);
  return sum / 2;
}

const Algorithm kAlgorithms[] = {
    {"gemm_direct_to_lds", 1, 256, "lds-race", 4096, gemm, 1e-6},
    {"histogram_private", 4, 256, "undefined-read", 128, histogram, 0, true},
    {"softmax_online", 8, 256, "lds-race", 4096, softmax, 1e-4},
    {"bitonic_sort", 1, 256, "lds-bounds", 512, sorted},
    {"stream_k", 4, 64, "global-race", 64, columnSum},
    {"grid_barrier", 4, 256, "global-race", 64, columnSum},
    {"critical_section", 32, 64, "global-race", 1,
     [](const Values &in, size_t) { return prefix(in, 31); }},
    {"scan_look_back", 16, 64, "global-race", 1024, prefix},
    {"buffer_clamped", 1, 64, "global-bounds", 64, clamped},
    {"split_k_last_block", 8, 64, "undefined-read", 64, columnSum},
    {"persistent_queue", 3, 256, "lds-race", 4096, drawn},
    {"ring_pipeline", 1, 256, "lds-race", 256, piped},
    {"transposed_read", 1, 256, "lds-race", 1024, transposed, 0, false,
     "gfx950"},
    {"scaled_product", 1, 64, "missing-wait", 256, scaled, 0, false, "gfx950"},
};

class AlgorithmsTest : public testing::TestWithParam<const char *> {
protected:
  struct Outcome {
    LaunchResult result;
    std::vector<double> values;
  };

  bool skips(const Algorithm &a) {
    return *a.chip && std::string(a.chip) != GetParam();
  }

  Outcome run(const std::string &object, const Algorithm &a,
              unsigned threads = 1) {
    TestDevice device(GetParam());
    device.options.threads = threads;
    device.options.maxInsts = 2000000;
    Outcome outcome;
    if (!device.load(object)) {
      outcome.result.error = device.loadError;
      return outcome;
    }
    Values in(kN);
    std::iota(in.begin(), in.end(), 1.0f);
    uint64_t out = device.alloc(4 * kN), from = device.upload(in);
    uint64_t count = device.upload(std::vector<uint32_t>(128));
    outcome.result = device.run(a.kernel, a.grid, a.block, out, from,
                                device.alloc(4 * kN), count, int(kN));
    if (a.counters)
      for (uint32_t v : device.download<uint32_t>(count, a.results))
        outcome.values.push_back(v);
    else
      for (float v : device.download<float>(out, a.results))
        outcome.values.push_back(double(v));
    return outcome;
  }
};

TEST_P(AlgorithmsTest, ValuesAreRightAndNothingIsReported) {
  Values in(kN);
  std::iota(in.begin(), in.end(), 1.0f);
  for (const char *level : {"-O0 -g", "-O1", "-O2", "-O3"}) {
    std::string object = compileHipFile("algorithms.hip", GetParam(), level);
    for (const Algorithm &a : kAlgorithms) {
      SCOPED_TRACE(std::string(a.kernel) + " at " + level);
      if (skips(a))
        continue;
      Outcome outcome = run(object, a);
      EXPECT_TRUE(outcome.result.ok()) << describe(outcome.result);
      size_t wrong = 0;
      for (size_t i = 0; i < outcome.values.size(); ++i) {
        double want = a.want(in, i), got = outcome.values[i];
        if (!(std::fabs(got - want) <= a.tolerance * std::fabs(want)) &&
            !wrong++) {
          ADD_FAILURE() << "at " << i << ": " << got << ", want " << want;
        }
      }
      EXPECT_EQ(wrong, 0u);
    }
  }
}

// Workgroups of several threads meet between any two instructions.
TEST_P(AlgorithmsTest, SynchronisationHoldsOnSeveralThreads) {
  std::string object = compileHipFile("algorithms.hip", GetParam());
  for (const Algorithm &a : kAlgorithms) {
    SCOPED_TRACE(a.kernel);
    if (a.grid == 1)
      continue;
    for (unsigned i = 0; i < 10; ++i) {
      Outcome outcome = run(object, a, 4);
      ASSERT_TRUE(outcome.result.ok()) << describe(outcome.result);
    }
  }
}

TEST_P(AlgorithmsTest, BugsAreReported) {
  std::string object =
      compileHipFile("algorithms.hip", GetParam(), "-O2 -DBAD=1");
  for (const Algorithm &a : kAlgorithms) {
    SCOPED_TRACE(a.kernel);
    if (skips(a))
      continue;
    Outcome outcome = run(object, a);
    EXPECT_EQ(outcome.result.error, "");
    EXPECT_NE(findingNames(outcome.result).find(a.check), std::string::npos)
        << describe(outcome.result);
  }
}

INSTANTIATE_TEST_SUITE_P(Chips, AlgorithmsTest, testing::ValuesIn(kChips));

} // namespace
