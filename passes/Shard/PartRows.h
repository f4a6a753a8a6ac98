//===- PartRows.h - Heads beside tokens, not among them ---------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Models join the tokens and heads of a tensor in one dim of rows, normalise
// the rows, and take them apart again. No part of such a dim is what a rank
// has: of every token some heads.
//
//===----------------------------------------------------------------------===//

#ifndef HK_PASSES_SHARD_PARTROWS_H
#define HK_PASSES_SHARD_PARTROWS_H

#include "mlir/IR/Block.h"

namespace mlir::hk {

/// Row-wise operators that read rows joined by a tensor.collapse_shape get the
/// dims in front of it, as far as they can; the view moves behind them and
/// disappears where it meets one that undoes it. Values stay what they are.
void partRows(Block &block);

} // namespace mlir::hk

#endif // HK_PASSES_SHARD_PARTROWS_H
