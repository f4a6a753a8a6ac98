//===- attention.h - The attention kernel of a tile -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// AttentionKernel<spec, tile, regions> has Shared and run(args, block, shared):
// the host kernels on the host, the matrix or the vector kernel on GPUs, as the
// contract says for the tile. AttentionSegments is the kernel of several
// segments of keys. The grid is (tiles of bq rows over all sequences,
// key heads, key splits).
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_ATTENTION_ATTENTION_H
#define HK_KERNELS_ATTENTION_ATTENTION_H

#include "kernels/device/arch.h"
#if HK_GPU
#include "kernels/attention/matrix.h"
#include "kernels/attention/vector.h"
#else
#include "kernels/attention/host_rows.h"
#include "kernels/attention/host_tile.h"
#endif

namespace hk {

template <AttentionSpec S, AttentionTile T, class R, AttentionPath Path>
struct PickAttention;
#if HK_GPU
template <AttentionSpec S, AttentionTile T, class R>
struct PickAttention<S, T, R, AttentionPath::Matrix> {
  using Type = AttentionMatrix<S, T, R>;
};
template <AttentionSpec S, AttentionTile T, class R>
struct PickAttention<S, T, R, AttentionPath::Stream> {
  using Type = AttentionMatrix<S, T, R>;
};
template <AttentionSpec S, AttentionTile T, class R>
struct PickAttention<S, T, R, AttentionPath::Vector> {
  using Type = AttentionVector<S, T, R>;
};
#else
template <AttentionSpec S, AttentionTile T, class R>
struct PickAttention<S, T, R, AttentionPath::HostTile> {
  using Type = AttentionHostTile<S, T, R>;
};
template <AttentionSpec S, AttentionTile T, class R>
struct PickAttention<S, T, R, AttentionPath::HostRows> {
  using Type = AttentionHostRows<S, T, R>;
};
#endif

template <AttentionSpec S, AttentionTile T, class R = NoRegions>
using AttentionKernel =
    typename PickAttention<S, T, R, attentionPath(kArch, T)>::Type;

/// Attention to the keys of several segments, each of which has a kernel of its
/// own that agrees with the first in what it knows of rows: one running softmax
/// goes on from segment to segment. Arguments are functions that read them from
/// the launch when a segment begins: those of all exceed the scalar registers.
template <class First, class... More> struct AttentionSegments {
  using Shared = typename First::Shared;
  static constexpr int kThreads = First::kThreads;

  template <class Words>
  HK_DEV void run(Words words, typename First::Args (*first)(Words),
                  typename More::Args (*...more)(Words), BlockId id,
                  Shared &sh) {
    First::run(first(words), id, sh,
               [&](const AttentionBlock &w, auto &...state)
                   __attribute__((always_inline)) {
                     (More::addSegment(more(words), w, state...), ...);
                   });
  }
};

} // namespace hk

#endif // HK_KERNELS_ATTENTION_ATTENTION_H
