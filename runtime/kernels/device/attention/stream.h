//===- stream.h - Fragments of keys that stream -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Attention fragments of few rows whose keys and values come from memory
// straight into registers, on the chips that have them (hasAttentionStream).
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_DEVICE_ATTENTION_STREAM_H
#define HK_KERNELS_DEVICE_ATTENTION_STREAM_H

#include "hk/Contract/DType.h"

namespace hk {

/// D is multiplied; From and FromValue lie in memory.
template <DType D, DType From, DType FromValue, int HeadDim, int ValueDim>
struct StreamFragments;

} // namespace hk

#if defined(__gfx942__) || defined(__gfx950__)
#include "kernels/device/attention/stream_cdna.h"
#endif

#endif // HK_KERNELS_DEVICE_ATTENTION_STREAM_H
