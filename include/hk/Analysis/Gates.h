//===- Gates.h - Gated units written as several operators -------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// act(gate) * up is what hk.gated_activation computes of two halves. Passes
// recognise it here, where alone it is said which activations gate.
//
//===----------------------------------------------------------------------===//

#ifndef HK_ANALYSIS_GATES_H
#define HK_ANALYSIS_GATES_H

#include "hk/Dialect/HK.h"
#include "llvm/ADT/SmallVector.h"

namespace mlir::hk {

struct Gate {
  GateKind kind;
  Value gate, up;
};

/// The ways to read `product` as act(gate) * up, in which nothing else reads
/// the activation, and gate, activation and up have one type: none, one, or two
/// if both factors are activations.
SmallVector<Gate, 2> gatesOf(MulOp product);

} // namespace mlir::hk

#endif // HK_ANALYSIS_GATES_H
