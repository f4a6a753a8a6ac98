//===- convolved_token.h - A causal convolution of one token -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Some channels of hk.causal_conv1d where every sequence has one token and a
// line of states with channels innermost: the caller alone reads and writes
// these channels.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GATED_DELTA_CONVOLVED_TOKEN_H
#define HK_KERNELS_GATED_DELTA_CONVOLVED_TOKEN_H

#include "kernels/device/io.h"
#include "kernels/device/math.h"

namespace hk {

/// Where V channels of a line lie: entry s at offset + s * stride.
struct ConvolutionLine {
  bool kept, fresh; // there is a line; it counts as zeros
  i64 offset, stride;
};

/// The line of a sequence among `lines`.
HK_DEV bool isLine(i64 line, i64 lines) { return line >= 0 && line < lines; }

/// bias + sum_j weights[j] input j, of the WIDTH last inputs, the newest of
/// which is x; the line moves on by one of its ENTRIES. 0 without a line.
template <DType D, int WIDTH, int ENTRIES, int V, int ALIGN>
HK_DEV Vec<float, V> convolveToken(Global<Storage<D>> states,
                                   const ConvolutionLine &line, Vec<float, V> x,
                                   Vec<float, V> bias,
                                   const Vec<float, V> (&weights)[WIDTH]) {
  if (!line.kept)
    return 0;
  Packed<D, V> entries[ENTRIES];
  HK_UNROLL for (int s = 0; s < ENTRIES; ++s) {
    entries[s] = 0;
    if (!line.fresh)
      entries[s] = loadPacked<D, V, ALIGN>(Global<const Storage<D>>(states),
                                           line.offset + s * line.stride);
  }
  Vec<float, V> sum = bias;
  HK_UNROLL for (int j = 0; j + 1 < WIDTH; ++j) sum =
      fma<V>(weights[j], unpack<D, V>(entries[ENTRIES - (WIDTH - 1) + j]), sum);
  sum = fma<V>(weights[WIDTH - 1], x, sum);
  HK_UNROLL for (int s = 0; s + 1 < ENTRIES; ++s) storePacked<D, V, ALIGN>(
      states, line.offset + s * line.stride, entries[s + 1]);
  storeExact<D, V, ALIGN>(states, line.offset + (ENTRIES - 1) * line.stride, x);
  return sum;
}

} // namespace hk

#endif // HK_KERNELS_GATED_DELTA_CONVOLVED_TOKEN_H
