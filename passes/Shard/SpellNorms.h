//===- SpellNorms.h - Norms over the heads of all ranks ---------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef HK_PASSES_SHARD_SPELLNORMS_H
#define HK_PASSES_SHARD_SPELLNORMS_H

#include "mlir/IR/Block.h"

namespace mlir::hk {

/// Spells out each hk.rms_norm of a product's columns that are then taken apart
/// in heads, as OLMo 2 has it of its queries and keys: squares, their sum, and
/// what is done with it, in f32, rounded where the norm rounds. A sum of parts
/// of a row is a term, so the product can be cut by columns. Norms that can
/// share their sums have them in one tensor. None is changed where the heads of
/// one of them cannot be shared evenly by `ranks`.
void spellNorms(Block &block, int64_t ranks);

} // namespace mlir::hk

#endif // HK_PASSES_SHARD_SPELLNORMS_H
