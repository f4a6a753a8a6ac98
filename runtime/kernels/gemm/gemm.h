//===- gemm.h - Matrix product kernels -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gemm<GemmProblem<...>>: Shared, kThreads, run(args, block, shared, epilogue).
// Grid: ceil(n / kCols), ceil(m / bm), batches * splitK.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GEMM_GEMM_H
#define HK_KERNELS_GEMM_GEMM_H

#include "kernels/device/arch.h"

#if HK_GPU
#include "kernels/gemm/gpu.h"
#else
#include "kernels/gemm/host.h"
#endif

#endif // HK_KERNELS_GEMM_GEMM_H
