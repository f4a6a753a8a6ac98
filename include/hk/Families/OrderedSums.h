//===- OrderedSums.h - Memory in which blocks sum in order -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where several blocks of a kernel make parts of one sum, they can add them in
// memory, one after the other, so that the sum has the same bits in every run.
// The launch needs memory of its own for that.
//
//===----------------------------------------------------------------------===//

#ifndef HK_FAMILIES_ORDEREDSUMS_H
#define HK_FAMILIES_ORDEREDSUMS_H

#include "hk/Families/Family.h"

namespace mlir::hk {

/// What `kernel` sums in, and i32 words, zero when it begins, that say whose
/// turn it is. Empty: it does not, or already has both as its last outs.
SmallVector<RankedTensorType> orderedSumsOf(KernelOp kernel,
                                            const ::hk::Target &target);

} // namespace mlir::hk

#endif // HK_FAMILIES_ORDEREDSUMS_H
