//===- WaitingProblems.h - Order in a joint kernel --------------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Blocks of a problem of a joint kernel may wait until those of all problems in
// front of it are done. The joint kernel is ordered then and has an out more
// than its problems, in which blocks are counted (hk/Contract/Order.h).
//
//===----------------------------------------------------------------------===//

#ifndef HK_DIALECT_WAITINGPROBLEMS_H
#define HK_DIALECT_WAITINGPROBLEMS_H

#include "hk/Dialect/HK.h"

namespace mlir::hk {

inline constexpr llvm::StringLiteral kWaitsAttrName = "hk.waits"; // unit

inline bool waits(KernelOp problem) { return problem->hasAttr(kWaitsAttrName); }
inline bool isOrdered(KernelOp joint) {
  return llvm::any_of(joint.getProblems(), waits);
}

} // namespace mlir::hk

#endif // HK_DIALECT_WAITINGPROBLEMS_H
