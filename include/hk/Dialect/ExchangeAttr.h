//===- ExchangeAttr.h - Who exchanges rows with other ranks -----*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A discardable attribute of modules, beside those that HK.h lists.
//
//===----------------------------------------------------------------------===//

#ifndef HK_DIALECT_EXCHANGEATTR_H
#define HK_DIALECT_EXCHANGEATTR_H

#include "llvm/ADT/StringRef.h"

namespace mlir::hk {

/// String, of a module: whether sums over ranks are made by a "kernel" that
/// writes into the other ranks' memory, wherever one can, or by the "engine",
/// whatever the target's default is. For tests and benchmarks.
inline constexpr llvm::StringLiteral kExchangeAttrName = "hk.exchange";

} // namespace mlir::hk

#endif // HK_DIALECT_EXCHANGEATTR_H
