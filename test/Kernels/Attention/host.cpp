//===- host.cpp - Attention on the host against double precision ----------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Both host kernels over every case.
//
// RUN: %hk-clangxx-host %s -o %t && %t | FileCheck %s
// CHECK-NOT: WRONG
// CHECK: 0 problems wrong
//
//===----------------------------------------------------------------------===//

#include "arguments.h"
#include "cases.h"

#include "kernels/attention/attention.h"

using namespace hktest;

int wrongProblems = 0;

template <AttentionSpec S, AttentionTile T>
void runTile(Problem &p, const char *name) {
  using Kernel = AttentionKernel<S, T>;
  static_assert(sizeof(typename Kernel::Shared) ==
                attentionLdsBytes(Arch::Host, T, S.type, S.headDim, S.valueDim));
  auto *lds = (typename Kernel::Shared *)std::aligned_alloc(
      64, sizeof(typename Kernel::Shared));
  std::memset((void *)lds, 0xFF, sizeof *lds);
  std::fill(p.out.begin(), p.out.end(), char(0xFF));
  AttentionArgs<S> a = argsOf<S>(p);
  for (u32 y = 0; y < u32(p.heads); ++y)
    for (u32 x = 0; x < u32(gridX(p, T.bq)); ++x)
      Kernel::run(a, BlockId{x, y, 0}, *lds);
  std::free(lds);
  wrongProblems += compare(p, name, 4e-6) != 0;
}

template <AttentionSpec S> void check(const char *name, Problem p) {
  evaluate(p);
  char text[200];
  std::snprintf(text, sizeof text, "%s rows", name);
  runTile<S, AttentionTile{8, 64, 1, 1, 1}>(p, text);
  std::snprintf(text, sizeof text, "%s tile", name);
  runTile<S, AttentionTile{32, 64, 1, 1, 1}>(p, text);
}

int main() {
#define CASE(name, spec, queries, keys, heads, block)                          \
  check<spec>(#name, makeProblem(spec, Lengths{queries, keys}, heads, block));
  HK_ATTENTION_CASES(CASE)
  std::printf("%d problems wrong\n", wrongProblems);
  return wrongProblems != 0;
}
