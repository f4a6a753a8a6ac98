//===- AskAhead.h - Weights before the launch in front ends -----*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where launches overlap, a product of groups can look at its bounds while the
// launch in front still runs, look for its tiles, and ask for the rows of
// weights that the bounds name. If that launch writes the bounds, the rows are
// others, memory is read for nothing, and blocks begin anew. In a layer of
// experts the second product's bounds come from the router, two launches in
// front.
//
//===----------------------------------------------------------------------===//

#ifndef HK_FAMILIES_GEMM_ASKAHEAD_H
#define HK_FAMILIES_GEMM_ASKAHEAD_H

#include "hk/Dialect/HK.h"

namespace mlir::hk {

/// Whether no launch of `kernel`, a product of groups, stands behind one that
/// writes the bounds of its groups, and a block can hold all of them. Those
/// that a function is given are taken to be older than any launch.
bool boundsAreOld(KernelOp kernel, GroupedMatmulOp product);

} // namespace mlir::hk

#endif // HK_FAMILIES_GEMM_ASKAHEAD_H
