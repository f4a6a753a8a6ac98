//===- Apart.h - Launches that fusion leaves alone --------------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An hk.dequantize may be a launch of its own, though the product that reads it
// could decode the codes itself: hk-split says so where many rows would decode
// them over and over. It shares no kernel and no launch, which the passes that
// make them ask for all families: with those of a whole model in one, all
// matrices would be in memory at once.
//
//===----------------------------------------------------------------------===//

#ifndef HK_DIALECT_APART_H
#define HK_DIALECT_APART_H

#include "mlir/IR/Operation.h"

namespace mlir::hk {

inline constexpr llvm::StringLiteral kApartAttrName = "hk.apart"; // unit

inline bool isApart(Operation *op) { return op->hasAttr(kApartAttrName); }

} // namespace mlir::hk

#endif // HK_DIALECT_APART_H
