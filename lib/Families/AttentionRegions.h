//===- AttentionRegions.h - Regions of attention in kernels -----*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The C++ of the regions that hk.attention and its gradients have.
//
//===----------------------------------------------------------------------===//

#ifndef HK_FAMILIES_ATTENTIONREGIONS_H
#define HK_FAMILIES_ATTENTIONREGIONS_H

#include "hk/Dialect/HK.h"

namespace mlir::hk {

/// Writes struct `name`, the functors of `score` and `weight`, which may be
/// empty, and of `slope`, which gradients may have. `reads` are the numbers of
/// the kernel's arguments that they take.
void emitAttentionRegions(KernelOp kernel, Region &score, Region &weight,
                          ArrayRef<int64_t> reads, StringRef name,
                          raw_ostream &os, Region *slope = nullptr);

} // namespace mlir::hk

#endif // HK_FAMILIES_ATTENTIONREGIONS_H
