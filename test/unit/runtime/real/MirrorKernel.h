//===- MirrorKernel.h - A real kernel for every target -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// out[row, i] = 2 * x[row, last - i], one row a block, staged through enough
// LDS to need opting in on sm_90a. Compiled for the host, gfx942 and sm_90a
// with the same header that generated kernels use.
//
//===----------------------------------------------------------------------===//

#ifndef HK_TEST_UNIT_RUNTIME_MIRRORKERNEL_H
#define HK_TEST_UNIT_RUNTIME_MIRRORKERNEL_H

#include "kernels/device/launch.h"

inline constexpr int kMirrorColumns = 128;
inline constexpr int kMirrorThreads = 64;

struct MirrorShared {
  float row[15000]; // 60,000 bytes; only kMirrorColumns of them are used
};

// words: x, out, rows, stride of x, stride of out.
HK_KERNEL(mirror, 5, kMirrorThreads, 1, MirrorShared) {
  auto x = hk::global<float>(words[0]) + hk::i64(block.x) * hk::i64(words[3]);
  auto out = hk::global<float>(words[1]) + hk::i64(block.x) * hk::i64(words[4]);
  int step = hk::kIsHost ? 1 : kMirrorThreads;
  for (int i = hk::threadId(); i < kMirrorColumns; i += step)
    lds.row[i] = 2 * x[i];
  hk::barrier();
  for (int i = hk::threadId(); i < kMirrorColumns; i += step)
    out[i] = lds.row[kMirrorColumns - 1 - i];
}

#endif // HK_TEST_UNIT_RUNTIME_MIRRORKERNEL_H
