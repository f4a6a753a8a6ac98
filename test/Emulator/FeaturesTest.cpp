//===- FeaturesTest.cpp - What kernels from other compilers use -----------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs features.hip on both chips, with one and with several threads and in
// random order: same values, no findings.
//
//===----------------------------------------------------------------------===//

#include "Harness.h"

using namespace hk::emu;
using namespace hk::emu::test;

namespace {

class FeaturesTest : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    device = std::make_unique<TestDevice>(GetParam());
    ASSERT_TRUE(device->load(compileHipFile("features.hip", GetParam())))
        << device->loadError;
    for (int i = 0; i < 64; ++i)
      values.push_back(i * 7 % 64);
    in = device->upload(values);
    out = device->upload(std::vector<int>(1024, -1));
  }
  std::vector<int> run(const char *name, uint32_t grid, uint32_t block,
                       int n = 5) {
    LaunchResult result = device->run(name, grid, block, out, in, n);
    EXPECT_TRUE(result.ok()) << describe(result);
    return device->download<int>(out, 1024);
  }
  std::unique_ptr<TestDevice> device;
  std::vector<int> values;
  uint64_t in = 0, out = 0;
};

TEST_P(FeaturesTest, PrivateMemory) {
  auto r = run("private_array", 1, 64);
  for (int i = 0; i < 64; ++i)
    EXPECT_EQ(r[size_t(i)], (values[size_t(i)] + 5) * values[size_t(i)]);
}

TEST_P(FeaturesTest, Calls) {
  auto r = run("calls", 1, 64);
  for (int i = 0; i < 64; ++i)
    EXPECT_EQ(r[size_t(i)], values[size_t(i)] * 2 + 11);
}

TEST_P(FeaturesTest, HiddenArguments) {
  auto r = run("hidden", 3, 40);
  for (int i = 0; i < 120; ++i)
    EXPECT_EQ(r[size_t(i)], 3040);
  EXPECT_EQ(r[120], -1);
}

TEST_P(FeaturesTest, DynamicLds) {
  LaunchConfig config;
  config.block[0] = 64;
  config.dynamicLds = 256;
  for (uint64_t v : {out, in}) {
    const auto *p = reinterpret_cast<const uint8_t *>(&v);
    config.args.insert(config.args.end(), p, p + 8);
  }
  config.args.resize(24);
  LaunchResult result = device->launch("dynamic_lds", config);
  EXPECT_TRUE(result.ok()) << describe(result);
  auto r = device->download<int>(out, 64);
  for (size_t i = 0; i < 64; ++i)
    EXPECT_EQ(r[i], values[63 - i]);
  config.dynamicLds = 252;
  EXPECT_EQ(
      findingNames(device->launch("dynamic_lds", config)).find("lds-bounds"),
      0u);
  config.dynamicLds = device->chip->ldsBytes + 4;
  EXPECT_NE(device->launch("dynamic_lds", config).error, "");
}

TEST_P(FeaturesTest, AtomicsFromManyThreadsInAnyOrder) {
  for (unsigned threads : {1u, 2u, 4u}) {
    device->options.threads = threads;
    device->options.order = threads;
    out = device->upload(std::vector<int>(1024, 0));
    auto r = run("atomics", 16, 64);
    int sum = 0;
    for (int v : values)
      sum += v;
    EXPECT_EQ(r[0], 16 * sum);
    EXPECT_EQ(r[1], 63);
    float f;
    std::memcpy(&f, &r[2], 4);
    EXPECT_EQ(f, 512.0f);
  }
}

TEST_P(FeaturesTest, FlatPointers) {
  auto r = run("flat", 1, 64);
  for (size_t i = 0; i < 64; ++i)
    EXPECT_EQ(r[i], values[i] & 1 ? values[i] + 100 : values[i]);
}

TEST_P(FeaturesTest, ConstantTables) {
  const int table[8] = {3, 1, 4, 1, 5, 9, 2, 6};
  auto r = run("constants", 1, 64);
  for (size_t i = 0; i < 64; ++i)
    EXPECT_EQ(r[i], table[values[i] & 7]);
}

TEST_P(FeaturesTest, ThreeDimensionsAndPartialWaves) {
  LaunchConfig config;
  const uint32_t grid[] = {2, 3, 2}, block[] = {5, 4, 3};
  std::copy_n(grid, 3, config.grid);
  std::copy_n(block, 3, config.block);
  for (uint64_t v : {out, in}) {
    const auto *p = reinterpret_cast<const uint8_t *>(&v);
    config.args.insert(config.args.end(), p, p + 8);
  }
  config.args.resize(24);
  LaunchResult result = device->launch("three_dimensions", config);
  EXPECT_TRUE(result.ok()) << describe(result);
  auto r = device->download<int>(out, 720);
  for (int b = 0; b < 12; ++b)
    for (int t = 0; t < 60; ++t)
      EXPECT_EQ(r[size_t(b * 60 + t)],
                b * 100 + t / 20 * 36 + t / 5 % 4 * 6 + t % 5);
}

TEST_P(FeaturesTest, ZeroWorkgroupsAreNothing) { run("calls", 0, 64); }

TEST_P(FeaturesTest, RefusesTooFewArguments) {
  EXPECT_NE(device->run("calls", 1, 64, out).error.find("arguments"),
            std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Chips, FeaturesTest, testing::ValuesIn(kChips));

} // namespace
