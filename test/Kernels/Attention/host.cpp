//===- host.cpp - Attention on the host against double precision ----------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Both host kernels over every layout and option, with lengths that are not
// multiples of anything, rows that see no key, and NaN behind the last key.
//
// RUN: %hk-clangxx-host %s -o %t && %t | FileCheck %s
// CHECK-NOT: WRONG
// CHECK: 0 problems wrong
//
//===----------------------------------------------------------------------===//

#include "reference.h"

#include "kernels/attention/attention.h"

using namespace hk;
using namespace hktest;

template <AttentionSpec S> AttentionArgs<S> argsOf(Problem &p) {
  AttentionArgs<S> a = {};
  a.q = (Global<const Storage<S.type>>)p.q.data();
  a.k = (Global<const Storage<S.type>>)p.k.data();
  a.v = (Global<const Storage<S.type>>)p.v.data();
  a.out = (Global<Storage<S.outType>>)p.out.data();
  a.lse = p.lse.data();
  a.qOffsets = p.qOffsets.data();
  a.kvOffsets = p.kvOffsets.data();
  a.kvLens = p.kvLens.data();
  a.blockTable = p.blockTable.data();
  a.sink = p.sink.data();
  a.batch = p.batch;
  a.queries = S.queries == SequenceLayout::Dense ? p.maxQueries : p.totalQueries;
  a.keys = p.maxKeys;
  a.blockSize = p.blockSize;
  i64 hq = p.queryHeads();
  a.qHead = S.headDim;
  a.qRow = hq * S.headDim;
  a.qSequence = p.maxQueries * a.qRow;
  a.outHead = S.valueDim;
  a.outRow = hq * S.valueDim;
  a.outSequence = p.maxQueries * a.outRow;
  a.lseRow = hq;
  a.lseSequence = p.maxQueries * hq;
  i64 rows = S.keys == SequenceLayout::Paged ? p.blockSize : p.maxKeys;
  a.kHead = S.headDim;
  a.kRow = p.heads * S.headDim;
  a.kSequence = rows * a.kRow;
  a.vHead = S.valueDim;
  a.vRow = p.heads * S.valueDim;
  a.vSequence = rows * a.vRow;
  a.tableRow = p.blocksPerSequence;
  a.scale = p.scale;
  a.softcap = p.softcap;
  return a;
}

/// Blocks in x for tiles of bq rows.
i64 gridX(const Problem &p, i64 bq) {
  i64 g = p.spec.group;
  if (p.spec.queries == SequenceLayout::Ragged)
    return p.totalQueries * g / bq + p.batch;
  i64 queries = p.spec.queries == SequenceLayout::Dense ? p.maxQueries
                                                        : p.totalQueries;
  i64 sequences = p.spec.queries == SequenceLayout::Dense ? p.batch : 1;
  return (queries * g + bq - 1) / bq * sequences;
}

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

template <AttentionSpec S>
void check(const char *name, const Lengths &lengths, int heads = 2,
           int blockSize = 16) {
  Problem p = makeProblem(S, lengths, heads, blockSize);
  evaluate(p);
  char text[200];
  std::snprintf(text, sizeof text, "%s rows", name);
  runTile<S, AttentionTile{8, 64, 1, 1, 1}>(p, text);
  std::snprintf(text, sizeof text, "%s tile", name);
  runTile<S, AttentionTile{32, 64, 1, 1, 1}>(p, text);
}

constexpr AttentionSpec kBase = {DType::BF16,
                                 DType::BF16,
                                 64,
                                 64,
                                 2,
                                 SequenceLayout::Dense,
                                 SequenceLayout::Dense,
                                 false,
                                 false,
                                 false,
                                 false,
                                 true,
                                 -1,
                                 -1,
                                 2};
template <class F> constexpr AttentionSpec with(F change) {
  AttentionSpec s = kBase;
  change(s);
  return s;
}
#define SPEC(...)                                                              \
  with([](AttentionSpec &s) { __VA_ARGS__; })

int main() {
  using enum SequenceLayout;
  check<kBase>("dense", {{33, 33}, {100, 100}});
  check<kBase>("no keys", {{3, 3}, {0, 0}});
  check<kBase>("no queries", {{0, 0}, {5, 5}});
  check<SPEC(s.causal = true)>("causal", {{70, 70}, {130, 130}});
  check<SPEC(s.causal = true)>("causal, more queries than keys",
                               {{40, 40}, {9, 9}});
  check<SPEC(s.causal = true; s.kvLens = true; s.queries = Single)>(
      "prefill into a cache", {{61}, {200}});
  check<SPEC(s.causal = true; s.kvLens = true; s.queries = Single)>(
      "decode from a cache", {{1}, {301}});
  check<SPEC(s.queries = Ragged; s.keys = Ragged; s.causal = true)>(
      "ragged", {{5, 0, 70, 1, 16}, {9, 3, 70, 150, 16}});
  check<SPEC(s.queries = Ragged; s.keys = Paged; s.kvLens = true;
             s.causal = true)>("paged", {{1, 12, 0, 34, 1}, {1, 133, 7, 20, 65}});
  check<SPEC(s.queries = Ragged; s.keys = Paged; s.kvLens = true;
             s.causal = true)>("paged by 5", {{1, 12, 1}, {38, 133, 65}}, 1, 5);
  check<SPEC(s.windowLeft = 20; s.causal = true)>("left window",
                                                  {{90, 90}, {150, 150}});
  check<SPEC(s.windowLeft = 3; s.windowRight = 5)>("both windows",
                                                   {{50, 50}, {70, 70}});
  check<SPEC(s.windowRight = 0; s.windowLeft = 0)>("own key only", {{20}, {7}});
  check<SPEC(s.softcap = true)>("soft cap", {{10}, {90}});
  check<SPEC(s.sink = true; s.causal = true)>("sink", {{40}, {20}});
  check<SPEC(s.group = 1)>("one head per key head", {{9}, {77}}, 3);
  check<SPEC(s.group = 5)>("five heads per key head", {{9}, {77}}, 1);
  check<SPEC(s.group = 12; s.causal = true)>("twelve heads", {{3}, {77}}, 1);
  check<SPEC(s.type = DType::F16; s.outType = DType::F16)>("f16", {{9}, {77}});
  check<SPEC(s.type = DType::F32; s.outType = DType::F32)>("f32", {{9}, {77}});
  check<SPEC(s.outType = DType::F32)>("bf16 to f32", {{9}, {77}});
  check<SPEC(s.headDim = 72; s.valueDim = 40)>("D 72, Dv 40", {{9}, {77}});
  check<SPEC(s.headDim = 33; s.valueDim = 7)>("D 33, Dv 7", {{9}, {77}});
  check<SPEC(s.headDim = 192; s.valueDim = 128)>("D 192, Dv 128", {{9}, {77}});
  check<SPEC(s.headDim = 8; s.valueDim = 256)>("D 8, Dv 256", {{9}, {77}});
  std::printf("%d problems wrong\n", wrongProblems);
  return wrongProblems != 0;
}
