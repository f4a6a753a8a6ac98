//===- CheckRaise.h - A function before and after raising -------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The debug switch of hk-raise: both sides are interpreted on random arguments
// and have to agree within their derived bounds.
//
//===----------------------------------------------------------------------===//

#ifndef HK_PASSES_RAISE_CHECKRAISE_H
#define HK_PASSES_RAISE_CHECKRAISE_H

#include "hk/Reference/Interpreter.h"

namespace mlir::hk::raise {

class RaiseCheck {
public:
  explicit RaiseCheck(func::FuncOp function) : function(function) {}
  /// Interprets the function as it is; failures are diagnosed.
  LogicalResult before();
  /// Interprets it again on the same arguments; a difference is an error that
  /// names result, element, both values and the bound.
  LogicalResult after();

private:
  FailureOr<SmallVector<reference::Tensor>> interpret();

  func::FuncOp function;
  SmallVector<reference::Tensor> arguments, expected;
};

} // namespace mlir::hk::raise

#endif // HK_PASSES_RAISE_CHECKRAISE_H
