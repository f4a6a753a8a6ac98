//===- IntegerArguments.h - What integer arguments may hold -----*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Integer arguments are rows of tables, first tokens of sequences, lengths and
// slots: which values are right, the operators that read them say. The answers
// depend on sizes that only a call knows, so they are sums of products of them.
// They go into the module, for whoever makes inputs to test or to time it.
//
//===----------------------------------------------------------------------===//

#ifndef HK_ANALYSIS_INTEGERARGUMENTS_H
#define HK_ANALYSIS_INTEGERARGUMENTS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <optional>
#include <string>
#include <vector>

namespace mlir::hk {

/// A sum of products of sizes of the function's arguments.
struct SizeSum {
  struct Product {
    int64_t factor = 1;
    /// Argument number and dim.
    std::vector<std::pair<unsigned, int64_t>> dims;
  };
  std::vector<Product> products;
};

struct IntegerDomain {
  enum class Kind {
    Uniform,  // any of [low, end)
    Distinct, // different ones of [0, end), -1 when they run out
    Bounds,   // from 0 to `end`, not decreasing
    Lengths,  // at least 0, their sum is `end`
  };
  Kind kind = Kind::Uniform;
  int64_t low = 0;
  /// `end` is the least of them.
  std::vector<SizeSum> ends;
};

/// One for each argument of `func`; none for floats, and where what is right
/// depends on more than the sizes of arguments. Numbers that are only computed
/// with are Uniform in [-100, 100].
std::vector<std::optional<IntegerDomain>> integerArguments(func::FuncOp func);

} // namespace mlir::hk

#endif // HK_ANALYSIS_INTEGERARGUMENTS_H
