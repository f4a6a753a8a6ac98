//===- backward.h - One kernel of the gradients -----------------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// AttentionBackwardKernel<spec, tile> has Shared, kThreads and run(args, block,
// shared). The grid is (blocks of a key head, key heads, 1): first a block for
// each of the head's sink gradients, then the tiles of keys, then those of
// rows, then those of dbias, as far as their gradients are wanted.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_ATTENTION_BACKWARD_BACKWARD_H
#define HK_KERNELS_ATTENTION_BACKWARD_BACKWARD_H

#include "kernels/attention/backward/sink.h"
#if HK_GPU
#include "kernels/attention/backward/matrix.h"
#include "kernels/attention/backward/vector.h"
#else
#include "kernels/attention/backward/host.h"
#endif

namespace hk {

template <AttentionBackwardSpec S, AttentionBackwardTile T, Own O, class R,
          AttentionBackwardPath Path>
struct PickAttentionBackward;
#if HK_GPU
template <AttentionBackwardSpec S, AttentionBackwardTile T, Own O, class R>
struct PickAttentionBackward<S, T, O, R, AttentionBackwardPath::Matrix> {
  using Type = AttentionBackwardMatrix<S, T, O, R>;
};
template <AttentionBackwardSpec S, AttentionBackwardTile T, Own O, class R>
struct PickAttentionBackward<S, T, O, R, AttentionBackwardPath::Vector> {
  using Type = AttentionBackwardVector<S, T, O, R>;
};
#else
template <AttentionBackwardSpec S, AttentionBackwardTile T, Own O, class R>
struct PickAttentionBackward<S, T, O, R, AttentionBackwardPath::Host> {
  using Type = AttentionBackwardHost<S, T, O, R>;
};
#endif

template <AttentionBackwardSpec S, AttentionBackwardTile T, class R = NoRegions>
struct AttentionBackwardKernel {
  template <Own O>
  using Block =
      typename PickAttentionBackward<S, T, O, R,
                                     attentionBackwardPath(kArch, T)>::Type;
  using Shared = typename Block<Own::Keys>::Shared;
  static constexpr int kThreads = Block<Own::Keys>::kThreads;

  /// args() reads the arguments: where they are used, as the scalar registers
  /// of a chip do not hold all of them.
  template <class Source> HK_DEV void run(Source args, BlockId id, Shared &sh) {
    i64 tile = id.x;
    if constexpr (S.dsink) {
      if (tile < S.group)
        return sinkGradient<S, kThreads>(args(), tile, id.y,
                                         reinterpret_cast<float *>(&sh));
      tile -= S.group;
    }
    if constexpr (S.dk || S.dv) {
      i64 tiles = backwardTiles<S, Own::Keys>(args(), T.rows);
      if (tile < tiles)
        return Block<Own::Keys>::run(args, tile, id.y, sh);
      tile -= tiles;
    }
    if constexpr (S.dq) {
      i64 tiles = backwardTiles<S, Own::Rows>(args(), T.rows);
      if (!S.dbias || tile < tiles)
        return Block<Own::Rows>::run(args, tile, id.y, sh);
      tile -= tiles;
    }
    if constexpr (S.dbias)
      Block<Own::Rows>::runBias(args, tile, id.y, sh);
  }
};

} // namespace hk

#endif // HK_KERNELS_ATTENTION_BACKWARD_BACKWARD_H
