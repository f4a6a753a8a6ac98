//===- DimSymbols.h - Which dynamic sizes are equal -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `?` carries no equality. This analysis gives every dimension of every tensor
// value in a block a name: a constant or a symbol; two dims with the same
// symbol are equal, by an operator's definition (checked at run time by a guard
// where it is only assumed) or by construction.
//
//===----------------------------------------------------------------------===//

#ifndef HK_ANALYSIS_DIMSYMBOLS_H
#define HK_ANALYSIS_DIMSYMBOLS_H

#include "mlir/IR/Block.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>

namespace mlir::hk {

/// A size: a constant >= 0, or symbol s stored as -1 - s (as #hk.shape does).
using DimName = int64_t;

class DimSymbols {
public:
  /// Names the dims of the arguments and of all results in `block`.
  explicit DimSymbols(Block &block);

  ArrayRef<DimName> shape(Value value) const;
  DimName dim(Value value, int64_t index) const { return shape(value)[index]; }
  bool equal(Value a, int64_t i, Value b, int64_t j) const {
    return dim(a, i) == dim(b, j);
  }
  int64_t numSymbols() const { return symbols; }

  /// Two dims that an operator requires to be equal although nothing proves it:
  /// block argument dims whose symbols were united by a use. Each becomes a
  /// guard.
  struct Guard {
    Value lhs;
    int64_t lhsDim;
    Value rhs;
    int64_t rhsDim;
  };
  ArrayRef<Guard> guards() const { return assumed; }

private:
  llvm::DenseMap<Value, SmallVector<DimName>> shapes;
  SmallVector<Guard> assumed;
  int64_t symbols = 0;
};

} // namespace mlir::hk

#endif // HK_ANALYSIS_DIMSYMBOLS_H
