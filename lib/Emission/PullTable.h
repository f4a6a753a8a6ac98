//===- PullTable.h - How each operator is pulled ----------------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A function per operator and view writes the C++ of its result at a position.
// Each Pull*.cpp holds such functions and adds them to the table at its end.
//
//===----------------------------------------------------------------------===//

#ifndef HK_LIB_EMISSION_PULLTABLE_H
#define HK_LIB_EMISSION_PULLTABLE_H

#include "Puller.h"

namespace mlir::hk {

/// An expression (or the name of a variable) with `vec` consecutive elements of
/// `result` from `position` on.
using PullFunction = std::function<Expr(Puller &p, OpResult result,
                                        Puller::Args position, int vec)>;

class PullTable {
public:
  /// The function of an operator, or of all that have an interface.
  template <class Op> void add(Expr (*pull)(Puller &, Op, Puller::Args, int)) {
    add<Op>([pull](Puller &p, OpResult result, Puller::Args position, int vec) {
      return pull(p, cast<Op>(result.getOwner()), position, vec);
    });
  }
  /// Of an operator with two results: which one is told too.
  template <class Op>
  void add(Expr (*pull)(Puller &, Op, bool isSecond, Puller::Args, int)) {
    add<Op>([pull](Puller &p, OpResult result, Puller::Args position, int vec) {
      return pull(p, cast<Op>(result.getOwner()), result.getResultNumber() == 1,
                  position, vec);
    });
  }
  template <class Op> void add(PullFunction pull) {
    functions[Op::getOperationName()] = std::move(pull);
  }
  /// Unary operators are one function that they name themselves.
  void addUnary(PullFunction pull) { unary = std::move(pull); }

  const PullFunction &lookup(Operation *op) const;

private:
  llvm::StringMap<PullFunction> functions;
  PullFunction unary;
};

/// The function of `op`, which matching has found to be known.
const PullFunction &pullFunctionOf(Operation *op);

/// The number that all elements of a constant are; nullopt of anything else.
std::optional<double> splatOf(Value value);

// One per file of functions.
void addPointwisePulls(PullTable &table);
void addQuantPulls(PullTable &table);
void addRopePulls(PullTable &table);
void addRowPulls(PullTable &table);
void addSelectPulls(PullTable &table);
void addSlicePulls(PullTable &table);
void addViewPulls(PullTable &table);

} // namespace mlir::hk

#endif // HK_LIB_EMISSION_PULLTABLE_H
