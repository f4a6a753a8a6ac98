//===- Repeats.h - Equal parts of a list of launches, once ------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A model of thirty equal layers launches the same kernels thirty times over.
// People want to see a layer, and how often it comes.
//
//===----------------------------------------------------------------------===//

#ifndef HK_LIB_COMPILER_REPEATS_H
#define HK_LIB_COMPILER_REPEATS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <string>
#include <vector>

namespace mlir::hk {

/// A launch of `kernel`, or where `body` is not empty that, `times` over.
struct Step {
  std::string kernel;
  std::vector<Step> body;
  size_t times = 1;
};

/// The launches of a function, with what comes again and again in a row written
/// once; parts of a body are folded too. Unfolded the steps are `order`.
std::vector<Step> foldRepeats(llvm::ArrayRef<std::string> order);

/// "a, 3 x (b, c), d"
void printSteps(llvm::ArrayRef<Step> steps, llvm::raw_ostream &os);

/// ["a", {"times": 3, "body": ["b", "c"]}, "d"]
llvm::json::Array stepsJson(llvm::ArrayRef<Step> steps);

} // namespace mlir::hk

#endif // HK_LIB_COMPILER_REPEATS_H
