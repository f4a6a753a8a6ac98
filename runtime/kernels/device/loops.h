//===- loops.h - The loops that emitted code is made of -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The compiler prints no loop: it names one of these and writes its body. They
// are macros and not templates that take the body as a lambda, because captured
// variables cost registers: a norm on gfx942 went from 44 to 56 of them.
//
// A macro names its loop variable first; a statement or a block follows it.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_DEVICE_LOOPS_H
#define HK_KERNELS_DEVICE_LOOPS_H

#include "kernels/device/types.h"

/// The elements of a vector of N.
#define HK_EACH_ELEMENT(e, N) HK_UNROLL for (hk::i32 e = 0; e < (N); ++e)

/// The first COUNT, which only the call knows, of the elements of a vector of
/// N.
#define HK_EACH_ELEMENT_BELOW(e, N, COUNT)                                     \
  HK_EACH_ELEMENT(e, N) if (hasLane(COUNT, e))

namespace hk {
template <class I> HK_DEV bool hasLane(I count, i32 e) { return e < count; }
} // namespace hk

/// The first elements of vectors of N that cover COUNT elements.
#define HK_EACH_VECTOR(e, N, COUNT) for (hk::i32 e = 0; e < (COUNT); e += (N))

/// N slices of something that is summed; the loads of eight are under way.
#define HK_EACH_SLICE(s, N) HK_UNROLL_BY_8 for (hk::i32 s = 0; s < (N); ++s)

/// N places that are looked at one after the other.
#define HK_EACH_PLACE(j, N) for (hk::i32 j = 0; j < (N); ++j)

#endif // HK_KERNELS_DEVICE_LOOPS_H
