//===- KernelExchange.h - Exchanges that kernels make themselves *- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A sum over ranks may be the first step of a row-wise kernel, which writes its
// rows into the other ranks' memory and reads theirs in its own. Where the
// runtime has no such memory, or the tensor is too large for it, the engine
// brings the parts and the same kernel adds them.
//
//===----------------------------------------------------------------------===//

#ifndef HK_FAMILIES_KERNELEXCHANGE_H
#define HK_FAMILIES_KERNELEXCHANGE_H

#include "hk/Dialect/HK.h"
#include "hk/Families/Decision.h"

namespace mlir::hk {

/// Whether kernels of `target` make the sum `op` over ranks themselves.
Verdict judgeKernelExchange(AllReduceOp op, const ::hk::Target &target);

/// Whether an engine computes what `op` means, to the bit where it states bits.
bool isOfEngine(CollectiveOpInterface op);

/// The exchange with other ranks that is in a kernel, or null.
CollectiveOpInterface exchangeOf(KernelOp kernel);
/// How many ranks take part in `op`.
int64_t ranksOf(CollectiveOpInterface op);

/// Whether a kernel can leave each row to an owner, who sends the sum: it lies
/// where what is added does.
bool mayHaveOwners(CollectiveOpInterface op);

/// Elements of `op` that are sent at once.
int64_t exchangeVecOf(AllReduceOp op);

} // namespace mlir::hk

#endif // HK_FAMILIES_KERNELEXCHANGE_H
