//===- Decision.cpp - What to do about refusals ---------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One sentence for each reason that a change of the model can remove.
//
//===----------------------------------------------------------------------===//

#include "hk/Families/Decision.h"

using namespace mlir::hk;

Verdict Verdict::refuse(Operation *op, Reason reason, const llvm::Twine &why) {
  return refuse(reason, op->getName().getStringRef() + " " + why);
}

llvm::StringRef mlir::hk::adviceFor(Reason reason) {
  switch (reason) {
  case Reason::RowDimsDiffer:
    return "operators of one kernel need the same leading dims: reduce along "
           "the last dim, and let sizes that are equal come from one argument";
  case Reason::CrossesRows:
    return "an operator that needs another row needs a kernel of its own: move "
           "it in front of or behind the others";
  case Reason::NeedsWholeRow:
    return "reduce shorter parts of a row (groups or heads of at most 1024 "
           "elements), or whole rows; behind a product only quantisations "
           "reduce, and a norm there is a kernel of its own";
  case Reason::NotAnEpilogue:
    return "pointwise operators on the whole result fuse with what makes it: "
           "slice or reshape behind them";
  case Reason::ResultEscapes:
    return "a value that something else reads must be written: let that read "
           "an earlier value, or compute it twice";
  case Reason::StateReadAndWritten:
    return "read the values that are written instead of the state";
  case Reason::SizeUnknown:
    return "static sizes let hk compare plans: compile a function for each "
           "number of rows that matters";
  case Reason::GroupFull:
    return "split the function where little data flows";
  default:
    return "";
  }
}
