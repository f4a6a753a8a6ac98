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
#include <optional>

namespace mlir::hk {
class KernelOp;

/// A size: a constant >= 0, or symbol s stored as -1 - s (as #hk.shape does).
using DimName = int64_t;

/// How a size is computed. `value` and `dim` say whose size it is, for
/// messages.
struct SizeExpr {
  enum class Kind {
    Constant, // constant
    Argument, // dim `dim` of the block argument `value`
    Index,    // the index value `value`
    Product,  // product of the operands, times constant
    FloorDiv, // operand / constant, exact
    CeilDiv,  // operand / constant, rounded up
    Sum,      // sum of the operands, plus constant
    Opaque,   // dim `dim` of `value`, which only tensor.dim can tell
  };
  Kind kind = Kind::Opaque;
  Value value;
  int64_t dim = 0;
  SmallVector<DimName, 2> operands;
  int64_t constant = 0;
};

class DimSymbols {
public:
  /// Names the dims of the arguments and of all results in `block`.
  explicit DimSymbols(Block &block);

  /// The same for the body of a kernel, whose `shapes` say more than its types:
  /// symbol s here is symbol s there for every argument.
  static DimSymbols ofKernel(KernelOp kernel);

  ArrayRef<DimName> shape(Value value) const;
  DimName dim(Value value, int64_t index) const { return shape(value)[index]; }
  bool equal(Value a, int64_t i, Value b, int64_t j) const {
    return dim(a, i) == dim(b, j);
  }
  int64_t numSymbols() const { return definitions.size(); }

  /// The name of an index value of the block; 0-rank tensors have none. A value
  /// the analysis did not see has no name: nullopt.
  std::optional<DimName> name(Value index) const;

  /// `added`, a value made after the analysis, has the sizes of `known`.
  void alias(Value known, Value added);

  /// How symbol `symbol` is computed; arguments are preferred. No symbol is
  /// computed of itself, through others neither.
  const SizeExpr &definition(int64_t symbol) const {
    return definitions[symbol];
  }

  /// Two sizes that an operator requires to be equal although nothing proves
  /// it. The sides are different expressions of one symbol (or of a constant).
  struct Guard {
    SizeExpr lhs;
    SizeExpr rhs;
  };
  ArrayRef<Guard> guards() const { return assumed; }

private:
  DimSymbols(Block &block, ArrayRef<SmallVector<DimName>> argumentNames);
  friend class DimSymbolsBuilder;

  llvm::DenseMap<Value, SmallVector<DimName>> shapes;
  llvm::DenseMap<Value, DimName> indices;
  SmallVector<SizeExpr> definitions;
  SmallVector<Guard> assumed;
};

} // namespace mlir::hk

#endif // HK_ANALYSIS_DIMSYMBOLS_H
