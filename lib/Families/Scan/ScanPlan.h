//===- ScanPlan.h - What one scan kernel computes -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A scan kernel is one hk.cumsum, pointwise operators on its result, and
// pointwise operators that make its input, which are computed where it is read.
//
//===----------------------------------------------------------------------===//

#ifndef HK_FAMILIES_SCAN_SCANPLAN_H
#define HK_FAMILIES_SCAN_SCANPLAN_H

#include "hk/Contract/Tile.h"
#include "hk/Families/Family.h"

namespace mlir::hk {

/// The hk.cumsum among `ops`, or null.
CumsumOp findCumsum(ArrayRef<Operation *> ops);
CumsumOp findCumsum(KernelOp kernel);

/// Bytes of a partial sum.
int64_t scanSumBytes(CumsumOp op);

/// An argument of the kernel and its dim whose size is `name`, a symbol.
std::pair<BlockArgument, int64_t> argumentOfSize(KernelOp kernel, int64_t name);

LogicalResult emitScan(KernelOp kernel, StringRef prefix, raw_ostream &os);

} // namespace mlir::hk

#endif // HK_FAMILIES_SCAN_SCANPLAN_H
