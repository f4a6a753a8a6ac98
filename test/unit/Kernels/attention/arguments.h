//===- arguments.h - Arguments and grid of a problem -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a launch of a test problem passes to a kernel: dense row-major tensors
// at host addresses.
//
//===----------------------------------------------------------------------===//

#ifndef HK_TEST_KERNELS_ATTENTION_ARGUMENTS_H
#define HK_TEST_KERNELS_ATTENTION_ARGUMENTS_H

#include "reference.h"

namespace hktest {

using namespace hk;

template <AttentionSpec S> AttentionArgs<S> argsOf(Problem &p) {
  AttentionArgs<S> a = {};
  a.q = (Global<const Storage<S.qType>>)p.q.data();
  a.k = (Global<const Storage<S.kType>>)p.k.data();
  a.v = (Global<const Storage<S.vType>>)p.v.data();
  a.out = (Global<Storage<S.outType>>)p.out.data();
  a.lse = p.lse.data();
  a.qOffsets = p.qOffsets.data();
  a.kvOffsets = p.kvOffsets.data();
  a.kvLens = p.kvLens.data();
  a.blockTable = p.blockTable.data();
  a.sink = p.sink.data();
  a.batch = p.batch;
  a.queries =
      S.queries == SequenceLayout::Dense ? p.maxQueries : p.totalQueries;
  a.keys = p.maxKeys;
  a.blockRows = p.blockSize;
  i64 hq = p.queryHeads();
  a.heads = hq;
  a.qHead = S.headDim;
  a.qRow = hq * S.headDim;
  a.qSequence = p.maxQueries * a.qRow;
  a.outHead = S.valueDim;
  a.outRow = hq * S.valueDim;
  a.outSequence = p.maxQueries * a.outRow;
  a.lseRow = hq;
  a.lseSequence = p.maxQueries * hq;
  i64 keys = S.keys.isPaged() ? p.blockSize : p.maxKeys;
  a.kHead = S.headDim;
  a.kRow = p.heads * S.headDim;
  a.kSequence = keys * a.kRow;
  a.vHead = S.valueDim;
  a.vRow = p.heads * S.valueDim;
  a.vSequence = keys * a.vRow;
  if constexpr (S.sharesValues()) {
    a.v = (decltype(a.v))a.k;
    a.vHead = a.kHead;
    a.vRow = a.kRow;
    a.vSequence = a.kSequence;
  }
  a.kScale = p.keyScale.data();
  a.vScale = p.valueScale.data();
  a.kScaleHead = a.vScaleHead = 1;
  a.kScaleRow = a.vScaleRow = p.heads;
  a.kScaleSequence = a.vScaleSequence = keys * p.heads;
  i64 rows = p.totalQueries * hq;
  a.outSlice = rows * S.valueDim;
  a.lseSlice = rows;
  a.tableRow = p.blocksPerSequence;
  a.scale = p.scale;
  a.softcap = p.softcap;
  return a;
}

/// Blocks in x for tiles of bq rows.
inline i64 gridX(const Problem &p, i64 bq) {
  i64 g = p.spec.group;
  if (p.spec.queries == SequenceLayout::Ragged)
    return p.totalQueries * g / bq + p.batch + 1;
  i64 queries =
      p.spec.queries == SequenceLayout::Dense ? p.maxQueries : p.totalQueries;
  i64 sequences = p.spec.queries == SequenceLayout::Dense ? p.batch : 1;
  return (queries * g + bq - 1) / bq * sequences;
}

} // namespace hktest

#endif // HK_TEST_KERNELS_ATTENTION_ARGUMENTS_H
