//===- HeadMaps.h - Tensors of heads for the copy engine --------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What sm_90a's copy engine is told of queries, keys, values and gradients, and
// what it demands of them: rows are tokens, matrices heads, batches sequences.
// Ragged tensors are one batch; the kernel adds where a sequence begins.
//
//===----------------------------------------------------------------------===//

#ifndef HK_LIB_FAMILIES_HEADMAPS_H
#define HK_LIB_FAMILIES_HEADMAPS_H

#include "hk/Families/Decision.h"

#include "hk/Contract/DType.h"
#include "hk/Runtime/ModuleAbi.h"

namespace mlir::hk {

/// The map of an operand of 16-bit elements, [sequences,] rows, heads, columns;
/// `memoryDim` gives the operand's dim of each. A box has 64 columns.
hk_tensor_map_abi mapOfHeads(KernelOp kernel, int64_t operand, ::hk::DType type,
                             bool sequences, int64_t boxRows,
                             function_ref<int64_t(int64_t)> memoryDim);

/// Whether boxes can be copied of rows that begin at multiples of `align` bytes
/// and have these head sizes, of at most `most`.
Verdict checkHeadRows(int64_t align, int64_t headDim, int64_t valueDim,
                      int64_t most);

} // namespace mlir::hk

#endif // HK_LIB_FAMILIES_HEADMAPS_H
