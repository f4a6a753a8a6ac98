//===- functions.hip - Elementary functions of row-wise kernels -----------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What device/math.h makes of every upper half of an f32, one function a
// kernel, as kernels that vote have them.
//
//===----------------------------------------------------------------------===//

#include "kernels/rowwise/rowwise.h"

using namespace hk;

/// Eight upper halves a thread, in order.
#define FUNCTION(name)                                                         \
  extern "C" __attribute__((global)) void f_##name(float *out) {               \
    u32 first =                                                                \
        (__builtin_amdgcn_workgroup_id_x() * 256u + u32(threadId())) * 8u;     \
    Vec<float, 8> x;                                                           \
    HK_UNROLL for (u32 e = 0; e < 8; ++e) x[e] =                               \
        bitCast<float>((first + e) << 16);                                     \
    ((HK_GLOBAL Vec<float, 8> *)out)[first / 8] = name<8>(x);                  \
  }
FUNCTION(sin)
FUNCTION(cos)
FUNCTION(tanh)
FUNCTION(erf)
FUNCTION(sigmoid)
FUNCTION(silu)
FUNCTION(exp)
FUNCTION(expNegative)
FUNCTION(log)
FUNCTION(log2)
FUNCTION(log1p)
FUNCTION(softplus)
