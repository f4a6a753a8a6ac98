//===- grouped_few.h - The loops of groups of few rows ----------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Both forms of GemmLoop::Skinny that a product of groups may have.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GEMM_SM90_GROUPED_FEW_H
#define HK_KERNELS_GEMM_SM90_GROUPED_FEW_H

#include "kernels/gemm/sm90/grouped_skinny.h"
#include "kernels/gemm/sm90/grouped_staged.h"

#endif // HK_KERNELS_GEMM_SM90_GROUPED_FEW_H
