//===- Reduce.h - Reductions over ranks on the host -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The sum that hk.all_reduce means: in f32, in the order of the ranks, rounded
// once. MPI has none for bf16, and states no order.
//
//===----------------------------------------------------------------------===//

#ifndef HK_RUNTIME_COMM_REDUCE_H
#define HK_RUNTIME_COMM_REDUCE_H

#include "hk/Contract/DType.h"
#include "hk/Runtime/ModuleAbi.h"

#include <vector>

namespace hk {

/// result[i] = parts[0][i] + parts[1][i] + ..., or the largest or smallest of
/// them, for `count` elements of `dtype`; the result is of `resultDType`, which
/// is another type only where both are f32, bf16 or f16. `result` may be one of
/// the parts where the types are as wide.
void reduceParts(hk_collective_reduction reduction,
                 const std::vector<const char *> &parts, DType dtype,
                 char *result, DType resultDType, int64_t count);

} // namespace hk

#endif // HK_RUNTIME_COMM_REDUCE_H
