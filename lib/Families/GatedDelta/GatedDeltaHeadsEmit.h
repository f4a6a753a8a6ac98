//===- GatedDeltaHeadsEmit.h - The C++ around a recurrence -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What kernels/gated_delta/recurrent_heads.h asks of its Io beyond operands.
//
//===----------------------------------------------------------------------===//

#ifndef HK_FAMILIES_GATEDDELTA_GATEDDELTAHEADSEMIT_H
#define HK_FAMILIES_GATEDDELTA_GATEDDELTAHEADSEMIT_H

#include "Emission/ArgumentWords.h"
#include "Emission/Puller.h"
#include "GatedDeltaPlan.h"

namespace mlir::hk {

/// Pulling the result of `convolution` convolves the channels of the position
/// and moves their state on: once for every channel.
void bindConvolution(Puller &puller, KernelOp kernel,
                     const ArgumentWords &words, CausalConv1dOp convolution);

/// Writes the method `finish`, which stores what follows `width` results of a
/// head; neighbouring lanes have the rest.
void writeFinish(raw_ostream &os, KernelOp kernel, const GatedDeltaPlan &plan,
                 const DimSymbols &dims, int width);

} // namespace mlir::hk

#endif // HK_FAMILIES_GATEDDELTA_GATEDDELTAHEADSEMIT_H
