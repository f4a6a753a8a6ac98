//===- philox.h - Random numbers by position -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Philox4x32-10, the counter-based generator of hk.philox: integer arithmetic
// only, so that every target gives the same numbers. Source: Salmon et al.,
// "Parallel random numbers: as easy as 1, 2, 3", 2011.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_DEVICE_PHILOX_H
#define HK_KERNELS_DEVICE_PHILOX_H

#include "kernels/device/types.h"

namespace hk {

/// The first of the four words of counter (low, high, 0, 0) under a key.
HK_DEV u32 philoxWord(u64 key, u64 counter) {
  u32 k0 = u32(key), k1 = u32(key >> 32);
  u32 c0 = u32(counter), c1 = u32(counter >> 32), c2 = 0, c3 = 0;
  HK_UNROLL for (int round = 0; round < 10; ++round) {
    u64 a = u64(0xD2511F53u) * c0, b = u64(0xCD9E8D57u) * c2;
    c0 = u32(b >> 32) ^ c1 ^ k0;
    c2 = u32(a >> 32) ^ c3 ^ k1;
    c1 = u32(b);
    c3 = u32(a);
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return c0;
}

/// Uniform numbers of [0, 1), a counter each.
template <int V>
HK_DEV Vec<float, V> philox(Vec<i64, V> seed, Vec<i64, V> counter) {
  Vec<float, V> result;
  HK_UNROLL for (int e = 0; e < V; ++e) {
    i32 x = i32(philoxWord(u64(seed[e]), u64(counter[e])));
    result[e] = float(x < 0 ? ~x : x) * 0x1.fffffep-32f;
  }
  return result;
}

} // namespace hk

#endif // HK_KERNELS_DEVICE_PHILOX_H
