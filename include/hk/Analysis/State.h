//===- State.h - Which argument a written state belongs to ------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A state (hk.state) flows through a chain of in-place writes; every value of
// the chain is the same memory.
//
//===----------------------------------------------------------------------===//

#ifndef HK_ANALYSIS_STATE_H
#define HK_ANALYSIS_STATE_H

#include "mlir/IR/Value.h"

namespace mlir::hk {

/// The operand whose memory `result` is because its op overwrites it (a state
/// that an operator, a fused region or a launch writes in place), or null.
OpOperand *tiedStateOf(OpResult result);

/// The state argument of a function whose memory `value` is, or null when
/// `value` is not a state.
BlockArgument stateArgumentOf(Value value);

} // namespace mlir::hk

#endif // HK_ANALYSIS_STATE_H
