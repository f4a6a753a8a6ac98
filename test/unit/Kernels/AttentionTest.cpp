//===- AttentionTest.cpp - Attention on the host ----------------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Both host kernels, and the sum of split parts, over every case against double
// precision.
//
//===----------------------------------------------------------------------===//

#include "kernels/attention/attention.h"
#include "attention/arguments.h"
#include "attention/cases.h"
#include "gtest/gtest.h"

#include <memory>

using namespace hktest;

namespace {

/// What may be off; tiles of many rows round probabilities to bf16 where pairs
/// are multiplied: a relative error of half a unit each, on values of magnitude
/// at most 1.
template <AttentionSpec S, AttentionTile T> constexpr double slack() {
  bool rounds = T.bq > 8 && AttentionHostWord<S>::kPairs;
  return 4e-6 + (rounds ? 0x1p-8 : 0);
}

template <AttentionSpec S, AttentionTile T> void runKernel(Problem &p) {
  using Kernel = AttentionKernel<S, T>;
  using Shared = typename Kernel::Shared;
  static_assert(sizeof(Shared) <= attentionLdsBytes(Arch::Host, T, S.type,
                                                    S.headDim, S.valueDim));
  // The contents of LDS are undefined: NaN here.
  std::unique_ptr<Shared, decltype(&std::free)> lds(
      (Shared *)std::aligned_alloc(64, sizeof(Shared)), std::free);
  std::memset((void *)lds.get(), 0xFF, sizeof(Shared));
  std::fill(p.out.begin(), p.out.end(), char(0xFF));
  AttentionArgs<S> a = argsOf<S>(p);
  for (u32 y = 0; y < u32(p.heads); ++y)
    for (u32 x = 0; x < u32(gridX(p, T.bq)); ++x)
      Kernel::run(a, BlockId{x, y, 0}, *lds);
}

template <AttentionSpec S, AttentionTile T> void runTile(Problem &p) {
  runKernel<S, T>(p);
  EXPECT_EQ(compare(p, slack<S, T>()), "") << "tile of " << T.bq << " rows";
}

template <AttentionSpec S> void runBoth(Problem p) {
  evaluate(p);
  runTile<S, AttentionTile{8, 64, 1, 1, 1}>(p);
  runTile<S, AttentionTile{32, 64, 1, 1, 1}>(p);
}

#define CASE(name, spec, queries, keys, heads, rows)                           \
  TEST(Attention, name) {                                                      \
    runBoth<spec>(makeProblem(spec, Lengths{queries, keys}, heads, rows));     \
  }
HK_ATTENTION_CASES(CASE)

/// Slices of the keys: some empty, some that a query does not see.
template <AttentionSpec S, AttentionTile T> void runSlices(Problem &p) {
  using Kernel = AttentionKernel<sliced(S), T>;
  auto lds = std::make_unique<typename Kernel::Shared>();
  auto a = argsOf<sliced(S)>(p);
  std::vector<float> partials(T.splitKv * a.outSlice, NAN);
  std::vector<float> lse(T.splitKv * a.lseSlice, NAN);
  a.out = partials.data();
  a.lse = lse.data();
  for (u32 z = 0; z < u32(T.splitKv); ++z)
    for (u32 y = 0; y < u32(p.heads); ++y)
      for (u32 x = 0; x < u32(gridX(p, T.bq)); ++x)
        Kernel::run(a, BlockId{x, y, z}, *lds);
  combineSlices(p, partials, lse);
  EXPECT_EQ(compare(p, slack<S, T>()), "") << "tile of " << T.bq << " rows";
}

TEST(Attention, Slices) {
  auto check = []<AttentionSpec S>(const Lengths &lengths) {
    Problem p = makeProblem(S, lengths, 2, 16);
    evaluate(p);
    runSlices<S, AttentionTile{8, 64, 1, 1, 3}>(p);
    runSlices<S, AttentionTile{32, 64, 1, 1, 3}>(p);
  };
  check.operator()<SPEC(s.window.right = 0; s.keys = Keys::dense(Given))>(
      Lengths{{1, 1, 1}, {301, 0, 17}});
  check.operator()<SPEC(s.window.right = 0; s.normalizer = kSink)>(
      Lengths{{140}, {300}});
  check.operator()<SPEC(s.window.left = 140; s.window.right = 0)>(
      Lengths{{9}, {700}});
}

/// A value that is not finite reaches only the queries that see it.
template <AttentionTile T> void runWithNanAtTheLastKey() {
  constexpr AttentionSpec s = SPEC(s.window.right = 0);
  Problem p = makeProblem(s, Lengths{{40}, {70}}, 2, 16);
  evaluate(p);
  for (int i = 0; i < s.valueDim; ++i)
    writeElement(s.type, p.v, p.keyRow(0, 69) * 2 * s.valueDim + i, NAN);
  runKernel<s, T>(p);
  i64 last = p.queryRow(0, 39) * p.queryHeads() * s.valueDim;
  EXPECT_TRUE(std::isnan(readElement(s.outType, p.out, last)));
  for (i64 i = 0; i < p.queryHeads() * s.valueDim; ++i)
    writeElement(s.outType, p.out, last + i, p.expected[last + i]);
  EXPECT_EQ(compare(p, slack<s, T>()), "") << "tile of " << T.bq << " rows";
}

TEST(Attention, NanReachesOnlyWhoSeesIt) {
  runWithNanAtTheLastKey<AttentionTile{8, 64, 1, 1, 1}>();
  runWithNanAtTheLastKey<AttentionTile{32, 64, 1, 1, 1}>();
}

TEST(Attention, ComparisonSeesAnError) {
  constexpr AttentionSpec s = SPEC();
  Problem p = makeProblem(s, Lengths{{3}, {40}}, 2, 16);
  evaluate(p);
  runTile<s, AttentionTile{8, 64, 1, 1, 1}>(p);
  p.out[5] = char(p.out[5] ^ 1);
  p.out[4] = char(p.out[4] + 2);
  EXPECT_NE(compare(p, 4e-6), "");
}

} // namespace
