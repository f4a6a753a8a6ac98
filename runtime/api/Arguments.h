//===- Arguments.h - Checks of the tensors of a call -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A call's tensors are checked against the function's signature before any
// generated code sees them. Nothing here allocates unless there is an error to
// report.
//
//===----------------------------------------------------------------------===//

#ifndef HK_RUNTIME_API_ARGUMENTS_H
#define HK_RUNTIME_API_ARGUMENTS_H

#include "api/Program.h"

namespace hk {

/// Checks tensor `index` of a call and fills in what generated code gets.
Status checkArgument(const hk_function &function, uint32_t index,
                     const DLTensor *tensor, hk_abi_tensor &result);

/// Checks the sizes of the outputs, which the inputs decide (`sizes`, as
/// hk_shape_fn returns them).
Status checkOutputSizes(const hk_function &function,
                        const hk_abi_tensor *tensors, const int64_t *sizes);

/// Refuses an output or state that shares memory with another argument or with
/// the workspace: a launch may read the one after writing the other.
Status checkOverlap(const hk_function &function, const hk_abi_tensor *tensors,
                    const void *workspace, uint64_t workspaceBytes);

} // namespace hk

#endif // HK_RUNTIME_API_ARGUMENTS_H
