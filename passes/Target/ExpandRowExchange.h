//===- ExpandRowExchange.h - Rows by counts, as equal parts -----*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// hk.all_to_all_rows as an exchange that every engine has.
//
//===----------------------------------------------------------------------===//

#ifndef HK_PASSES_TARGET_EXPANDROWEXCHANGE_H
#define HK_PASSES_TARGET_EXPANDROWEXCHANGE_H

#include "hk/Dialect/HK.h"

namespace mlir::hk {

/// Rows are put where their receiver finds them, `capacity` places for each
/// rank, and these parts, all as large, are exchanged; so are the counts.
void expandRowExchange(AllToAllRowsOp op);

} // namespace mlir::hk

#endif // HK_PASSES_TARGET_EXPANDROWEXCHANGE_H
