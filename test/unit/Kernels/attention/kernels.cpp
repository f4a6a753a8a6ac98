//===- kernels.cpp - The GPU kernels of every attention case --------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two entries per case: the tile for most and the one for fewest rows; some
// also with split keys. The argument words are the bytes of AttentionArgs.
//
//===----------------------------------------------------------------------===//

#include "cases.h"

#include "kernels/attention/attention.h"

using namespace hk;
using hktest::kSplits;

template <AttentionSpec S> HK_DEV AttentionArgs<S> argsFrom(const u64 *words) {
  AttentionArgs<S> a;
  __builtin_memcpy(&a, words, sizeof a);
  return a;
}

template <AttentionSpec S, bool Few, int Split = 1>
using KernelOf = AttentionKernel<S, hktest::pickTile(kArch, S, Few, Split)>;
inline constexpr int kWords = int(sizeof(AttentionArgs<SPEC()>) / 8);

#define CASE(name, spec, queries, keys, heads, rows)                           \
  inline constexpr AttentionSpec name##_spec = spec;                           \
  using name##_Many = KernelOf<name##_spec, false>;                            \
  HK_KERNEL(name##_many, kWords, name##_Many::kThreads, 1,                     \
            name##_Many::Shared) {                                             \
    name##_Many::run(argsFrom<name##_spec>(words), block, lds);                \
  }                                                                            \
  using name##_Few = KernelOf<name##_spec, true>;                              \
  HK_KERNEL(name##_few, kWords, name##_Few::kThreads, 1, name##_Few::Shared) { \
    name##_Few::run(argsFrom<name##_spec>(words), block, lds);                 \
  }
HK_ATTENTION_CASES(CASE)

#define SPLIT(name)                                                            \
  inline constexpr AttentionSpec name##_sliced = hktest::sliced(name##_spec);  \
  using name##_Split = KernelOf<name##_sliced, true, kSplits>;                 \
  HK_KERNEL(name##_split, kWords, name##_Split::kThreads, 1,                   \
            name##_Split::Shared) {                                            \
    name##_Split::run(argsFrom<name##_sliced>(words), block, lds);             \
  }
HK_ATTENTION_SPLIT_CASES(SPLIT)
