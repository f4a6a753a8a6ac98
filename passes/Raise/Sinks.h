//===- Sinks.h - Logits that have no value ----------------------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A sink is one more logit of a head. Graphs put it behind the scores as a
// column, and cut its probability off.
//
//===----------------------------------------------------------------------===//

#ifndef HK_PASSES_RAISE_SINKS_H
#define HK_PASSES_RAISE_SINKS_H

#include "Raise/Rules.h"

namespace mlir::hk::raise {

/// x of x - max(x), which a softmax takes no other than x; else `logits`.
Value withoutMaximum(Raiser &raiser, Value logits);

/// Takes the column of a sink off `logits`, [B, H, Sq, Sk + 1], where
/// `probabilities` leave it out, and sets `sink` to its numbers, f32 [H]. What
/// stands in the way, if anything. Logits without a column stay.
std::optional<Outcome> takeSink(Raiser &raiser, Value probabilities,
                                Value &logits, Value &sink);

} // namespace mlir::hk::raise

#endif // HK_PASSES_RAISE_SINKS_H
