//===- mqa_logits.h - The kernel of an indexer's logits -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// MqaLogitsKernel<spec, tile> has Shared and run(args, block, shared).
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_MQALOGITS_MQALOGITS_H
#define HK_KERNELS_MQALOGITS_MQALOGITS_H

#include "kernels/device/arch.h"
#if HK_GPU
#include "kernels/mqa_logits/matrix.h"
#else
#include "kernels/mqa_logits/host.h"
#endif

namespace hk {

#if HK_GPU
template <MqaLogitsSpec S, AttentionTile T>
using MqaLogitsKernel = MqaLogitsMatrix<S, T>;
#else
template <MqaLogitsSpec S, AttentionTile T>
using MqaLogitsKernel = MqaLogitsHost<S, T>;
#endif

} // namespace hk

#endif // HK_KERNELS_MQALOGITS_MQALOGITS_H
